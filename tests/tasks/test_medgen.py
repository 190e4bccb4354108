"""A set of several kinds of work: who is asked what, what is scored, and on which grid."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.cases import Case, CaseSet
from medebench.cases.caseset import hash_case
from medebench.errors import InputError
from medebench.reporting.collect import collect
from medebench.systems import find_system
from medebench.tasks.medgen_tasks import MEDGEN_TASKS, answer_kind, find_medgen_task

HERE = __file__


class Talker(mb.System):
    gives = ("text",)

    def generate(self, request):
        return f"{request.case.case.id} asks for {' and '.join(request.gives)}"


class Unified(mb.System):
    gives = ("image", "text")

    def generate(self, request):
        return mb.Output(np.zeros((40, 60, 3), np.uint8), "both")


@mb.metric("letters", "how long the text is", high=1000, of="text")
def letters(case, text):
    return len(text)


def cases(text, progress, folder=None):
    from medebench.files import cache_folder

    folder = cache_folder() / "mixed"
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    for name, size in (("in", (40, 60)), ("out", (80, 120))):
        if not (folder / f"{name}.png").exists():
            pixels = generator.integers(0, 256, (*size, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / f"{name}.png")
    first, other = folder / "in.png", folder / "out.png"
    made = (
        Case("ask", first, "Which?", task="question-answering", answer="this", key="this"),
        Case(
            "sharpen",
            first,
            "Sharpen.",
            task="resolution-editing",
            reference=other,
            grid="reference",
        ),
        Case("turn", first, "Turn.", task="3d-to-2d-projection", reference=first, answer="done"),
    )
    return CaseSet("mixed", folder, made, text, task="medgen")


def test_the_table_names_every_task_once():
    assert len(MEDGEN_TASKS) == 16
    assert {one.format for one in MEDGEN_TASKS.values()} == {"vqa", "editing", "generation"}
    assert [one.name for one in MEDGEN_TASKS.values() if one.withdrawn] == ["disease-prediction"]
    determined = {one.name for one in MEDGEN_TASKS.values() if one.determined and not one.answer}
    assert determined == {"artifact-removal", "noise-reconstruction", "resolution-editing"}
    assert find_medgen_task("multi_choice") is MEDGEN_TASKS["multiple-choice"]
    assert find_medgen_task("nothing of the kind") is None
    assert answer_kind(Case("1", None, "It is ___.", task="blank-filling")) == "gap"


def test_a_system_is_asked_only_what_it_can_give(tmp_path):
    talked = mb.generate(f"{HERE}:cases", f"{HERE}:Talker", tmp_path / "talker")
    assert [case.id for case in talked.cases] == ["ask"]
    assert (talked.info.cases.count, talked.info.cases.of) == (1, 3)
    both = mb.generate(f"{HERE}:cases", f"{HERE}:Unified", tmp_path / "both")
    assert {path.name for path in both.edits.iterdir()} == {
        "ask_0.txt",
        "sharpen_0.png",
        "turn_0.png",
        "turn_0.txt",
    }
    drawn = mb.generate(f"{HERE}:cases", "identity", tmp_path / "drawn")
    assert [case.id for case in drawn.cases] == ["sharpen", "turn"]
    assert {path.name for path in drawn.edits.iterdir()} == {"sharpen_0.png", "turn_0.png"}
    with pytest.raises(InputError, match="no case asks for only that"):
        mb.generate(mb.load_cases(f"{HERE}:cases").select(["ask"]), "identity", tmp_path / "none")


def test_a_part_that_a_control_does_not_give_is_not_missing(tmp_path):
    drawn = mb.generate(f"{HERE}:cases", "identity", tmp_path / "drawn")
    mb.score(drawn, f"ssim,{HERE}:letters")
    found = {(row["case"], row["metric"]): row for row in drawn.frame().iter_rows(named=True)}
    assert found["turn", "ssim"]["value"] == 1.0
    assert found["turn", "letters"]["kind"] == "not-applicable"
    told = mb.generate(f"{HERE}:cases", "empty-text", tmp_path / "told")
    assert [case.id for case in told.cases] == ["ask", "turn"]
    mb.score(told, f"ssim,{HERE}:letters")
    found = {(row["case"], row["metric"]): row for row in told.frame().iter_rows(named=True)}
    assert [found[case, "letters"]["value"] for case in ("ask", "turn")] == [0, 0]
    assert found["turn", "ssim"]["kind"] == "not-applicable"


def test_a_score_that_is_not_about_a_case_is_no_failure(tmp_path):
    run = mb.generate(f"{HERE}:cases", f"{HERE}:Unified", tmp_path / "both")
    mb.score(run, f"default,ssim_medgen,{HERE}:letters")
    found = {(row["case"], row["metric"]): row["kind"] for row in run.frame().iter_rows(named=True)}
    assert found["ask", "ssim"] == found["sharpen", "letters"] == "not-applicable"
    assert found["ask", "letters"] is found["sharpen", "ssim"] is found["turn", "letters"] is None
    # What is said aloud, and the image as it came, are parts of what was asked for.
    assert found["ask", "rouge_l"] is found["turn", "output_aspect_ratio"] is None
    material = collect([run])
    assert set(material.frame.filter(metric="ssim")["case"]) == {"sharpen"}
    # Many projections are right: likeness to the one reference describes, and ranks nobody.
    assert set(material.frame.filter(metric="ssim_described")["case"]) == {"turn"}
    # A published score ranks nobody anyway, and its mean stands beside the paper's.
    assert set(material.frame.filter(metric="ssim_medgen")["case"]) == {"sharpen", "turn"}
    assert material.aside.filter(metric="ssim").rows() == [("both", "ssim", 1)]
    assert material.delivered == {"both": (3, 3)}


def test_what_is_to_be_sharper_is_compared_on_the_grid_of_the_reference():
    case = next(case for case in cases("", None) if case.id == "sharpen")
    opened = mb.open_case(case)
    compared = opened.compared()
    assert opened.previous.shape == (40, 60, 3)
    assert compared.previous.shape == compared.reference.shape == (80, 120, 3)
    assert compared.source == opened.source
    small = np.zeros((10, 15, 3), np.uint8)
    assert compared.fit(small).shape == (80, 120, 3)
    other = mb.open_case(Case("a", case.previous, "b", reference=case.reference))
    assert other.compared() is other and other.reference.shape == (40, 60, 3)


def test_sets_without_the_new_fields_keep_their_digests():
    plain = Case("1", None, "Which?", answer="this")
    assert set(hash_case(plain).parts) == {
        *("id", "organ", "task", "bits", "prompt", "rephrased_prompt", "description", "answer")
    }
    assert hash_case(Case("1", None, "Which?", answer="this", key="x")) != hash_case(plain)


def test_the_image_as_it_came_is_there_for_who_wants_it(tmp_path):
    @mb.metric("came", "height as it came", high=1000, of="output")
    def came(case, output):
        return output.came.shape[0] * 1000 // output.image.shape[0]

    run = mb.generate(f"{HERE}:cases", f"{HERE}:Unified", tmp_path / "both")
    mb.score(run, [came])
    found = {row["case"]: row["value"] for row in run.frame().iter_rows(named=True)}
    assert found == {"ask": None, "sharpen": 500, "turn": 1000}


def test_builtin_tasks_are_listed():
    assert [one.name for one in mb.list_tasks()][:4] == ["editing", "vqa", "generation", "medgen"]
    assert find_system("identity").system.gives == ("image",)
