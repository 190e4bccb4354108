"""Auditing judges that are perfect, lenient, or silent, over a real connection."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import medebench as mb
from medebench.analysis.shares import share
from medebench.cases import CaseSet
from medebench.cli import app
from medebench.errors import InputError, MedebenchError
from medebench.judge import find_judge
from medebench.judge.rubric_files import load_rubric
from medebench.judge.wrong_texts import negated, other_side
from medebench.reporting.judge_order_table import judge_order_table, ordered_rightly
from medebench.runs.judge_controls import audit_answers
from medebench.runs.judge_trials import CONTROLS, audit_judge
from tests.judge.mixed_cases import HERE as CASES_FILE
from tests.judge.mixed_cases import cases, graded
from tests.models.server import FakeServer, always


def pixels(data):
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def answer(accuracy, quality):
    return json.dumps(
        {
            "differences": [],
            "editing_accuracy": {"reason": "so", "score": accuracy},
            "visual_quality": {"reason": "so", "score": quality},
        }
    )


def perfect(call):
    """Sees pixels: right where the output is the reference, and not what it started from."""
    before, output, reference = map(pixels, call.images)
    rough = np.abs(np.diff(output, axis=1)).mean() > 1.5 * np.abs(np.diff(before, axis=1)).mean()
    done = np.array_equal(output, reference) and not np.array_equal(before, output)
    return answer(9 if done else 0, 1 if rough and not done else 9)


def lenient(call):
    return answer(8, 8)


@pytest.fixture
def audit(small_set):
    def run(opinion, plan=None):
        with FakeServer(plan or always("ok"), answer=opinion) as server:
            judge = find_judge("openai:test", {"base_url": server.base_url("openai")})
            return audit_judge(judge, mb.load_cases(small_set)), server

    return run


@pytest.fixture(autouse=True)
def own_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))


def test_a_perfect_judge_passes(audit):
    result, server = audit(perfect)
    assert result.passed, result.to_json()
    assert "was right in 24 of 24 trials" in result.verdict()
    assert len(server.calls) == 4 * len(CONTROLS)


def test_a_lenient_judge_is_found_out(audit):
    result, _ = audit(lenient)
    failed = {one.name for one in result.results if not one.passed}
    assert failed == {"identity", "noise", "other-reference", "swapped"}
    assert not result.passed and "failed identity, noise" in result.verdict()


def test_a_judge_that_says_nothing_passes_nothing(audit):
    result, _ = audit(perfect, always("prose"))
    assert [one.right for one in result.results] == [0] * len(CONTROLS)
    assert all("could not be read" in one.wrong[0].reason for one in result.results)


def test_command(small_set):
    with FakeServer(always("ok"), answer=lenient) as server:
        words = ["judge", "audit", "--judge", "openai:test", "--cases", str(small_set)]
        words += ["--base-url", server.base_url("openai")]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 1 and "FAILED  identity: right in 0 of 4" in result.output
        result = CliRunner().invoke(app, [*words, "--json"])
        assert json.loads(result.stdout)["passed"] is False
        assert len(server.calls) == 4 * len(CONTROLS)
    result = CliRunner().invoke(app, ["judge", "audit", "--judge", "offline"])
    assert result.exit_code == 2 and "only models are audited" in result.output


def understands(call):
    """Reads what it is shown by its caption, whatever the order: a perfect judge."""
    sent = [part for message in call.body["messages"] for part in _content(message)]
    words = sent[:]
    shown = {}
    for place, part in enumerate(words[:-1]):
        for role, caption in CAPTIONS.items():
            if isinstance(part, str) and part.endswith(f": {caption}"):
                shown[role] = words[place + 1]
    same = [
        shown[made] == shown[wanted]
        for made, wanted in (("output", "reference"), ("output_text", "reference_text"))
        if made in shown
    ]
    return graded({}, 5 if all(same) else 2)(call)


def likes_what_comes_first(call):
    """Grades the first text, or else the first image, whatever it is."""
    sent = [part for message in call.body["messages"] for part in _content(message)]
    exhibits = [
        (part, sent[place + 1])
        for place, part in enumerate(sent[:-1])
        if isinstance(part, str) and part.startswith("Exhibit ") and "\n" not in part
    ]
    texts = [content for _, content in exhibits if content.startswith("<data-")]
    images = [content for _, content in exhibits if not content.startswith("<data-")]
    first = (texts or images)[0]
    return graded({}, 1 + sum(map(ord, first[-400:])) % 5)(call)


def _content(message):
    if isinstance(message["content"], str):
        return [message["content"]]
    return [one.get("text") or one["image_url"]["url"] for one in message["content"]]


CAPTIONS = load_rubric("medgen-clinical").captions


@pytest.fixture
def order():
    def run(opinion, plan=None, rubric="medgen-clinical", only=None, **options):
        with FakeServer(plan or always("ok"), answer=opinion) as server:
            given = {"base_url": server.base_url("openai"), "rubric": rubric}
            judge = find_judge("openai:test", given)
            found = cases() if only is None else cases().select(only)
            return audit_answers(judge, found, **options), server

    return run


def shares(audit):
    return {one.name: (one.right, len(one.pairs)) for one in audit.results}


def test_a_perfect_judge_puts_every_reference_first(order):
    audit, server = order(understands)
    assert audit.passed, audit.verdict()
    # 5 questions, 4 images with text, 4 edits without.
    assert shares(audit) == {
        "empty": (13, 13),
        "question": (13, 13),
        "wrong-side": (9, 9),
        "negated": (9, 9),
        "other-case": (13, 13),
    }
    assert len(server.calls) == 13 + 57 and "in 57 of 57 pairs over 13 cases" in audit.verdict()
    table = judge_order_table(audit)
    found = {row.name: row.cells[0] for row in table.rows}
    assert found["empty"].text == "100 %" and found["empty"].ends
    whole = share(np.array([True] * 13), np.arange(13), 13).interval()
    assert whole is not None and ordered_rightly(audit.results[0]).interval == whole


def test_a_lenient_judge_orders_nothing(order):
    audit, _ = order(graded({}, 4))
    assert not audit.passed
    assert {right for right, _ in shares(audit).values()} == {0}
    assert [one.tied for one in audit.results] == [13, 13, 9, 9, 13]
    assert "equal in 57" in audit.verdict() and "do not rely on its scores there" in audit.verdict()
    (first, *_) = judge_order_table(audit).rows
    assert [cell.text for cell in first.cells][1:5] == ["13", "13", "0", "0"]


def test_a_judge_that_goes_by_the_place_is_found_out(order):
    """With the reference always first, it would never have been told from a good one."""
    audit, _ = order(likes_what_comes_first)
    assert not audit.passed
    assert all(not one.passed for one in audit.results)
    every = sum(right for right, _ in shares(audit).values())
    assert 0 < every < 0.8 * 57


def test_errors_are_better_the_fewer(order):
    def count(call):
        read = json.loads(understands(call))
        wrong = int(next(iter(read.values()))["score"] < 5)
        return graded({"missed": wrong, "invented": wrong}, 0)(call)

    audit, _ = order(count, rubric="medgen-errors")
    assert audit.passed, audit.verdict()
    assert audit.reference == 0 and audit.results[0].mean == 2
    assert not order(graded({}, 1), rubric="medgen-errors")[0].passed


def test_what_is_not_read_is_not_right_and_what_is_not_answered_counts_nowhere(order):
    def plan(call):
        return "400" if any("Which side is" in text for text in call.texts) else "ok"

    audit, _ = order(understands, plan)
    assert [one.unanswered for one in audit.results] == [1, 1, 1, 1, 1]
    assert len(audit.results[0].pairs) == 12 and audit.failures.total() == 6
    assert "(5 more pairs lack a call that was answered)" in audit.verdict()
    lost, _ = order(understands, always("prose"))
    assert [one.unread for one in lost.results] == [13, 13, 9, 9, 13] and not lost.passed
    with pytest.raises(InputError, match="none of 70 calls was answered"):
        order(understands, always("400"))


def test_a_set_with_nothing_to_compare_is_refused(order):
    with pytest.raises(MedebenchError, match="takes two cases of one kind"):
        order(understands, only=["ask-0", "clean-0"])
    with pytest.raises(InputError, match="shows nothing of the cases of mixed"):
        order(understands, rubric="description")


@pytest.mark.parametrize("answers", [("A. left lung", "B. right lung"), ("A", "(b) Right lung")])
def test_another_option_is_the_wrong_answer_of_a_choice(answers):
    made = []
    several = ("A. left lung", "B. right lung")
    for number in range(2):
        case = replace(cases()["ask-0"], id=f"c{number}", choices=several, answer=answers[number])
        made.append(replace(case, task="multiple-choice"))
    chosen = CaseSet("choices", cases().root, tuple(made), "", task="medgen")
    with FakeServer(always("ok"), answer=understands) as server:
        given = {"base_url": server.base_url("openai"), "rubric": "medgen-generic"}
        audit = audit_answers(find_judge("openai:test", given), chosen)
    assert shares(audit)["other-case"] == (2, 2) and shares(audit)["negated"] == (0, 0)
    assert "was not tested on negated" in audit.verdict()


@pytest.mark.parametrize(
    ("text", "side", "contrary"),
    [
        ("Left pleural effusion.", "Right pleural effusion.", "No left pleural effusion."),
        ("There is no nodule.", None, "There is nodule."),
        ("The scan shows a cyst.", None, "The scan shows no cyst."),
        ("The heart is not enlarged.", None, "The heart is enlarged."),
        ("left", "right", "No left"),
        ("That is right.", None, "That is not right."),
        ("Yes.", None, "No"),
        ("no", None, "yes"),
        ("The mass has been removed.", None, "The mass has not been removed."),
        ("The liver has a cyst.", None, "The liver has no cyst."),
        (
            "The lesion lies in the left lobe.",
            "The lesion lies in the right lobe.",
            "The lesion does not lie in the left lobe.",
        ),
        (
            "FINDINGS:\nThere is a bulla. The left lung is clear.\n\nIMPRESSION: One bulla.",
            "FINDINGS:\nThere is a bulla. The right lung is clear.\n\nIMPRESSION: One bulla.",
            "FINDINGS:\nThere is no bulla. The left lung is not clear.\n\n"
            "IMPRESSION: No one bulla.",
        ),
        ("A mass grows into every layer of the wall of the colon", None, None),
        ("42", None, None),
        ("", None, None),
    ],
)
def test_wrong_texts_are_wrong(text, side, contrary):
    assert other_side(text) == side and negated(text) == contrary


def test_the_command_prints_the_order_of_known_answers():
    with FakeServer(always("ok"), answer=graded({}, 4)) as server:
        words = ["judge", "audit", "--judge", "openai:test", "--cases", f"{CASES_FILE}:cases"]
        words += ["--base-url", server.base_url("openai")]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 1, result.output
        assert "worse answer" in result.output and "FAILED" in result.output
        assert "rubric medgen-clinical v1" in result.output
        calls = len(server.calls)
        result = CliRunner().invoke(app, [*words, "--json"])
        found = json.loads(result.stdout)
        assert found["passed"] is False and found["order"]["rows"][0]["tied"] == 13
        assert len(server.calls) == calls
