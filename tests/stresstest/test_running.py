"""A stress test from plan to page, and what it leaves behind when something is wrong."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from medebench.cli import app
from medebench.errors import BusyError, InputError
from medebench.runs import open_run
from medebench.stresstest.stress_plan import read_stress
from medebench.stresstest.stress_run import StressResult, run_stress
from tests.stresstest.own_data import write_data, write_plan, write_table

EDIT = {"prompt": "no pneumothorax, chest drain", "label": "normal"}
#: Any editor will do: it is the way from plan to page that is tested.
BLURRED = {**EDIT, "editor": "blur:sigma=2"}


@contextmanager
def quietly(title):
    yield lambda done, total: None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_table(tmp_path, write_data(tmp_path))
    return tmp_path


def plan(folder: Path, **changes):
    changes = {"edit": BLURRED, "edit_score": "none"} | changes
    return read_stress(write_plan(folder, **changes))


def run(folder: Path, **changes) -> StressResult:
    return run_stress(plan(folder, **changes), bar=quietly)


def call(folder: Path, **changes):
    path = write_plan(folder, **({"edit": BLURRED, "edit_score": "none"} | changes))
    return CliRunner().invoke(app, ["stress", str(path)])


def says(folder: Path, text: str) -> None:
    """Replace the predictor."""
    (folder / "mine.py").write_text(text)


def test_from_plan_to_page(folder):
    done = run(folder, reference={"model": "mine.py:Classifier", "name": "same", "threshold": 0.4})
    outcome = done.outcome
    assert [edit.intended.id for edit in outcome.edits] == ["p1", "p2", "p4", "p5"]
    assert outcome.kept == 4
    under_test, reference = outcome.predictors
    assert (under_test.reference, reference.reference) == (False, True)
    # What the page says is what the predictor says of the files on disk.
    for edit in outcome.edits:
        picture = np.asarray(Image.open(done.run.output_path(edit.intended.id, 0)).convert("RGB"))
        assert edit.after["Classifier"] == pytest.approx(picture.mean() / 255, abs=1e-12)
    right = [edit.after["Classifier"] < 0.5 for edit in outcome.edits]
    assert under_test.table["edited"]["accuracy"].value == pytest.approx(np.mean(right))
    assert done.index.is_file()
    results = json.loads((done.index.parent / "results.json").read_text())
    assert results["edits_kept"] == 4
    facts = json.loads((done.plan.out / "stress.json").read_text())
    assert facts["editor"] == "blur"
    assert set(facts["predictors"]) == {"Classifier", "same"}


def test_a_segmenter(folder):
    edit = {
        "caption": "clear lungs",
        "editor": "blur:sigma=2",
        "kinds": [{"kind": "oedema", "prompt": "oedema"}, {"kind": "wires", "prompt": "wires"}],
    }
    outcome = run(folder, task="segmentation", edit=edit).outcome
    assert len(outcome.edits) == 12
    assert set(outcome.predictors[0].kinds) == {"oedema", "wires"}
    dice = outcome.predictors[0].table["edited"]["dice"]
    assert dice.value == pytest.approx(np.mean([e.after["Segmenter"] for e in outcome.edits]))


def test_again_nothing_is_done_twice(folder):
    first = run(folder)
    made = {path.name: path.stat().st_mtime_ns for path in first.run.edits.iterdir()}
    counting = folder / "asked"
    says(
        folder,
        (folder / "mine.py").read_text()
        + f"\nclass Counting(Classifier):\n    def predict(self, pictures):\n"
        f"        with open({str(counting)!r}, 'a') as file: file.write('x' * len(pictures))\n"
        "        return super().predict(pictures)\n",
    )
    counted = {"model": "mine.py:Counting"}
    second = run(folder, predictor=counted)
    # The first picture is asked once more, to see whether the predictor works at all.
    assert len(counting.read_text()) == 1 + 6 + 4
    run(folder, predictor=counted)
    # And once for the test set and once for the edits: does it answer as before?
    assert len(counting.read_text()) == 1 + 6 + 4 + 3
    assert {path.name: path.stat().st_mtime_ns for path in second.run.edits.iterdir()} == made


@pytest.mark.parametrize(
    ("predictor", "word"),
    [
        ("raise RuntimeError('no licence')", "raised RuntimeError: no licence"),
        ("return [float('nan')] * len(pictures)", "returned NaN"),
        ("return [2.0] * len(pictures)", "2"),
        ("return []", "p1"),
    ],
)
def test_a_predictor_that_never_works_leaves_nothing(folder, predictor, word):
    says(folder, f"class Classifier:\n    def predict(self, pictures):\n        {predictor}\n")
    result = call(folder)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "Classifier" in line
    assert word in line
    assert not (folder / "stress-drains").exists()


def test_a_predictor_that_fails_later_can_be_mended(folder):
    bad = (
        "class Classifier:\n    batch = 2\n    def predict(self, pictures):\n"
        "        means = [float(one.mean()) / 255 for one in pictures]\n"
        "        return [float('nan') if m == {worst} else m for m in means]\n"
    )
    pictures = [np.asarray(Image.open(folder / "img" / f"p{k}.png")) for k in range(1, 7)]
    worst = float(pictures[4].mean()) / 255
    says(folder, bad.format(worst=worst))
    result = call(folder)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "p5" in line
    assert "NaN" in line
    out = folder / "stress-drains"
    assert not (out / "report").exists(), "no page from half of the answers"
    assert not (out / "run").exists(), "the test set comes before hours of editing"
    write_data(folder)
    assert call(folder).exit_code == 0
    assert (out / "report" / "index.html").is_file()


def test_wrong_plans_leave_nothing(folder):
    rows = write_data(folder)
    rows[1]["edit_mask"] = ""
    write_table(folder, rows)
    result = call(folder)
    assert result.exit_code == 2
    assert "row 2" in result.stderr
    assert "p2" in result.stderr
    write_table(folder, write_data(folder))
    result = call(folder, positive="pneumonia")
    assert result.exit_code == 2
    assert "'pneumonia' does not occur" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (folder / "stress-drains").exists()


def test_an_editor_or_encoder_that_is_not_there_leaves_nothing(folder):
    missing = {**EDIT, "editor": "radedit:microsoft/radedit"}
    result = call(folder, edit=missing)
    assert result.exit_code == 2
    assert "radedit" in result.stderr
    result = call(folder, edit_score={"encoder": "biovil-t"})
    assert result.exit_code == 2
    assert "biovil-t" in result.stderr
    assert not (folder / "stress-drains").exists()


def test_other_edits_do_not_go_into_the_same_folder(folder):
    run(folder)
    with pytest.raises(InputError, match="choose another out"):
        run(folder, edit={**BLURRED, "prompt": "clear lungs"})
    (folder / "stress-drains" / "cases").rename(folder / "elsewhere")
    strange = folder / "strange"
    strange.mkdir()
    (strange / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="contains other files"):
        run(folder, out="strange")


def test_a_picture_or_mask_that_changed_is_not_compared_with_its_old_edit(folder):
    run(folder)
    Image.fromarray(np.full((48, 64, 3), 7, np.uint8)).save(folder / "img" / "p1.png")
    with pytest.raises(InputError, match=r"p1.png: changed since it was edited"):
        run(folder)
    write_data(folder)
    mask = np.full((48, 64), 255, np.uint8)
    Image.fromarray(mask).save(folder / "edit" / "p2.png")
    with pytest.raises(InputError, match=r"p2.png: changed since it was edited"):
        run(folder)


def test_another_editor_is_refused_before_predictors_are_asked(folder):
    run(folder)
    says(folder, (folder / "mine.py").read_text() + "\n# another identity, nothing stored\n")
    before = (folder / "stress-drains" / "predictions.sqlite").stat().st_size
    with pytest.raises(InputError, match="another settings"):
        run(folder, edit={**EDIT, "editor": "blur:sigma=3"})
    assert (folder / "stress-drains" / "predictions.sqlite").stat().st_size == before


def test_a_predictor_sees_pictures_and_edits_in_the_same_depth(folder):
    """Most editors return 8 bits; a predictor of its own would take that for darkness."""
    rows = write_data(folder)
    for row in rows:
        grey = np.asarray(Image.open(folder / row["image"]).convert("L")).astype(np.uint16)
        Image.fromarray(grey * 16).save(folder / row["image"])
        row["bits"] = "12"
    write_table(folder, rows)
    says(
        folder,
        "class Classifier:\n    def predict(self, pictures):\n"
        "        assert all(one.dtype == 'uint16' for one in pictures)\n"
        "        return [float(one.mean()) / 4095 for one in pictures]\n",
    )
    (folder / "editor.py").write_text(
        "from medebench.systems import Settings\n"
        "class Eight:\n"
        "    summary, sees, control, Settings = 'x', (), False, Settings\n"
        "    def __init__(self, settings): pass\n"
        "    def edit(self, request):\n"
        "        return (request.case.previous // 16).astype('uint8')\n"
    )
    done = run(folder, edit={**EDIT, "editor": f"{folder}/editor.py:Eight"})
    for edit in done.outcome.edits:
        assert edit.after["Classifier"] == pytest.approx(edit.before["Classifier"], abs=0.01)


def test_a_second_process_is_refused(folder):
    from filelock import FileLock

    ready = plan(folder)
    ready.out.mkdir()
    with FileLock(ready.out / ".lock"), pytest.raises(BusyError, match="another medebench"):
        run_stress(ready, bar=quietly)


def test_edits_that_fail_are_told_and_the_rest_is_measured(folder):
    (folder / "editor.py").write_text(
        "from medebench.systems import Refused, Settings\n"
        "class Choosy:\n"
        "    summary, sees, control, Settings = 'x', (), False, Settings\n"
        "    def __init__(self, settings): pass\n"
        "    def edit(self, request):\n"
        "        if request.case.case.id == 'p2': raise Refused('too dark')\n"
        "        return request.case.previous // 2\n"
    )
    result = call(folder, edit={**EDIT, "editor": f"{folder}/editor.py:Choosy"})
    assert result.exit_code == 1
    said = "medebench: 1 edit failed in this command: too dark"
    assert result.stderr.splitlines()[-1] == said
    # It failed then, not now.
    again = call(folder, edit={**EDIT, "editor": f"{folder}/editor.py:Choosy"})
    assert again.exit_code == 0 and "1 edit has no " in again.stderr
    results = json.loads((folder / "stress-drains" / "report" / "results.json").read_text())
    assert results["edits_kept"] == 3
    assert results["edits_failed"] == 1
    failed = next(edit for edit in results["edits"] if edit["id"] == "p2")
    assert "too dark" in failed["reason"]
    assert failed["score"] is None


def test_edits_below_the_threshold_are_thrown_away_and_shown(folder):
    """With the encoder that ships, on pictures that are no chests: scores are what they are."""
    low = run(folder, edit_score={"encoder": "chest-phantoms", "threshold": -1.0})
    scores = [edit.score for edit in low.outcome.edits]
    assert all(score is not None and -1 <= score <= 1 for score in scores)
    middle = float(np.median(scores))
    high = run(folder, edit_score={"encoder": "chest-phantoms", "threshold": round(middle, 6)})
    kept = [edit.kept for edit in high.outcome.edits]
    assert kept == [score >= round(middle, 6) for score in scores]
    assert not all(kept)
    thrown = next(edit for edit in high.outcome.edits if not edit.kept)
    assert "below" in thrown.reason
    assert thrown.output, "what is thrown away can be looked at"
    assert any(at.kept == 4 for at in high.outcome.thresholds)
    run_again = open_run(high.run.path)
    assert "edit_score_chest-phantoms" in set(run_again.frame()["metric"])
