"""`study new` on real runs: what is in the folder, and what must not be."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.cases import open_case
from medebench.errors import ImageError, InputError
from medebench.files import TEMPORARY, sha256
from medebench.images.picture import read_picture
from medebench.stamp import STAMP
from medebench.study.design import RUINED, open_study
from medebench.study.study_setup import new_study
from tests.conftest import REPOSITORY, write_set
from tests.patience import PATIENCE
from tests.study.test_pictures import chunks

EDITORS = {"zz-magic-model": "blur", "aa-other-model": "noise", "mm-lazy-model": "identity"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    cases = mb.load_cases(write_set(folder / "set", 12))
    return [mb.edit(cases, editor, out=folder / name) for name, editor in EDITORS.items()]


@pytest.fixture(scope="module")
def made(runs, tmp_path_factory):
    return new_study(runs, tmp_path_factory.mktemp("study") / "s", per_organ=4, title="A study")


def _without_pictures(design):
    """All of a design but names of pictures and the time."""
    text = design.model_dump(exclude={"created"})
    for case in text["cases"]:
        case["images"] = [
            (one["name"], one["label"], one["side"], bool(one["outline"])) for one in case["images"]
        ]
        case["outputs"] = {name: one["sha256"] for name, one in case["outputs"].items()}
    return text


def _image(case, name="previous"):
    return next((one for one in case.images if one.name == name), None)


def test_the_facts_for_the_command_line(made):
    assert made.groups == {"Skin": (4, 6), "Teeth": (4, 6)} and made.cases == made.shared == 8
    assert (made.controls, made.repeats) == (2, 4) and made.warnings == []
    assert made.tasks == {"annotator-1": 15, "annotator-2": 15}
    design = made.study.design
    assert [len(one.tasks) for one in design.annotators] == [15, 15]
    assert design.title == "A study" and design.dimensions == ["ea", "cp", "vq"]
    assert design.version == mb.__version__
    assert [(run.name, run.editor, run.control) for run in design.runs] == [
        (name, editor, True) for name, editor in EDITORS.items()
    ]


def test_the_study_opens_again_and_all_its_pictures_are_there(made):
    study = open_study(made.study.path)
    assert study.design == made.study.design and study.fingerprint == made.study.fingerprint
    named = [name for case in study.design.cases for name in case.files]
    assert len(set(named)) == len(named)
    assert sorted(named) == sorted(path.name for path in study.pictures.iterdir())
    assert sorted(path.name for path in study.path.iterdir()) == [
        STAMP,
        "pictures",
        "study.json",
    ]
    used = {task.case for one in study.design.annotators for task in one.tasks}
    assert used == set(range(len(study.design.cases)))
    for one in study.design.annotators:
        for task in one.tasks:
            assert set(task.order) <= set(study.design.cases[task.case].outputs)


def test_cases_are_described_as_their_set_describes_them(made, runs):
    for shown in made.study.design.cases:
        case = runs[0].cases[shown.id]
        assert shown.group == case.organ
        texts = [(one.text, one.side) for one in shown.texts]
        assert texts == [(case.prompt, "case"), (case.description, "reference")]
        assert shown.source == open_case(case).source
        assert (shown.width, shown.height) == (64, 48)


def test_pictures_hold_the_pixels_of_the_runs(made, runs):
    pictures = made.study.pictures
    for shown in made.study.design.cases:
        opened = open_case(runs[0].cases[shown.id])
        assert np.array_equal(read_picture(pictures / _image(shown).picture), opened.previous)
        assert np.array_equal(
            read_picture(pictures / _image(shown, "reference").picture), opened.reference
        )
        for run in runs:
            output = shown.outputs[run.name]
            file = run.output_path(shown.id, 0)
            assert output.sha256 == sha256(file.read_bytes())
            assert np.array_equal(read_picture(pictures / output.picture), read_picture(file))


def test_only_controls_have_a_ruin_and_it_is_one(made):
    design = made.study.design
    ruined = {t.case for one in design.annotators for t in one.tasks if t.kind == "control"}
    with_ruin = {n for n, case in enumerate(design.cases) if RUINED in case.outputs}
    assert ruined == with_ruin and len(ruined) == 2
    for number in ruined:
        case = design.cases[number]
        previous = read_picture(made.study.pictures / _image(case).picture).astype(float)
        ruin = read_picture(made.study.pictures / case.outputs[RUINED].picture)
        assert np.abs(previous - ruin).mean() > 40
        assert case.outputs[RUINED].sha256 == ""


def test_nothing_about_a_picture_tells_where_it_is_from(made):
    times, order = set(), {name: [] for name in EDITORS}
    for case in made.study.design.cases:
        sizes = set()
        for name in case.files:
            path = made.study.pictures / name
            assert len(path.stem) == 16 and set(path.stem) <= set("0123456789abcdef")
            data = path.read_bytes()
            assert set(chunks(data)) == {b"IHDR", b"IDAT", b"IEND"}
            for word in (*EDITORS, *EDITORS.values(), case.id * 5, "medebench", "tEXt", "eXIf"):
                assert word.encode() not in data and word not in name
            with Image.open(path) as image:
                sizes.add((image.size, "RGB" if name != _image(case).outline else image.mode))
                assert image.mode == ("RGBA" if name == _image(case).outline else "RGB")
                assert not image.info
            times.add(path.stat().st_mtime_ns)
        assert sizes == {((64, 48), "RGB"), ((64, 48), "RGBA")}
        placed = sorted(EDITORS, key=lambda name: case.outputs[name].picture)
        for place, name in enumerate(placed):
            order[name].append(place)
    assert len(times) == 1
    # By name of the file, no run is always first, second or third.
    assert all(len(set(places)) > 1 for places in order.values())


def test_the_same_seed_makes_the_same_study_but_for_the_names(made, runs, tmp_path):
    again = new_study(runs, tmp_path / "again", per_organ=4, title="A study", workers=1)
    assert _without_pictures(again.study.design) == _without_pictures(made.study.design)
    one, two = ({file.name for file in s.study.pictures.iterdir()} for s in (made, again))
    assert not one & two
    other = new_study(runs, tmp_path / "other", per_organ=4, title="A study", seed=1)
    assert _without_pictures(other.study.design) != _without_pictures(made.study.design)


def test_neither_order_nor_number_of_runs_changes_the_sample(made, runs, tmp_path):
    turned = new_study(runs[::-1], tmp_path / "turned", per_organ=4, title="A study").study.design
    assert [one.tasks for one in turned.annotators] == [
        one.tasks for one in made.study.design.annotators
    ]
    fewer = new_study(runs[:2], tmp_path / "fewer", per_organ=4).study.design
    assert [case.id for case in fewer.cases] == [case.id for case in made.study.design.cases]


def test_warnings_say_what_the_study_cannot(runs, tmp_path):
    def warnings(name, **options):
        return new_study(runs, tmp_path / name, **options).warnings

    assert warnings("few") == [
        "fewer than the 20 cases requested: Skin 6, Teeth 6",
        "cases of the sample are also shown as control and trial, because no others are left; "
        "a smaller per_organ would leave some",
    ]
    assert warnings("one", per_organ=2, annotators=1) == [
        "one annotator: agreement cannot be measured"
    ]
    assert warnings("apart", per_organ=2, overlap=1)[0].startswith("the annotators fall into")
    assert warnings("pairs", per_organ=2, annotators=4, overlap=2) == [
        "2 of 6 pairs of annotators share no case"
    ]
    assert warnings("greedy", per_organ=2, controls=50, repeats=9) == [
        "controls: 11 instead of 50; there are too few cases",
        "repeats: 4 instead of 9; there are too few cases",
        "cases of the sample are also shown as control, because no others are left; "
        "a smaller per_organ would leave some",
    ]
    assert warnings("none", per_organ=2, controls=0, repeats=0) == []
    assert warnings("told", per_organ=2, title="Is ZZ-magic-model good?") == [
        "the title contains the run name 'zz-magic-model', which annotators will see"
    ]


def test_every_wish_reaches_the_design(runs, tmp_path):
    made = new_study(
        runs,
        tmp_path / "s",
        per_organ=3,
        annotators=["Dr. Wu", "José"],
        overlap=1,
        controls=0,
        repeats=1,
        dimensions=["vq", "ea", "vq"],
        largest=64,
    )
    design = made.study.design
    assert [one.name for one in design.annotators] == ["Dr. Wu", "José"]
    assert design.dimensions == ["vq", "ea"] and made.shared == 0
    assert made.tasks == {"Dr. Wu": 5, "José": 5}
    assert not any(RUINED in case.outputs for case in design.cases)


def test_another_output_can_be_asked_for(small_set, tmp_path):
    runs = [mb.edit(small_set, e, out=tmp_path / e, outputs=2) for e in ("noise", "blur")]
    design = new_study(runs, tmp_path / "s", per_organ=2, k=1).study.design
    assert design.k == 1
    for case in design.cases:
        data = runs[0].output_path(case.id, 1).read_bytes()
        assert case.outputs["noise"].sha256 == sha256(data)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"annotators": 0}, "annotators: expected 1 or more, found 0"),
        ({"annotators": []}, "annotators: no name given"),
        ({"annotators": "Wu"}, "annotators: expected a number or a list"),
        ({"annotators": ["Wu", "wu"]}, "annotators: 'Wu' appears twice"),
        ({"annotators": ["Wu", "Admin"]}, "annotators: 'Admin' is reserved"),
        ({"annotators": ["a/b"]}, "annotators: 'a/b' cannot be part of an address"),
        ({"annotators": [".."]}, "cannot be part of an address"),
        ({"annotators": ["a\nb"]}, "contains characters that cannot be seen"),
        ({"annotators": [" a"]}, "without blanks at the ends"),
        ({"annotators": [""]}, "has 0 characters; use 1 to 60"),
        ({"annotators": ["x" * 61]}, "has 61 characters"),
        ({"overlap": 3}, r"overlap: expected 1 to 2 \(annotators\), found 3"),
        ({"per_organ": 0}, "per_organ: expected 1 or more"),
        ({"dimensions": ["ea", "beauty"]}, "dimensions: no 'beauty'; choose from ea, cp, vq"),
        ({"dimensions": []}, "dimensions: none given"),
        ({"title": " "}, "title: expected 1 to 200 characters, found 0"),
        ({"largest": 10}, "largest: expected 64 pixels or more, found 10"),
        ({"k": 4}, "no case has output 4 in all 3 runs"),
        ({"annotators": 30, "overlap": 1, "per_organ": 1}, "30 annotators are too many"),
    ],
)
def test_wrong_calls_write_nothing(runs, tmp_path, options, words):
    with pytest.raises(InputError, match=words):
        new_study(runs, tmp_path / "s", **options)
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_anybodys_is_replaced(runs, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="full: is not empty; choose another --out"):
        new_study(runs, full)
    with pytest.raises(InputError, match=r"thesis\.tex: is a file; choose another --out"):
        new_study(runs, full / "thesis.tex")
    with pytest.raises(InputError, match="is inside a run"):
        new_study(runs, runs[0].path / "study")
    with pytest.raises(InputError, match="cannot be written"):
        new_study(runs, full / "thesis.tex" / "study")
    assert [path.name for path in full.iterdir()] == ["thesis.tex"]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert new_study(runs, empty, per_organ=1).cases == 2


@pytest.fixture
def broken(tmp_path):
    """Two runs of four cases, all of which are shown, and where the study shall not be."""
    cases = write_set(tmp_path / "set")
    runs = [mb.edit(cases, name, out=tmp_path / "runs" / name) for name in ("blur", "noise")]
    (tmp_path / "out").mkdir()
    return cases, runs, tmp_path / "out" / "study"


def _fails(broken, kind, words):
    _, runs, out = broken
    with pytest.raises(kind, match=words):
        new_study(runs, out)
    assert list(out.parent.iterdir()) == []


def test_an_output_that_cannot_be_read(broken):
    file = broken[1][1].output_path("3", 0)
    file.write_bytes(file.read_bytes()[:200])
    _fails(broken, ImageError, r"noise/edits/3_0\.png: is not the output .*; make this output")
    file.unlink()
    _fails(broken, ImageError, r"noise/edits/3_0\.png: no such file; make this output again")


def test_an_output_that_was_damaged_before_the_ledger_saw_it(broken, tmp_path):
    cases, _, out = broken
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for case in "1234":
        shutil.copy(cases / "editing" / "changed" / f"{case}.png", theirs / f"{case}_0.png")
    adopted = mb.adopt(theirs, cases=cases, out=tmp_path / "runs" / "adopted")
    file = adopted.output_path("2", 0)
    file.write_bytes(file.read_bytes()[:-200])
    with adopted.locked() as ledger:
        row = ledger.outputs()["2", 0]
        ledger.write(type(row)("2", 0, sha256(file.read_bytes())))
    with pytest.raises(ImageError, match=r"2_0\.png: damaged.*; make this output again, or"):
        new_study([broken[1][0], adopted], out)
    assert list(out.parent.iterdir()) == []


def test_a_case_that_has_changed_or_gone(broken):
    cases, _, _ = broken
    file = cases / "editing" / "previous" / "2.png"
    Image.new("RGB", (64, 48), "red").save(file)
    _fails(broken, InputError, r"previous/2\.png: case 2 has changed since the runs were made")
    file.write_bytes(b"no picture")
    _fails(broken, ImageError, r"previous/2\.png: not an image .*; repair the case")
    shutil.rmtree(cases)
    again = [mb.open_run(run.path) for run in broken[1]]
    _fails((cases, again, broken[2]), InputError, "runs/blur: its cases cannot be read")


def test_cases_are_found_by_any_of_the_runs(broken, tmp_path):
    """A set that was copied with one run and moved away from the other."""
    cases, runs, out = broken
    shutil.copytree(cases, tmp_path / "copy")
    other = mb.edit(tmp_path / "copy", "identity", out=tmp_path / "runs" / "identity")
    shutil.rmtree(cases)
    assert new_study([mb.open_run(runs[0].path), other], out).cases == 4


def _special(folder, mode):
    """Four cases of 16-bit pictures, large ones, or ones without reference or ROI."""
    cases = write_set(folder)
    metadata = cases / "editing" / "editing_metadata.json"
    content = json.loads(metadata.read_text())
    for record in content["samples"]:
        number = record["id"]
        file = cases / "editing" / "previous" / f"{number}.png"
        mask = cases / "editing" / "previous_mask" / f"{number}.png"
        if mode == "deep":
            grey = np.linspace(0, 4095, 48 * 64).reshape(48, 64).astype(np.uint16)
            Image.fromarray(grey).save(file)
        elif mode == "large":
            Image.open(file).resize((640, 480)).save(file)
        elif mode == "grey":
            Image.open(file).convert("L").save(file)
        elif mode == "bare":
            del record["changed_image"], record["previous_mask"]
        elif mode == "masks":
            Image.new("L", (64, 48), 255 * (number % 2)).save(mask)
    metadata.write_text(json.dumps(content))
    return cases


@pytest.mark.parametrize("mode", ["deep", "large", "grey", "bare", "masks"])
def test_special_pictures(tmp_path, mode):
    cases = _special(tmp_path / "set", mode)
    runs = [mb.edit(cases, name, out=tmp_path / name) for name in ("blur", "identity")]
    # An output of another size and in colour lies beside the others.
    if mode in ("large", "grey"):
        theirs = tmp_path / "theirs"
        theirs.mkdir()
        for number in "1234":
            Image.new("RGB", (100, 90), "green").save(theirs / f"{number}_0.png")
        runs.append(mb.adopt(theirs, cases=cases, out=tmp_path / "adopted"))
    made = new_study(runs, tmp_path / "study", per_organ=2, largest=128)
    size = (128, 96) if mode == "large" else (64, 48)
    for case in made.study.design.cases:
        assert (case.width, case.height) == size
        for name in case.files:
            with Image.open(made.study.pictures / name) as image:
                assert image.size == size
                assert image.mode == ("RGBA" if name == _image(case).outline else "RGB")
        assert (_image(case, "reference") is None) == (mode == "bare")
        empty = mode == "masks" and int(case.id) % 2 == 0
        assert (_image(case).outline is None) == (mode == "bare" or empty)
        if mode == "deep":
            previous = read_picture(made.study.pictures / _image(case).picture)
            assert previous.max() == round(4095 * 255 / 65535)
    assert any("look black" in one for one in made.warnings) == (mode == "deep")


def test_interruption_leaves_nothing(broken):
    _, runs, out = broken

    def interrupt(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        new_study(runs, out, progress=interrupt)
    assert list(out.parent.iterdir()) == []


PROGRAM = """
import sys, time
import medebench as mb
from medebench.study.study_setup import new_study

def slowly(done, total):
    print(done, flush=True)
    if done == 2:
        for _ in range(6000):  # A signal just before a sleep does not end it.
            time.sleep(0.1)

new_study([mb.open_run(path) for path in sys.argv[2:]], sys.argv[1], progress=slowly)
"""


def test_a_real_process_that_is_interrupted(broken):
    _, runs, out = broken
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(out), *(str(run.path) for run in runs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=REPOSITORY,
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline().strip() not in ("2", ""):
            pass
        assert [path.name.startswith(TEMPORARY) for path in out.parent.iterdir()] == [True]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) != 0
    assert list(out.parent.iterdir()) == []


def test_progress_counts_the_cases(broken):
    _, runs, out = broken
    seen = []
    made = new_study(runs, out, progress=lambda *counts: seen.append(counts))
    total = len(made.study.design.cases)
    assert seen == [(done, total) for done in range(total + 1)]


def test_phantoms(tmp_path):
    cases = mb.load_cases("phantoms:count=3")
    runs = [mb.edit(cases, name, out=tmp_path / name) for name in ("identity", "inpaint")]
    made = new_study(runs, tmp_path / "study", per_organ=1, annotators=3, overlap=2)
    assert len(made.groups) == 3 and set(made.groups.values()) == {(1, 1)}
    assert made.cases == made.shared == 3
    assert [text.partition(",")[0] for text in made.warnings] == [
        "cases of the sample are also shown as control and trial"
    ]
    for case in made.study.design.cases:
        assert _image(case).outline and _image(case, "reference") and len(case.texts) == 2
        assert (case.width, case.height) == (256, 256)
