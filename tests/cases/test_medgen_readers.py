"""Sets of MedGEN-Bench: all spellings are the same cases, and every mistake is one line."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medebench.cases import load_cases
from medebench.cases.medgen_names import TASK_FORMATS, modality_of, task_name
from medebench.cases.open_case import open_case
from medebench.cases.readers.medgen_fields import choices_in
from medebench.errors import InputError
from medebench.images.picture import read_mask
from tests.cases.medgen_sets import (
    OPTIONS,
    picture,
    records,
    write_canonical,
    write_images,
    write_lines,
    write_parquet,
    write_sample,
    write_view,
)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def canonical(tmp_path):
    return write_canonical(tmp_path / "MedGEN-Bench", records())


def test_every_spelling_gives_the_same_cases(tmp_path, canonical):
    made = records()
    expected = load_cases(canonical)
    assert len(expected) == 32 and expected.task == "medgen"
    assert {case.task for case in expected} == set(TASK_FORMATS)
    for root in (
        write_view(tmp_path / "view", canonical),
        write_sample(tmp_path / "sample", made),
    ):
        found = load_cases(root)
        assert found.fingerprint == expected.fingerprint, root
        for case in found:
            assert case.modality == expected[case.id].modality
            assert case.extra["metadata"] == expected[case.id].extra["metadata"]


def test_parquet_gives_the_same_cases_as_far_as_it_has_them(tmp_path, canonical):
    found = load_cases(write_parquet(tmp_path / "release", records()))
    expected = load_cases(canonical)
    different = {
        case_id: one.differs(expected.hashes[case_id]) for case_id, one in found.hashes.items()
    }
    assert set().union(*different.values()) == {"roi", "key"}
    bare = records(metadata=False)
    same = load_cases(write_parquet(tmp_path / "bare", bare))
    assert same.fingerprint == load_cases(write_canonical(tmp_path / "b", bare)).fingerprint
    assert same.fingerprint == load_cases(tmp_path / "bare" / "parquet").fingerprint


def test_a_shard_is_gone_through_once(tmp_path, cache):
    root = write_parquet(tmp_path / "release", records(1))
    first = load_cases(root)
    kept = {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}
    assert any(path.suffix == ".png" for path in kept)
    again = load_cases(root)
    assert again.fingerprint == first.fingerprint
    assert kept == {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}
    # An image that was swept away is taken out again.
    first.cases[0].previous.unlink()
    assert load_cases(root).fingerprint == first.fingerprint


@pytest.mark.parametrize(
    ("part", "count"),
    [
        ("VQA", 8),
        ("ImageEditing", 12),
        ("VQA/multiple-choice", 2),
        ("VQA/multiple-choice/data.jsonl", 2),
        ("MultimodalGeneration/instruction-editing", 2),
    ],
)
def test_a_part_of_the_release_is_a_part_of_the_set(canonical, part, count):
    whole, found = load_cases(canonical), load_cases(canonical / part)
    assert len(found) == count
    assert all(found.digests[case.id] == whole.digests[case.id] for case in found)


def test_a_file_of_the_view_and_a_shard_can_be_read_alone(tmp_path, canonical):
    whole = load_cases(canonical)
    view = write_view(tmp_path / "view", canonical)
    for name, count in (("vqa.jsonl", 8), ("gen.jsonl", 12), ("smoke_edit.jsonl", 1)):
        found = load_cases(view / name)
        assert len(found) == count
        assert all(found.digests[case.id] == whole.digests[case.id] for case in found)
    release = write_parquet(tmp_path / "release", records(), shards=1)
    shard = release / "parquet" / "vqa" / "train-00000-of-00001.parquet"
    assert [case.id for case in load_cases(shard)] == [case.id for case in load_cases(view)][:8]
    config = load_cases(release / "parquet" / "image_editing")
    assert {case.group("format") for case in config} == {"editing"}


def test_what_a_record_says_is_found_in_its_case(canonical):
    cases = load_cases(canonical)
    one = cases["vqa-multiple-choice-000002"]
    assert one.choices == tuple(OPTIONS) and one.answer == OPTIONS[1]
    assert list(one.inputs()) == ["previous", "input2", "input3"]
    assert one.extra["sample_id"] == "tableiv:VQA:multiple-choice:000002"
    assert one.modality == "MRI" and one.extra["recorded_modality"] == "Magnetic_Resonance_Imaging"
    assert dict(one.groups) == {"format": "vqa"}
    assert cases["vqa-question-answering-000001"].key == "heart"
    report = cases["vqa-report-generation-000001"]
    assert report.answer.startswith("TECHNIQUE:\nOne view.\n\nFINDINGS:\n  lungs: clear; no nodule")
    assert list(report.extra["report_sections"]) == ["technique", "findings", "impression"]
    sharper = cases["editing-resolution-editing-000001"]
    assert sharper.grid == "reference" and sharper.answer == ""
    assert sharper.group("subtask") == "Kind 0 of resolution-editing"
    assert cases["editing-style-transfer-000001"].grid == "previous"


def test_a_box_is_a_region_of_the_input(canonical, cache):
    case = load_cases(canonical)["generation-instruction-editing-000001"]
    mask = read_mask(case.roi)
    expected = np.zeros((24, 32), np.uint8)
    expected[0:12, 12:20] = 255
    assert (mask == expected).all()
    assert case.roi.is_relative_to(cache)
    assert open_case(case).roi.sum() == 12 * 8
    # Equal boxes on images of one size are one file.
    assert len(list(cache.rglob("medgen-boxes/*.png"))) == 1


def _single(tmp_path, **changes):
    """One record alone, changed, in a task folder of its own."""
    return _only(tmp_path, 0, **changes)


def _only(tmp_path, which, **changes):
    record, images = records(1)[which]
    folder = tmp_path / record["paper_format"] / record["sub-category"]
    record = {key: value for key, value in (record | changes).items() if value is not ...}
    write_images(folder, images)
    write_lines(folder / "data.jsonl", [record])
    return folder


BOX = list(TASK_FORMATS).index("instruction-editing")
EDIT = list(TASK_FORMATS).index("noise-reconstruction")
REPORT = list(TASK_FORMATS).index("report-generation")


@pytest.mark.parametrize(
    ("which", "changes", "words"),
    [
        (0, {"instruction": ""}, "field 'instruction': is missing or empty"),
        (0, {"instruction": 7}, "field 'instruction': expected text, found a number"),
        (0, {"instruction": "x" * 300_000}, "longer than 200,000 characters"),
        (0, {"instruction": "half \ud800"}, "half of a surrogate pair"),
        (0, {"input_image": []}, "field 'input_image': is missing"),
        (0, {"input_image": ["../../../etc/passwd"]}, "is not a path within the set's folder"),
        (0, {"input_image": ["/etc/passwd"]}, "is not a path within the set's folder"),
        (0, {"input_image": ["C:\\x.png"]}, "is not a path within the set's folder"),
        (0, {"input_image": ["images/none.png"]}, "no such file"),
        (0, {"input_image": ["images/in_0_0.png"] * 65}, "more than 64 images"),
        (0, {"input_image": [{}]}, "expected text, found an object"),
        (0, {"paper_task": "singing"}, "'singing' is no task of MedGEN-Bench; there are: multi"),
        (0, {"paper_task": "style-transfer"}, "is a task of ImageEditing, not of VQA"),
        (0, {"paper_format": "Video"}, "'Video' is no format"),
        (0, {"choice": ["one"]}, "expected at least 2 choices"),
        (0, {"choice": "A. one"}, "expected a list of choices"),
        (0, {"metadata": [1]}, "field 'metadata': expected an object"),
        (0, {"answer": 5}, "field 'answer': expected text, found a number"),
        (REPORT, {"answer": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": 1}}}}}}}}}, "deeply"),
        (EDIT, {"ground_truth_image": ["a.png", "b.png"]}, "names 2 targets; one is expected"),
        (EDIT, {"input_image": ["images/in_0_0.png"] * 2}, "starts from one image"),
        (BOX, {"metadata": {"bbox": [0.1, 0.2, 0.3]}}, "metadata.bbox': expected 4 numbers"),
        (BOX, {"metadata": {"bbox": [0.1, 0.2, "a", 1]}}, "expected 4 finite numbers"),
        (BOX, {"metadata": {"bbox": [0.1, 0.2, 1e999, 1]}}, "Infinity is not a JSON number"),
        (BOX, {"metadata": {"bbox": [0.1, 0.2, 10**400, 1]}}, "expected 4 finite numbers"),
        (BOX, {"metadata": {"bbox": [0.1, 0.2, 0, 1]}}, "has no width or no height"),
    ],
)
def test_a_mistake_is_one_line_with_file_line_and_field(tmp_path, which, changes, words):
    folder = _only(tmp_path, which, **changes)
    with pytest.raises(InputError) as caught:
        load_cases(folder)
    text = str(caught.value)
    assert words in text and "\n" not in text
    assert str(folder) in text and "data.jsonl, line 1" in text
    assert len(load_cases(folder, strict=False).problems) == 1


@pytest.mark.parametrize(
    ("changes", "task"),
    [
        ({"paper_task": "multi_choice"}, "multiple-choice"),
        ({"paper_task": "VQA"}, "multiple-choice"),
        ({"paper_task": ...}, "multiple-choice"),
        ({"paper_task": ..., "sub-category": ...}, "multiple-choice"),
        ({"paper_task": "Question Answer", "paper_format": ...}, "question-answering"),
    ],
)
def test_tasks_are_known_by_any_of_their_names(tmp_path, changes, task):
    assert [case.task for case in load_cases(_single(tmp_path, **changes))] == [task]


@pytest.mark.parametrize(
    "block",
    [
        "Options:\nA. Upper left\nB. Lower left\nC. Upper right\nD. Lower right",
        "Options:\nA) Upper left\nB) Lower left\nC) Upper right\nD) Lower right\n\nAnswer briefly.",
        "options: (A) Upper left (B) Lower left (C) Upper right (D) Lower right",
        "Choices:\n- A: Upper left\n- B: Lower left\n- C: Upper right\n- D: Lower right",
        "Answer choices:\n**A.** Upper left\n**B.** Lower left\n**C.** Upper right\n"
        "**D.** Lower right\nGive the letter.",
        "Options: A. Upper left, B. Lower left, C. Upper right, D. Lower right",
        "Options:\nA. Upper left  B. Lower left\nC. Upper right  D. Lower right",
        "\n(a) Upper left\n(b) Lower left\n(c) Upper right\n(d) Lower right",
    ],
)
def test_choices_are_read_from_the_instruction(tmp_path, block):
    folder = _single(tmp_path, choice=[], instruction=f"Where is it?\n{block}")
    assert load_cases(folder).cases[0].choices == tuple(OPTIONS)


@pytest.mark.parametrize(
    "text",
    [
        "Is a fracture seen? A fracture is a break.",
        "Options:\nA. one\nC. three",
        "Options: none are given",
        "Options:\nA. only this",
    ],
)
def test_where_no_choices_are_given_none_are_read(tmp_path, text):
    assert load_cases(_single(tmp_path, choice=[], instruction=text)).cases[0].choices == ()


WORDS = st.lists(
    st.sampled_from(["left", "right", "A", "lung", "B.", "of", "C:", "(D)", "3", "no"]), min_size=1
)
BULLETS = ["{}. {}", "{}) {}", "({}) {}", "- {}: {}", "**{}.** {}", "[{}] {}", "  {}. {}"]


@given(st.lists(WORDS, min_size=2, max_size=8), st.sampled_from(BULLETS), st.booleans())
def test_choices_of_one_line_each_are_read_as_they_are(words, bullet, lower):
    texts = ["the " + " ".join(one) + " seen" for one in words]
    letters = "abcdefgh" if lower else "ABCDEFGH"
    lines = [bullet.format(*one) for one in zip(letters, texts, strict=False)]
    found = choices_in("What is it?\n\nOptions:\n" + "\n".join(lines) + "\n\nAnswer with a letter.")
    following = "ABCDEFGHI"[len(texts)]
    # Only a text that goes on with the next letter could be two choices.
    if not {f"{following}.", f"{following}:", f"({following})"} & set(texts[-1].split()):
        named = zip("ABCDEFGH", texts, strict=False)
        assert found == tuple(f"{letter}. {text}" for letter, text in named)


@given(st.text(max_size=300))
def test_any_instruction_can_be_looked_through(text):
    for one in (text, f"Options:\n{text}", f"Options: A. {text} B. {text}"):
        found = choices_in(one)
        assert not found or 2 <= len(found) <= 10
        assert all(choice[1:3] == ". " and choice[3:] for choice in found)


def test_letters_within_a_choice_begin_no_other(tmp_path):
    text = "Which vitamin?\nOptions:\nA. Vitamin B. complex\nB. Vitamin C: acid\nC. None"
    case = load_cases(_single(tmp_path, choice=[], instruction=text)).cases[0]
    assert case.choices == ("A. Vitamin B. complex", "B. Vitamin C: acid", "C. None")


def test_choices_keep_their_letters_and_get_some_where_they_have_none(tmp_path):
    bugs = ["E. coli", "C. difficile", "S. aureus"]
    case = load_cases(_single(tmp_path, choice=bugs)).cases[0]
    assert case.choices == ("A. E. coli", "B. C. difficile", "C. S. aureus")
    eight = [f"{letter}) kind {letter}" for letter in "ABCDEFGH"]
    case = load_cases(_single(tmp_path, choice=eight)).cases[0]
    assert case.choices[7] == "H. kind H"


@pytest.mark.parametrize(
    ("metadata", "key"),
    [
        ({"correct_answer": "C. heart", "original_options": ["A. x", "B. y", "C. heart"]}, "heart"),
        ({"correct_answer": "B", "original_options": ["A. x", "B. y"]}, "y"),
        ({"correct_answer": "(b)", "original_options": {"A": "x", "B": "left lung"}}, "left lung"),
        ({"correct_answer": "left lung"}, "left lung"),
        ({"correct_answer": "B"}, ""),
        ({"correct_answer": "E. coli", "original_options": ["A. E. coli", "B. y"]}, "E. coli"),
        ({"correct_answer": 3}, ""),
        ({}, ""),
    ],
)
def test_an_open_question_is_checked_by_the_choice_it_was_made_from(tmp_path, metadata, key):
    which = list(TASK_FORMATS).index("question-answering")
    assert load_cases(_only(tmp_path, which, metadata=metadata)).cases[0].key == key


def test_a_contact_sheet_is_taken_where_its_images_are_gone(tmp_path, canonical):
    view = write_view(tmp_path / "view", canonical)
    case = load_cases(view)["vqa-multiple-choice-000002"]
    assert "contact_sheet" not in case.extra
    for name in ("in_1_1.png", "in_1_2.png"):
        (canonical / "VQA" / "multiple-choice" / "images" / name).unlink()
    case = load_cases(view)["vqa-multiple-choice-000002"]
    assert case.images == {} and case.extra["contact_sheet"] == 3
    assert "vqa_contact_sheets" in str(case.previous)


def test_images_behind_a_sheet_are_taken_where_the_list_names_the_sheet_alone(tmp_path, canonical):
    view = write_view(tmp_path / "view", canonical)
    lines = [json.loads(line) for line in (view / "vqa.jsonl").read_text().splitlines()]
    for one in lines:
        one["input_images"] = [one["input_image"]]
    (view / "vqa.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    case = load_cases(view)["vqa-multiple-choice-000002"]
    assert len(case.images) == 2 and "contact_sheet" not in case.extra


def test_originals_are_found_without_a_list_of_them(tmp_path, canonical):
    view = write_view(tmp_path / "view", canonical)
    lines = [json.loads(line) for line in (view / "vqa.jsonl").read_text().splitlines()]
    for one in lines:
        del one["input_images"]
    write_lines(view / "vqa.jsonl", lines)
    assert load_cases(view).fingerprint == load_cases(canonical).fingerprint


def test_the_link_of_a_view_leads_to_a_release_and_nowhere_else(tmp_path, canonical):
    view = write_view(tmp_path / "view", canonical)
    (view / "source").unlink()
    private = tmp_path / "private" / "VQA-of-mine"
    shutil.copytree(canonical / "VQA", private)
    (view / "source").symlink_to(tmp_path / "private")
    lines = [json.loads((view / "vqa.jsonl").read_text().splitlines()[0])]
    lines[0] |= {"input_images": ["source/VQA-of-mine/multiple-choice/images/in_0_0.png"]}
    write_lines(view / "vqa.jsonl", lines)
    with pytest.raises(InputError, match="leaves the folder"):
        load_cases(view / "vqa.jsonl")


def test_a_task_of_the_manifest_that_did_not_come_is_said(tmp_path, canonical):
    (canonical / "VQA" / "blank-filling" / "data.jsonl").unlink()
    with pytest.raises(InputError, match=r"blank-filling/data\.jsonl: no such file; fetch"):
        load_cases(canonical)
    # A format that was not fetched at all is a choice.
    shutil.rmtree(canonical / "VQA")
    assert len(load_cases(canonical)) == 24


def test_without_a_manifest_the_folders_say_what_they_are(canonical):
    expected = load_cases(canonical).fingerprint
    (canonical / "manifest.json").unlink()
    assert load_cases(canonical).fingerprint == expected
    (canonical / "manifest.json").write_text('{"table_iv": {"VQA": ["../../x"]}}')
    with pytest.raises(InputError, match="is no task of MedGEN-Bench; correct it"):
        load_cases(canonical)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"x" * 200 + b"PAR1", b"no"])
def test_a_damaged_shard_is_one_line(tmp_path, content):
    path = tmp_path / "vqa.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"vqa\.parquet: not readable as Parquet") as caught:
        load_cases(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("recorded", "folded"),
    [
        ("CT", "CT"),
        ("Computed Tomography (CT)", "CT"),
        ("Magnetic_Resonance_Imaging", "MRI"),
        ("MRI", "MRI"),
        ("Ultrasound", "Ultrasound"),
        ("X-Ray", "X-ray"),
        ("x_ray", "X-ray"),
        ("Radiograph", "X-ray"),
        ("Pathology", "Pathology"),
        ("Clinical Photo", "Clinical Photography"),
        ("Photograph", "Clinical Photography"),
        ("Fundus photograph", "Other"),
        ("Medical Imaging", "Other"),
        ("CT and MRI", "Other"),
        ("", "Other"),
    ],
)
def test_modalities_are_folded(recorded, folded):
    assert modality_of(recorded) == folded


def test_aliases_of_the_brief_are_all_known():
    aliases = (
        "multi-choice question-answer resolution-edit instruction-edit dye-transfer "
        "3d-2d-projection 2d-3d-reconstruction organ-removal organ-reconstruction"
    )
    found = {task_name(alias.replace("-", "_").upper()) for alias in aliases.split()}
    assert len(found) == 9 and found <= set(TASK_FORMATS)


def test_an_ordinary_table_is_not_taken_for_one_of_medgen(tmp_path):
    (tmp_path / "previous").mkdir()
    (tmp_path / "previous" / "1.png").write_bytes(picture(1))
    rows = [{"id": "1", "prompt": "Remove it.", "category": "edit", "task": "style-transfer"}]
    write_lines(tmp_path / "cases.jsonl", rows)
    assert load_cases(tmp_path).task == "editing"


def test_a_table_of_ours_with_tasks_of_medgen_says_what_it_is(tmp_path):
    """As the drawn cases are written: our own keys, and what is known of a record beside them."""
    (tmp_path / "previous").mkdir()
    (tmp_path / "previous" / "a.png").write_bytes(picture(1))
    row = {"id": "a", "prompt": "What is it?", "task": "blank-filling", "answer": "it"}
    row |= {"groups": {"format": "vqa"}, "sample_id": "medgen:VQA:blank-filling:000001"}
    write_lines(tmp_path / "cases.jsonl", [row | {"recorded_modality": "CT", "metadata": {}}])
    for place in (tmp_path, tmp_path / "cases.jsonl"):
        found = load_cases(place)
        assert found.task == "medgen" and found.cases[0].id == "a"
    assert load_cases(tmp_path, task="vqa").task == "vqa"
    write_lines(tmp_path / "cases.jsonl", [row | {"groups": {"format": "editing"}}])
    assert load_cases(tmp_path).task == "editing"
