"""Scores of answers: right, wrong and unread told apart, and nothing scored out of nothing."""

from __future__ import annotations

import pytest

import medebench as mb
from medebench.cases import Case
from medebench.metrics import find_metric
from medebench.metrics.metric import Undefined
from medebench.outputs import Output
from medebench.reason import Reason

CHOICES = ("A. Pleural effusion", "B. Pneumothorax", "C. Pneumonia", "D. Normal chest")
ASK = Case("1", None, "What is seen?", choices=CHOICES, answer="B. Pneumothorax")
GAP = Case("2", None, "The opacity lies in the ____ lung.", answer="left")
OPEN = Case(
    "3",
    None,
    "Which side?",
    answer="The effusion is on the left side.",
    key="left",
    extra={"metadata": {"original_options": ["A. left", "B. right"]}},
)


def measure(name, case, answer, **detail):
    given = Output(text=answer, detail=detail)
    return find_metric(name).measure(mb.open_case(case), given)


def kind_of(name, case, output):
    with pytest.raises(Undefined) as found:
        find_metric(name).measure(mb.open_case(case), output)
    (why,) = found.value.args
    return why.kind if isinstance(why, Reason) else "undefined"


@pytest.mark.parametrize(
    ("answer", "value", "status"),
    [
        ("B", 1.0, "read"),
        ("Pneumothorax.", 1.0, "read"),
        ("The answer is C.", 0.0, "read"),
        ("B. Pneumonia", 0.0, "conflict"),
        ("B or C", 0.0, "several"),
        ("E", 0.0, "out_of_range"),
        ("A fracture is seen.", 0.0, "not_read"),
        ("I'm sorry, I can't help with that.", 0.0, "refused"),
        ("<think>The answer is B", 0.0, "cut"),
        ("", 0.0, "not_read"),
    ],
)
def test_wrong_and_unread_are_told_apart(answer, value, status):
    found = measure("choice_accuracy", ASK, answer)
    assert (found.value, found.detail["status"]) == (value, status)
    assert found.detail["chance"] == 0.25 and found.detail["right"] == "B"
    assert ("read" in found.detail) == (status == "read")


@pytest.mark.parametrize(
    "detail", [{"truncated": True}, {"finish": "length"}, {"finish": "MAX_TOKENS"}]
)
def test_an_answer_that_was_cut_is_not_read(detail):
    for name, case, answer in (
        ("choice_accuracy", ASK, "B. Pneumothorax"),
        ("gap_accuracy", GAP, "left"),
        ("key_accuracy", OPEN, "left"),
    ):
        found = measure(name, case, answer, **detail)
        assert (found.value, found.detail["status"]) == (0.0, "cut")
        assert measure(name, case, answer, finish="stop").value == 1.0


def test_gaps_and_keys():
    assert measure("gap_accuracy", GAP, "The missing word is **left**.").value == 1.0
    assert measure("gap_accuracy", GAP, "right").value == 0.0
    assert measure("gap_accuracy", GAP, "not left").value == 0.0
    assert measure("gap_accuracy", GAP, "").detail["status"] == "not_read"
    assert measure("key_accuracy", OPEN, "There is fluid on the left.").value == 1.0
    assert measure("key_accuracy", OPEN, "On the right side.").detail["status"] == "not_stated"
    assert measure("key_accuracy", OPEN, "Left and right.").detail["status"] == "several"
    assert measure("key_accuracy", OPEN, "No fluid on the left.").value == 0.0


def test_a_metric_is_about_its_kind_of_answer():
    for name, case in (("choice_accuracy", GAP), ("gap_accuracy", OPEN), ("key_accuracy", ASK)):
        assert kind_of(name, case, Output(text="B")) == "not-applicable"
    assert kind_of("key_accuracy", Case("1", None, "Why?", answer="x"), Output(text="x")) == (
        "not-applicable"
    )
    assert kind_of("choice_accuracy", ASK, Output()) == "no-part"
    wrong = Case("1", None, "Which?", choices=CHOICES, answer="B. Pneumonia")
    assert kind_of("choice_accuracy", wrong, Output(text="B")) == "undefined"
    lonely = Case("1", None, "Which?", choices=CHOICES[:1], answer="A. Pleural effusion")
    assert kind_of("choice_accuracy", lonely, Output(text="A")) == "undefined"


def test_words_shared_with_the_reference():
    case = Case("1", None, "Why?", answer="left lower lobe")
    assert measure("exact_match", case, "Left lower lobe.").value == 1.0
    assert measure("exact_match", case, "lobe lower left").value == 0.0
    assert measure("token_f1", case, "Lobe, lower left").value == 1.0
    assert measure("token_f1", case, "left lung").value == pytest.approx(2 * 1 / 5)
    assert measure("token_f1", case, "").value == 0.0
    empty = Case("1", None, "Why?", answer="...")
    assert kind_of("token_f1", empty, "") == kind_of("exact_match", empty, "") == "undefined"
    assert kind_of("token_f1", Case("1", None, "Why?"), "left") == "undefined"


def test_the_form_of_an_answer():
    case = Case("1", None, "Why?", answer="x")
    assert measure("answer_length", case, "<think>long thought</think>Two words.").value == 2
    assert measure("answer_length", case, "").value == 0
    german = measure("answer_language", case, "Das Herz ist nicht vergrößert und die Lunge frei.")
    assert (german.value, german.detail["language"]) == (1.0, "de")
    chinese = measure("answer_language", case, "左肺 X")
    assert chinese.value == pytest.approx(1 / 3) and chinese.detail["language"] == ""
    assert kind_of("answer_language", case, "3.5") == "undefined"
    assert measure("answer_refused", case, "I'm sorry, I can't help with that.").value == 1.0
    assert measure("answer_refused", case, "FINDINGS: I cannot see a fracture.").value == 0.0
    assert measure("answer_refused", ASK, "Sorry for the delay. The answer is B.").value == 0.0


def test_scores_of_answers_in_a_run(tmp_path):
    names = "choice_accuracy,gap_accuracy,answer_refused"
    run = mb.generate(f"{__file__}:cases", f"{__file__}:Talks", tmp_path / "run")
    mb.score(run, names)
    found = {(row["case"], row["metric"]): row for row in run.frame().iter_rows(named=True)}
    assert found["ask", "choice_accuracy"]["value"] == 1.0
    assert found["gap", "choice_accuracy"]["kind"] == "not-applicable"
    assert found["gap", "gap_accuracy"]["value"] == 0.0
    with run.ledger() as ledger:
        told = {(row.case_id, row.metric): row.detail for row in ledger.scores()}
    assert told["ask", "choice_accuracy"]["status"] == "read"
    assert told["gap", "gap_accuracy"]["read"] == "b"


def cases(text, progress):
    from pathlib import Path

    from medebench.cases import CaseSet

    made = (
        Case("ask", None, "Which?", choices=CHOICES, answer="B. Pneumothorax"),
        Case("gap", None, "It is ____.", answer="left"),
    )
    return CaseSet("asked", Path(__file__).parent, made, text, task=f"{__file__}:ASKED")


ASKED = mb.Task("asked", "questions without images", gives=("text",), takes=("prompt",))


class Talks(mb.System):
    gives = ("text",)

    def generate(self, request):
        return "b"
