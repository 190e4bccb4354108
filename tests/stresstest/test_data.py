"""From a user's table to a StressSet, and everything that may be wrong with one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFilter

from medebench.errors import InputError
from medebench.stresstest.image_usability import size_of
from medebench.stresstest.stress_plan import read_stress
from tests.conftest import draw
from tests.stresstest.own_data import box, write_data, write_plan, write_table

Rows = list[dict[str, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_table(tmp_path, write_data(tmp_path))
    return tmp_path


def load(folder: Path, **changes: Any) -> Any:
    return read_stress(write_plan(folder, **changes)).load()


def test_classification(folder):
    stress = load(folder)
    assert [one.id for one in stress.samples] == ["p1", "p2", "p3", "p4", "p5", "p6"]
    assert stress.positive == "pneumothorax"
    assert [one.id for one in stress.intended] == ["p1", "p2", "p4", "p5"]
    first = stress.intended[0]
    assert first.prompt == "no pneumothorax, chest drain"
    assert (first.label, first.kind) == ("normal", "")
    assert first.sample == stress.samples[0]
    assert first.sample.caption == "pneumothorax, chest drain"
    assert (first.sample.group, first.sample.bits) == ("patient0", None)
    assert first.edit == folder / "edit" / "p1.png"
    assert first.keep == folder / "keep" / "p1.png"
    assert first.sample.mask is None, "a classifier has no organ to mark"


def test_segmentation_with_several_kinds_of_edits(folder):
    edit = {
        "caption": "clear lungs",
        "edit_mask": "mask",
        "kinds": [
            {"kind": "oedema", "prompt": "oedema"},
            {"kind": "pacemaker", "prompt": "pacemaker", "edit_mask": "edit", "keep_mask": "none"},
        ],
    }
    stress = load(folder, task="segmentation", edit=edit)
    assert [one.mask for one in stress.samples] == [
        folder / "lungs" / f"p{i}.png" for i in range(1, 7)
    ]
    assert [one.id for one in stress.intended[:2]] == ["p1-oedema", "p2-oedema"]
    assert len(stress.intended) == 12
    oedema, pacemaker = stress.intended[0], stress.intended[6]
    assert (oedema.prompt, oedema.edit) == ("oedema", folder / "lungs" / "p1.png")
    assert oedema.keep == folder / "keep" / "p1.png"
    assert (pacemaker.edit, pacemaker.keep) == (folder / "edit" / "p1.png", None)
    assert oedema.sample.caption == "pneumothorax, chest drain", "the table goes first"
    assert oedema.label == ""


def test_other_columns_no_ids_and_paths_that_lead_elsewhere(tmp_path):
    rows = write_data(tmp_path / "here")
    shutil.move(tmp_path / "here" / "img", tmp_path / "pictures")
    renamed = [
        {
            "file": f"../pictures/{row['id']}.png"
            if i % 2
            else f"{tmp_path}/pictures/{row['id']}.png",
            "finding": row["label"],
            "report": row["caption"],
            "lesion": row["edit_mask"],
            "wanted": f"no pneumothorax, number {i}",
        }
        for i, row in enumerate(rows)
    ]
    write_table(tmp_path / "here", renamed)
    columns = {
        "image": "file",
        "label": "finding",
        "caption": "report",
        "edit_mask": "lesion",
        "prompt": "wanted",
    }
    stress = load(tmp_path / "here", columns=columns, edit={})
    assert stress.samples[1].id == "p2"
    assert stress.intended[1].prompt == "no pneumothorax, number 1"
    assert stress.intended[0].label == "normal", "the only other one"
    assert stress.intended[0].keep is None


def test_jsonl_root_bits_and_numbers(tmp_path):
    rows: list[dict[str, Any]] = []
    for row in write_data(tmp_path / "data"):
        rows.append({**row, "label": int(row["label"] == "pneumothorax"), "bits": 12})
    (tmp_path / "data.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (tmp_path / "mine.py").write_text("def f(p): return p")
    stress = load(
        tmp_path,
        data="data.jsonl",
        root="data",
        positive="1",
        edit={"prompt": "x", "label": "0"},
    )
    assert stress.samples[0].label == "1" and stress.samples[0].bits == 12


def test_folders_named_by_class(tmp_path):
    rows = write_data(tmp_path)
    for row in rows:
        target = tmp_path / "set" / row["label"] / "2024" / f"{row['id']}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tmp_path / row["image"], target)
    (tmp_path / "set" / ".cache").mkdir()
    (tmp_path / "set" / "normal" / "notes.txt").write_text("x")
    edit = {"prompt": "no pneumothorax", "caption": "pneumothorax", "edit_mask": "edit"}
    stress = load(tmp_path, data="set", edit=edit)
    assert [one.id for one in stress.samples[:2]] == ["normal-2024-p3", "normal-2024-p6"]
    assert [one.label for one in stress.samples[:3]] == ["normal", "normal", "pneumothorax"]
    assert stress.intended[0].edit == tmp_path / "edit" / "p1.png"
    assert stress.intended[0].sample.caption == "pneumothorax"


def test_one_mask_for_all_and_none(folder):
    stress = load(folder, edit={"prompt": "x", "edit_mask": "edit/p1.png", "keep_mask": "none"})
    assert {one.edit for one in stress.intended} == {folder / "edit" / "p1.png"}
    assert {one.keep for one in stress.intended} == {None}


def test_a_limit_draws_the_same_pictures_for_all_kinds(tmp_path):
    write_table(tmp_path, write_data(tmp_path, 30))
    kinds = [{"kind": one, "prompt": one} for one in ("a", "b")]

    def drawn(seed: int) -> list[str]:
        edit = {"limit": 7, "kinds": kinds}
        stress = load(tmp_path, task="segmentation", edit=edit, seed=seed)
        names = [one.sample.id for one in stress.intended]
        assert names[:7] == names[7:] and len(set(names)) == 7
        order = [one.id for one in stress.samples]
        assert names[:7] == sorted(names[:7], key=order.index)
        return names

    assert drawn(0) == drawn(0)
    assert drawn(0) != drawn(1)


def put(column: str, value: str, row: int = 1) -> Callable[[Path, Rows], None]:
    return lambda _, rows: rows[row].update({column: value})


def without(column: str) -> Callable[[Path, Rows], None]:
    def change(_: Path, rows: Rows) -> None:
        for row in rows:
            del row[column]

    return change


def all_ill(_: Path, rows: Rows) -> None:
    for row in rows:
        row["label"] = "pneumothorax"


def truncated(folder: Path, _: Rows) -> None:
    path = folder / "img" / "p3.png"
    path.write_bytes(path.read_bytes()[:-300])


def no_picture(folder: Path, _: Rows) -> None:
    (folder / "img" / "p3.png").write_text("<html>" * 100)


def small_mask(folder: Path, _: Rows) -> None:
    box(folder / "edit" / "p2.png", 24, 32)


def small_organ(folder: Path, _: Rows) -> None:
    box(folder / "lungs" / "p3.png", 48, 65)


def empty_mask(folder: Path, _: Rows) -> None:
    box(folder / "edit" / "p2.png", filled=False)


def empty_organ(folder: Path, _: Rows) -> None:
    box(folder / "lungs" / "p3.png", filled=False)


def damaged_organ(folder: Path, _: Rows) -> None:
    path = folder / "lungs" / "p3.png"
    data = bytearray(path.read_bytes())
    # In the middle of the pixels: header and end are as they should be.
    start = data.index(b"IDAT") + 6
    data[start : start + 8] = b"\xff" * 8
    path.write_bytes(data)


def photograph(role: str) -> Callable[[Path, Rows], None]:
    def change(folder: Path, _: Rows) -> None:
        ramp = np.linspace(0, 255, 48 * 64).reshape(48, 64).astype(np.uint8)
        Image.fromarray(ramp).save(folder / role / "p2.png")

    return change


def references(folder: Path, size: tuple[int, int] = (48, 64)) -> None:
    (folder / "after").mkdir()
    for number in range(1, 7):
        height, width = size if number == 2 else (48, 64)
        Image.fromarray(draw(number)[:height, :width]).save(folder / "after" / f"p{number}.png")


def small_reference(folder: Path, _: Rows) -> None:
    references(folder, (24, 64))


def damaged_reference(folder: Path, _: Rows) -> None:
    references(folder)
    path = folder / "after" / "p2.png"
    path.write_bytes(path.read_bytes()[:-300])


_AFTER: dict[str, Any] = {"edit": {"prompt": "x", "label": "normal", "reference": "after"}}
_SEG: dict[str, Any] = {"task": "segmentation", "edit": {"prompt": "oedema"}}
WRONG: list[tuple[Callable[[Path, Rows], None], dict[str, Any], str]] = [
    (put("edit_mask", ""), {}, "images.csv: row 2 (id p2): edit_mask: names no mask"),
    (put("edit_mask", "x.png"), {}, "row 2 (id p2): edit_mask: {folder}/x.png: no such file"),
    (put("keep_mask", ""), {}, "row 2 (id p2): keep_mask: names no mask"),
    (put("image", "img/no.png"), {}, "row 2 (id p2): image: {folder}/img/no.png: no such file"),
    (put("image", ""), {}, "row 2 (id p2): image: is empty"),
    (put("label", ""), {}, "row 2 (id p2): label: is empty"),
    (put("caption", ""), {}, "row 2 (id p2): no caption, which the edit score needs"),
    (put("id", "P1"), {}, "row 2 (id P1): id: row 1 has"),
    (put("id", "a/b"), {}, "row 2 (id a/b): id: 'a/b' holds '/'"),
    (truncated, {}, "row 3 (id p3): {folder}/img/p3.png: damaged or truncated image"),
    (no_picture, {}, "row 3 (id p3): {folder}/img/p3.png: not an image"),
    (
        small_mask,
        {},
        "row 2 (id p2): edit_mask: {folder}/edit/p2.png: is 32 x 24, but",
    ),
    (empty_mask, {}, "row 2 (id p2): edit_mask: {folder}/edit/p2.png: is empty"),
    (small_organ, _SEG, "row 3 (id p3): mask: {folder}/lungs/p3.png: is 65 x 48, but"),
    (
        empty_organ,
        _SEG,
        "row 3 (id p3): mask: {folder}/lungs/p3.png: the organ mask is empty",
    ),
    (damaged_organ, _SEG, "row 3 (id p3): mask: {folder}/lungs/p3.png: damaged or truncated"),
    (
        photograph("edit"),
        {},
        "row 2 (id p2): edit_mask: {folder}/edit/p2.png: looks like a photograph, not a mask (84%",
    ),
    (photograph("keep"), {}, "row 2 (id p2): keep_mask: {folder}/keep/p2.png: looks like a photog"),
    (
        small_reference,
        _AFTER,
        "row 2 (id p2): reference: {folder}/after/p2.png: is 64 x 24, but",
    ),
    (
        damaged_reference,
        _AFTER,
        "row 2 (id p2): reference: {folder}/after/p2.png: damaged or truncated image",
    ),
    (
        lambda *_: None,
        {"edit": {"prompt_column": "wanted", "label": "normal"}},
        "edit.prompt_column: no column 'wanted' in {folder}/images.csv; there are: bits, caption",
    ),
    (put("mask", ""), _SEG, "row 2 (id p2): mask: names no mask"),
    (without("mask"), _SEG, "columns.mask: segmentation needs"),
    (without("label"), {}, "images.csv: no column 'label'; there are: bits, caption, edit_mask"),
    (all_ill, {"edit": {"prompt": "x"}}, "every picture is 'pneumothorax'"),
    (put("bits", "7"), {}, "row 2 (id p2): bits: expected a whole number from 9 to 16, found '7'"),
    (
        lambda *_: None,
        {"positive": "pneumonia"},
        "positive: the label 'pneumonia' does not occur in {folder}/images.csv; there are:"
        " 'pneumothorax' (4), 'normal' (2)",
    ),
    (
        lambda *_: None,
        {"edit": {"prompt": "x", "which": "oedema"}},
        "edit.which: the label 'oedema' does not occur",
    ),
    (
        lambda *_: None,
        {"edit": {"prompt": "x", "label": "healthy"}},
        "edit.label: the label 'healthy' does not occur",
    ),
    (
        put("label", "oedema"),
        {"edit": {"prompt": "x"}},
        "edit.label: is missing; give the true label of the edited pictures ('pneumothorax',"
        " 'normal', 'oedema')",
    ),
    (lambda *_: None, {"edit": {"label": "normal"}}, "row 1 (id p1): no prompt"),
    (
        lambda *_: None,
        {"edit": {"prompt": "Pneumothorax,  chest drain."}},
        "row 1 (id p1): prompt and caption are the same; nothing would change (and 3 more)",
    ),
    (lambda *_: None, {"columns": {"label": "finding"}}, "columns.label: no column 'finding' in"),
    (
        lambda *_: None,
        {"edit": {"prompt": "x", "edit_mask": "lesion"}},
        "edit_mask: 'lesion' is not a column of {folder}/images.csv",
    ),
    (
        lambda *_: None,
        {"edit": {"prompt": "x", "edit_mask": "img/p1.png", "keep_mask": "set"}},
        "keep_mask: 'set' is not a column",
    ),
    (lambda *_: None, {"data": "no.csv"}, "no.csv: no such file or folder"),
    (lambda *_: None, {"data": "mine.py"}, "mine.py: expected .csv, .jsonl, .json or a folder"),
    (lambda *_: None, {"root": "no"}, "root: {folder}/no: no such folder"),
    (lambda *_: None, {"data": "empty"}, "empty: contains neither a table"),
]


@pytest.mark.parametrize(("change", "changes", "words"), WRONG, ids=[one[2][:50] for one in WRONG])
def test_one_line_before_any_work(tmp_path, change, changes, words):
    rows = [{**row, "bits": ""} for row in write_data(tmp_path)]
    change(tmp_path, rows)
    write_table(tmp_path, rows)
    (tmp_path / "empty").mkdir()
    before = sorted(tmp_path.rglob("*"))
    plan = read_stress(write_plan(tmp_path, **changes))
    with pytest.raises(InputError) as caught:
        plan.load()
    said = str(caught.value)
    assert words.format(folder=tmp_path) in said
    assert "\n" not in said
    assert set(tmp_path.rglob("*")) - set(before) == {tmp_path / "drains.yaml"}


def test_an_empty_table_and_edits_without_masks(tmp_path):
    rows = write_data(tmp_path)
    plan = write_plan(tmp_path)
    (tmp_path / "images.csv").write_text("image,label\n")
    with pytest.raises(InputError, match=r"images\.csv: contains no rows"):
        read_stress(plan).load()
    bare = [{key: row[key] for key in ("image", "label", "caption")} for row in rows]
    write_table(tmp_path, bare)
    plan = with_editor(tmp_path, "radedit:microsoft/radedit,masks=none")
    assert {(one.edit, one.keep) for one in read_stress(plan).load().intended} == {(None, None)}


def test_a_table_saved_with_semicolons(folder):
    path = folder / "images.csv"
    header, *rows = path.read_text().split("\n")
    path.write_text(
        "\n".join([header.replace(",", ";"), *(row.replace(",", ";", 2) for row in rows)])
    )
    with pytest.raises(InputError, match=r"images\.csv: columns are separated by ';'; save it"):
        load(folder)


def with_editor(folder: Path, editor: str, **more: Any) -> Path:
    edit = {"prompt": "no pneumothorax", "label": "normal", "editor": editor, **more}
    return write_plan(folder, edit=edit)


@pytest.mark.parametrize("editor", ["radedit:microsoft/radedit", "chest-editor:masks=complement"])
def test_an_editor_under_masks_needs_one(folder, editor):
    told = r"drains\.yaml: edit\.edit_mask: there is none; name one, or set masks=none"
    with pytest.raises(InputError, match=told):
        read_stress(with_editor(folder, editor, edit_mask="none")).load()
    kinds = [{"kind": "a"}, {"kind": "b", "edit_mask": "none"}]
    with pytest.raises(InputError, match="edit_mask: there is none for b; name one"):
        read_stress(with_editor(folder, editor, kinds=kinds)).load()
    assert all(one.edit for one in read_stress(with_editor(folder, editor)).load().intended)


@pytest.mark.parametrize(
    "editor",
    [
        "radedit:microsoft/radedit,masks=none",
        "chest-editor:masks=none",
        "chest-editor:edit_masks=edit",
        "chest-editor:segmenter=mine.py:Segmenter",
        "identity",
    ],
)
def test_editors_that_find_masks_elsewhere_or_need_none(folder, editor):
    stress = read_stress(with_editor(folder, editor, edit_mask="none")).load()
    assert [one.edit for one in stress.intended] == [None] * 4


def test_an_editor_of_ones_own_is_not_made_to_find_out(folder):
    (folder / "own.py").write_text(
        "class Editor:\n"
        "    def __init__(self, settings):\n        raise RuntimeError('made')\n"
        "    def edit(self, request):\n        return None\n"
    )
    stress = read_stress(with_editor(folder, "own.py:Editor", edit_mask="none")).load()
    assert len(stress.intended) == 4


def test_a_prompt_is_a_text_and_a_column_is_named_as_one(tmp_path):
    rows = [{**row, "Edema": "1.0", "wanted": f"text {row['id']}"} for row in write_data(tmp_path)]
    write_table(tmp_path, rows)

    def prompts(**said: Any) -> list[str]:
        stress = load(tmp_path, edit={"label": "normal", **said})
        return [one.prompt for one in stress.intended]

    assert prompts(prompt="Edema") == ["Edema"] * 4
    own = ["text p1", "text p2", "text p4", "text p5"]
    assert prompts(prompt_column="wanted") == own
    # A kind says it in its own way, whatever is said of all.
    kinds = [{"kind": "a", "prompt_column": "wanted"}, {"kind": "b"}]
    assert prompts(prompt="x", kinds=kinds) == own + ["x"] * 4
    kinds = [{"kind": "a", "prompt": "y"}, {"kind": "b"}]
    assert prompts(prompt_column="wanted", kinds=kinds) == ["y"] * 4 + own
    rows[1]["wanted"] = ""
    write_table(tmp_path, rows)
    with pytest.raises(InputError, match=r"row 2 \(id p2\): no prompt; .* wanted"):
        prompts(prompt_column="wanted")


def test_masks_with_soft_edges_or_flat_greys_are_masks(folder):
    soft = Image.open(folder / "edit" / "p1.png").filter(ImageFilter.GaussianBlur(2))
    soft.save(folder / "edit" / "p1.png")
    labels = np.full((48, 64), 64, np.uint8)
    labels[5:40, 5:60] = 128
    Image.fromarray(labels).save(folder / "edit" / "p2.png")
    noisy = Image.open(folder / "edit" / "p4.png")
    noisy.save(folder / "edit" / "p4.jpg", quality=30)
    (folder / "edit" / "p4.png").write_bytes((folder / "edit" / "p4.jpg").read_bytes())
    assert len(load(folder).intended) == 4


def test_a_reference_is_kept_with_its_edit(folder):
    references(folder)
    stress = load(folder, **_AFTER)
    wanted = [folder / "after" / f"p{number}.png" for number in (1, 2, 4, 5)]
    assert [one.reference for one in stress.intended] == wanted


def test_without_an_edit_score_no_caption_is_needed(folder):
    rows = [{**row, "caption": ""} for row in write_data(folder)]
    write_table(folder, rows)
    assert len(load(folder, edit_score="none").intended) == 4


def test_a_picture_is_measured_as_it_is_seen(tmp_path):
    """The header's size, with EXIF rotation, is that of the decoded picture."""
    image = Image.fromarray(draw(1))
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(tmp_path / "turned.jpg", exif=exif)
    image.save(tmp_path / "plain.jpg")
    # A few bytes behind the end do not make a picture damaged.
    with (tmp_path / "plain.jpg").open("ab") as file:
        file.write(b"\0" * 4000)
    Image.fromarray(np.zeros((5, 7), np.uint16)).save(tmp_path / "deep.tiff")
    assert size_of(tmp_path / "turned.jpg") == (48, 64)
    assert size_of(tmp_path / "plain.jpg") == (64, 48)
    assert size_of(tmp_path / "deep.tiff") == (7, 5)


@settings(max_examples=30, deadline=None)
@given(cells=st.lists(st.text(max_size=12), min_size=8, max_size=8))
def test_any_cell_gives_a_set_or_one_line(tmp_path_factory, cells):
    folder = tmp_path_factory.mktemp("any")
    rows = write_data(folder, 3)
    for (column, value), cell in zip(list(rows[1].items()), cells, strict=True):
        rows[1][column] = cell if len(cell) % 2 else value
    (folder / "images.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    plan = write_plan(folder, data="images.jsonl")
    try:
        stress = read_stress(plan).load()
    except InputError as error:
        assert str(error).count("\n") == 0
    else:
        assert len(stress.samples) == 3
