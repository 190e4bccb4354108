"""Flaws planted into a set of MedGEN-Bench are found, and nothing else is."""

from __future__ import annotations

import json
import re

import pytest

from medebench.audit import audit, check_cases, without_findings
from medebench.cases import load_cases
from tests.cases.medgen_sets import picture, records, write_canonical, write_lines

#: What invented pictures of noise always have: each is unlike its target.
NOISE = {"other-photograph", "misaligned-pair", "no-description", "no-subtask", "modality-spelling"}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def root(tmp_path):
    return write_canonical(tmp_path / "set", records(6))


def found(root):
    return {one.code: one for one in audit(load_cases(root, strict=False)).findings}


def change(root, place, change_one):
    """Another content for records of a task; `change_one` is given the record and its number."""
    path = root / place / "data.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for number, record in enumerate(lines, 1):
        change_one(record, number)
    write_lines(path, lines)
    return path.parent


def test_a_sound_set_has_no_finding(root):
    assert set(found(root)) <= NOISE


@pytest.mark.parametrize("answer", ["", " ", "."])
def test_empty_answers(root, answer):
    def empty(record, number):
        if number in (2, 5):
            record["answer"] = answer

    change(root, "VQA/question-answering", empty)
    expected = ("vqa-question-answering-000002", "vqa-question-answering-000005")
    assert found(root)["empty-answer"].cases == expected


def test_answers_that_are_the_same_for_many_inputs(root):
    def same(record, number):
        record["answer"] = f"The requested change was applied {number} times to the image."

    change(root, "MultimodalGeneration/organic-removal", same)
    # Short answers are the same by right, and so are choices.
    change(root, "VQA/blank-filling", lambda record, number: record.update(answer="benign"))
    one = found(root)["templated-answer"]
    assert len(one.cases) == 6 and len(one.groups) == 1
    assert all(case.startswith("generation-organic-removal") for case in one.cases)


@pytest.mark.parametrize(
    ("answer", "offered"),
    [
        ("B. Lower left", True),
        ("lower left", True),
        ("B", True),
        ("(b) lower left", True),
        ("B. Upper left", False),
        ("E. Lower left", False),
        ("F", False),
        ("Somewhere", False),
        ("left", False),
    ],
)
def test_an_answer_that_is_none_of_the_choices(root, answer, offered):
    def other(record, number):
        if number == 3:
            record["answer"] = answer

    change(root, "VQA/multiple-choice", other)
    flaws = found(root)
    expected = None if offered else ("vqa-multiple-choice-000003",)
    assert (
        flaws["answer-not-offered"].cases if "answer-not-offered" in flaws else None
    ) == expected


def test_a_question_without_its_choices(root):
    def none(record, number):
        if number == 4:
            record.update(choice=[], instruction="Where is it?")

    change(root, "VQA/multiple-choice", none)
    assert found(root)["no-choices"].cases == ("vqa-multiple-choice-000004",)
    assert audit(load_cases(root)).exit_code == 1


def test_targets_that_contradict_each_other(root):
    """Two records with the same bytes under other names, the same words, and other targets."""
    folder = root / "ImageEditing" / "contrast-enhancement"
    (folder / "images" / "in_1_0.png").write_bytes((folder / "images/in_0_0.png").read_bytes())

    def same(record, number):
        if number <= 2:
            record["instruction"] = "Enhance the contrast of this image."

    change(root, "ImageEditing/contrast-enhancement", same)
    flaws = found(root)
    pair = ("editing-contrast-enhancement-000001", "editing-contrast-enhancement-000002")
    assert flaws["contradictory-targets"].cases == pair
    assert flaws["shared-source"].cases == pair
    assert flaws["contradictory-targets"].kind.touches("ssim")
    # With one target it is a duplicate and no contradiction.
    (folder / "images" / "out_1.png").write_bytes((folder / "images/out_0.png").read_bytes())
    flaws = found(root)
    assert "contradictory-targets" not in flaws and "duplicate-case" in flaws


def test_answers_that_contradict_each_other(root):
    def same(record, number):
        if number in (1, 3):
            record.update(instruction="What is it?", input_image=["images/in_0_0.png"])

    change(root, "VQA/question-answering", same)
    pair = ("vqa-question-answering-000001", "vqa-question-answering-000003")
    assert found(root)["contradictory-targets"].cases == pair


def test_sizes_of_targets(root):
    styles = root / "ImageEditing" / "style-transfer" / "images"
    (styles / "out_0.png").write_bytes(picture(1, (48, 48)))
    (styles / "out_1.png").write_bytes(picture(1, (48, 64)))
    sharper = root / "ImageEditing" / "resolution-editing" / "images"
    (sharper / "out_2.png").write_bytes(picture(1, (24, 32)))
    rendered = root / "MultimodalGeneration" / "2d-to-3d-reconstruction" / "images"
    (rendered / "out_0.png").write_bytes(picture(1, (99, 32)))
    flaws = found(root)
    assert flaws["target-shape"].cases == ("editing-style-transfer-000001",)
    assert len(flaws["reference-size"].cases) == 2
    assert flaws["target-not-larger"].cases == ("editing-resolution-editing-000003",)


def test_missing_images(root):
    edits = root / "ImageEditing" / "noise-reconstruction"
    (edits / "images" / "out_0.png").unlink()
    change(
        root,
        "ImageEditing/style-transfer",
        lambda record, number: record.update(ground_truth_image=[]) if number == 2 else None,
    )
    change(
        root,
        "MultimodalGeneration/organic-removal",
        lambda record, number: record.update(ground_truth_image=[]) if number == 3 else None,
    )
    flaws = found(root)
    assert flaws["missing-file"].cases == ("record 43",)
    assert "ImageEditing/noise-reconstruction/data.jsonl, line 1: " in flaws["missing-file"].detail
    expected = ("editing-style-transfer-000002", "generation-organic-removal-000003")
    assert flaws["no-reference"].cases == expected


def test_boxes_that_reach_out_of_their_image(root):
    boxes = [[0.5, 0.5, 1, 1], [0.1, 0.5, 0.3, 0.2], [2, 2, 0.5, 0.5], [40, 30, 10, 10]]

    def placed(record, number):
        if number <= 4:
            record["metadata"]["bbox"] = boxes[number - 1]

    change(root, "MultimodalGeneration/instruction-editing", placed)
    numbers = [re.sub(r".*-0*", "", case) for case in found(root)["box-outside"].cases]
    assert numbers == ["2", "3", "4"]
    cases = load_cases(root)
    assert cases["generation-instruction-editing-000002"].roi is not None
    assert cases["generation-instruction-editing-000003"].roi is None


def test_spellings_of_a_modality(root):
    def spelt(record, number):
        record["modality"] = ["MRI", "Magnetic Resonance Imaging", "Medical Imaging"][number % 3]

    change(root, "VQA/question-answering", spelt)
    flaws = found(root)
    assert "MRI: Magnetic_Resonance_Imaging (" in flaws["modality-spelling"].detail
    assert flaws["modality-unknown"].cases == (
        "vqa-question-answering-000002",
        "vqa-question-answering-000005",
    )


def test_cases_of_one_source_are_found_by_content(root):
    """Through any of several inputs, in whichever place they stand."""
    first = root / "VQA" / "multiple-choice" / "images"
    second = root / "VQA" / "report-generation" / "images"
    (second / "in_1_2.png").write_bytes((first / "in_0_0.png").read_bytes())
    third = root / "ImageEditing" / "style-transfer" / "images"
    (third / "in_0_0.png").write_bytes((second / "in_1_1.png").read_bytes())
    one = found(root)["shared-source"]
    assert set(one.cases) == {
        "vqa-multiple-choice-000001",
        "vqa-report-generation-000002",
        "editing-style-transfer-000001",
    }
    assert len(one.groups) == 1 and "96 cases come from 94 sources" in one.detail


def test_every_finding_can_be_left_out(root):
    change(root, "VQA/blank-filling", lambda record, number: record.update(answer=""))
    cases = load_cases(root)
    left = without_findings(cases, ["empty-answer", "shared-source", "contradictory-targets"])
    assert len(left.cases) == len(cases) - 6
    assert check_cases(root)["empty-answer"].cases == left.left_out["empty-answer"]
