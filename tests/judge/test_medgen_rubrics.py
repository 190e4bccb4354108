"""The rubrics of MedGEN-Bench: what is asked of which output, and what becomes of the answers."""

from __future__ import annotations

import json
import pickle
import re
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import medebench as mb
from medebench.cases.case import Case
from medebench.errors import InputError
from medebench.judge import find_judge
from medebench.judge.parser import parse
from medebench.judge.question_form import Slot
from medebench.judge.rubric_files import builtin_rubrics, load_rubric
from medebench.judge.shown import LONGEST_TEXT, View
from medebench.judge.shown_order import by_role
from medebench.metrics import Undefined
from medebench.models import Caller
from medebench.reporting import build_report
from medebench.reporting.collect import collect
from medebench.study.design import usual_questions
from medebench.tasks import find_task
from tests.conftest import draw
from tests.judge.mixed_cases import HERE, TURNS, cases, graded, keys_of
from tests.models.server import FakeServer, always

MEDGEN = [name for name in builtin_rubrics() if name.startswith("medgen-")]
#: The dimensions as the versions of the benchmark name them, and the kinds of errors of ours.
GENERIC = (
    "coherence",
    "visual-textual-alignment",
    "content-accuracy",
    "relevance",
    "format-consistency",
)
CLINICAL = (
    "anatomical-accuracy",
    "clinical-finding-accuracy",
    "instruction-compliance",
    "cross-modal-consistency",
    "hallucination-omission-control",
)
ERRORS = ("missed", "invented", "wrong-side", "wrong-place", "wrong-severity")
RANGES = {
    "medgen-clinical": (1, 5),
    "medgen-clinical-10": (1, 10),
    "medgen-generic": (1, 10),
    "medgen-generic-5": (1, 5),
    "medgen-errors": (0, 20),
}
#: How a judge may call them, as the labels of the benchmark's versions go.
SPELT = {
    "coherence": "Coherence",
    "visual-textual-alignment": "Visual-Textual Alignment",
    "content-accuracy": "Content Accuracy",
    "relevance": "Relevance/Responsiveness",
    "format-consistency": "Consistency of Type and Format",
    "anatomical-accuracy": "Anatomical Accuracy",
    "clinical-finding-accuracy": "Clinical Finding Accuracy",
    "instruction-compliance": "Instruction Compliance",
    "cross-modal-consistency": "Cross-Modal Consistency",
    "hallucination-omission-control": "Hallucination/Omission Control",
    "missed": "Missed findings",
    "invented": "Invented findings",
    "wrong-side": "Wrong side",
    "wrong-place": "Wrong location",
    "wrong-severity": "Wrong severity",
}
ALL = {
    *("previous", "output", "output_text", "reference", "reference_text"),
}
INPUT, OTHER = Path("/data/in.png"), Path("/data/out.png")
ASK = Case("ask", INPUT, "Which side?", task="question-answering", answer="On the left.")
EDIT = Case("edit", INPUT, "Remove the noise.", task="noise-reconstruction", reference=OTHER)
TURN = replace(EDIT, id="turn", task="3d-to-2d-projection", answer="The left kidney.")


def texts(filled):
    parts = [part for turn in filled.turns for part in turn.parts]
    return "\n".join([filled.system, *(part for part in parts if isinstance(part, str))])


def family(name):
    return name.removesuffix("-no-reference")


@pytest.fixture(autouse=True)
def own_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def judged(tmp_path):
    """A run over the mixed set, judged by a server; the rows by (case, score)."""

    def run_it(answer, plan=None, rubric="medgen-clinical", system=f"{HERE}:Unified", **options):
        run = mb.generate(f"{HERE}:cases", system, tmp_path / "run")
        with FakeServer(plan or always("ok"), answer=answer) as server:
            given = {"base_url": server.base_url("openai"), "rubric": rubric, **options}
            mb.score(run, [], find_judge("openai:test", given))
        return run, rows(run), server

    return run_it


def rows(run):
    """By case and score (without the judge), the rows of the ledger."""
    found = {}
    for row in run.contents().scores:
        found[row.case_id, row.metric.partition("_")[0]] = row
    return found


def test_there_are_the_published_dimensions_on_both_scales_with_and_without_reference():
    assert {family(name) for name in MEDGEN} == set(RANGES)
    for name, limits in RANGES.items():
        with_it, without = load_rubric(name), load_rubric(f"{name}-no-reference")
        assert with_it.limits == without.limits == limits
        assert (with_it.reference, without.reference) == ("required", "never")
        assert with_it.scores == without.scores
    assert load_rubric("medgen-clinical").scores == load_rubric("medgen-clinical-10").scores
    assert load_rubric("medgen-clinical").scores == CLINICAL
    assert load_rubric("medgen-generic").scores == load_rubric("medgen-generic-5").scores == GENERIC
    assert load_rubric("medgen-errors").scores == ERRORS
    assert len({load_rubric(name).hash for name in MEDGEN}) == len(MEDGEN) == 10


@pytest.mark.parametrize("name", MEDGEN)
def test_its_whole_range_is_taken_and_nothing_beyond(name):
    rubric = load_rubric(name)
    low, top = rubric.limits
    score = rubric.scores[0]
    key = rubric.vocabulary.labels[score].key
    for value in (low, top):
        read = parse(json.dumps({key: {"score": value}}), [score], rubric.vocabulary)
        assert read.scores[score].value == value
        assert rubric.share(value) == (value if rubric.counts else float(value == top))
    for value in (low - 1, top + 1):
        read = parse(json.dumps({key: {"score": value}}), [score], rubric.vocabulary)
        assert not read.scores and f"outside {low}-{top}" in read.problems[0]
    told = texts(rubric.fill(TURN, ALL))
    assert f"from {low} to {top}" in told and "{" + "low}" not in told


@pytest.mark.parametrize("score", [*GENERIC, *CLINICAL, *ERRORS])
def test_the_published_labels_are_read(score):
    rubric = next(r for r in map(load_rubric, RANGES) if score in r.scores)
    for said in (f"**{SPELT[score]}**: 3", json.dumps({SPELT[score]: 3})):
        read = parse(said, [score], rubric.vocabulary)
        assert read.scores[score].value == 3, (said, read.problems)


@pytest.mark.parametrize("name", MEDGEN)
def test_fault_20_the_input_is_always_shown_and_the_reference_only_where_named(name):
    rubric = load_rubric(name)
    expected = {
        "ask": {"previous", "output_text", "reference_text"},
        "edit": {"previous", "output", "reference"},
        "turn": ALL,
    }
    for case in (ASK, EDIT, TURN):
        shown = set(rubric.fill(case, ALL).roles)
        wanted = {
            role
            for role in expected[case.id]
            if rubric.reference == "required" or not role.startswith("reference")
        }
        assert shown == wanted, case.id
        told = texts(rubric.fill(case, ALL))
        assert ("would be accepted" in told) == (rubric.reference == "required")
        assert "ground truth" not in told.lower() and "generated" not in told.lower()
    with pytest.raises(Undefined, match="no previous"):
        rubric.fill(EDIT, ALL - {"previous"})


@pytest.mark.parametrize("name", MEDGEN)
def test_fault_21_agreement_of_image_and_text_is_asked_only_where_both_are(name):
    rubric = load_rubric(name)
    both = {"cross-modal-consistency", "visual-textual-alignment"} & set(rubric.scores)
    for case in (ASK, EDIT):
        filled = rubric.fill(case, ALL)
        assert set(filled.scores) == set(rubric.scores) - both
        keys = [rubric.vocabulary.labels[one].key for one in both]
        assert not any(key in texts(filled) for key in keys)
        assert not set(keys) & set(filled.turns[0].schema["required"])
    assert rubric.fill(TURN, ALL).scores == rubric.scores
    assert len(both) == ("errors" not in name)


def test_a_text_that_nobody_asked_for_is_not_shown(judged):
    _, found, server = judged(graded({}, 3))
    kinds = []
    for call in server.calls:
        told = "\n".join(call.texts)
        edit = "Remove the artifact" in told
        turn = any(prompt in told for prompt, _ in TURNS)
        kinds.append((edit, turn))
        assert ("A finding on the left" in told) != edit
        assert len(call.images) == (3 if edit or turn else 1)
        assert ("cross_modal_consistency" in keys_of(call)) == turn
    assert kinds.count((True, False)) == kinds.count((False, True)) == 4
    assert found["clean-0", "cross-modal-consistency"].reason.kind == "not-applicable"


def test_fault_13_a_dimension_that_was_not_asked_is_averaged_nowhere(judged):
    """The reference's code still averages keys that it does not ask for any more, as 0."""
    values = {"anatomical_accuracy": 5, "cross_modal_consistency": 1}
    run, found, _ = judged(graded(values, 3))
    for number in range(4):
        assert found[f"clean-{number}", "overall"].value == pytest.approx((1 + 0.5 * 3) / 4)
        assert found[f"turn-{number}", "overall"].value == pytest.approx((1 + 0.5 * 3 + 0) / 5)
        assert found[f"clean-{number}", "cross-modal-consistency"].value is None
    material = collect([run])
    name = next(s.name for s in material.scores if s.dimension == "cross-modal-consistency")
    assert set(material.frame.filter(metric=name)["case"]) == {f"turn-{n}" for n in range(4)}
    assert [row[-1] for row in material.aside.filter(metric=name).rows()] == [9]
    stale = {"content-accuracy", "coherence", "relevance"}
    assert not stale & {score for _, score in found}


def test_columns_are_called_as_the_criteria_call_them(judged):
    run, *_ = judged(graded({}, 3))
    labels = {one.dimension: one.label for one in collect([run]).scores}
    assert labels["hallucination-omission-control"] == "Hallucination and omission control"
    assert labels["cross-modal-consistency"] == "Cross-modal consistency"
    assert labels["overall"] == "Overall"


def test_the_overall_is_ours_and_the_judges_own_stands_beside(judged):
    given = {"overall": 5}
    run, found, _ = judged(graded(given, 2))
    row = found["turn-1", "overall"]
    assert row.value == pytest.approx(0.25) and row.detail["own"] == 1.0
    assert row.detail["over"] == list(CLINICAL)
    assert found["ask-1", "overall"].detail["over"] == [
        one for one in CLINICAL if one != "cross-modal-consistency"
    ]
    page = build_report([run], run.path.parent / "report", published=False)
    assert "computed from them" in page.index.read_text("utf-8")
    details = (page.index.parent / "assets" / "details" / "0.js").read_text("utf-8")
    assert "own opinion of the whole, which is not used" in details


def test_a_judge_without_an_opinion_of_the_whole_loses_nothing(judged):
    def answer(call):
        asked = [key for key in keys_of(call) if key != "overall"]
        return json.dumps({key: {"reason": "so", "score": 4} for key in asked})

    _, found, server = judged(answer)
    row = found["ask-0", "overall"]
    assert row.value == 0.75 and "own" not in row.detail
    # It is not worth a second question.
    assert len(server.calls) == 13


def test_an_overall_of_some_is_none(judged):
    """A judge that leaves one out, however often it is asked, gets no mean of the rest."""

    def answer(call):
        asked = [key for key in keys_of(call) if key != "instruction_compliance"]
        return json.dumps({key: {"reason": "so", "score": 4} for key in asked})

    _, found, _ = judged(answer)
    assert found["ask-0", "anatomical-accuracy"].value == 0.75
    assert found["ask-0", "instruction-compliance"].reason.kind == "unanswered"
    assert found["ask-0", "overall"].value is None
    assert found["ask-0", "overall"].reason.kind == "unanswered"


def test_counts_stay_counts_and_are_summed(judged):
    values = {"missed": 2, "wrong_side": 1, "wrong_severity": 4}
    run, found, _ = judged(graded(values, 0), rubric="medgen-errors")
    assert found["ask-2", "missed"].value == 2 and found["ask-2", "invented"].value == 0
    assert found["ask-2", "errors"].value == 7
    (score,) = [one for one in collect([run]).scores if one.dimension == "errors"]
    assert (score.better, score.low, score.high, score.text(7.0)) == ("lower", 0, 100, "7.00")
    (missed,) = [one for one in collect([run]).scores if one.dimension == "missed"]
    assert (missed.better, missed.high, missed.label) == ("lower", 20, "Missed")


@pytest.mark.parametrize(
    ("said", "problem"),
    [(2.5, "is not a whole number"), ("2/10", "not given out of 20"), (21, "outside 0-20")],
)
def test_what_is_no_count_is_none(said, problem):
    rubric = load_rubric("medgen-errors")
    read = parse(json.dumps({"missed": {"score": said}}), ["missed"], rubric.vocabulary)
    assert not read.scores and problem in read.problems[0]


def test_fault_19_the_order_is_drawn_recorded_and_undone(judged):
    """The reference's code shows what is right first, always."""

    def answer(call):
        shown = "\n".join(call.texts)
        which = re.search(r"(Exhibit \d): the words that were returned", shown)
        spoken = which[1] if which else "Exhibit 1"
        return json.dumps(
            {key: {"reason": f"{spoken} is vague.", "score": 3} for key in keys_of(call)}
        )

    _, found, _ = judged(answer)
    orders = []
    for number in range(4):
        row = found[f"turn-{number}", "anatomical-accuracy"]
        assert row.detail["reason"].endswith("[output text] is vague.")
        ((order),) = row.detail["order"]
        assert set(order) == ALL
        asked = row.detail["asked"]
        for place, role in enumerate(order, 1):
            caption = load_rubric("medgen-clinical").captions[role]
            assert f"Exhibit {place}: {caption}" in asked
        orders.append(tuple(order))
    assert len(set(orders)) > 1


def test_the_order_is_the_same_for_every_system_and_another_for_every_repeat(judged):
    rubric = load_rubric("medgen-clinical")
    first, again = (rubric.fill(TURN, ALL, "turn  0") for _ in range(2))
    assert first == again
    seen = {rubric.fill(TURN, ALL, f"turn  {n}").roles for n in range(40)}
    for role in ("output", "reference", "output_text"):
        places = {roles.index(role) for roles in seen}
        assert len(places) > 1, role
    _, found, _ = judged(graded({}, 3), repeats=3)
    row = found["turn-0", "anatomical-accuracy"]
    assert len(row.detail["order"]) == 3
    assert found["turn-0", "overall"].detail["values"] == [0.5, 0.5, 0.5]


def test_several_inputs_stay_in_their_order_and_options_come_first():
    case = replace(ASK, images={"second": OTHER, "third": OTHER}, choices=("A. left", "B. right"))
    there = ALL | {"second", "third", "choices"}
    for seed in map(str, range(10)):
        filled = load_rubric("medgen-generic").fill(case, there, seed)
        inputs = [role for role in filled.roles if role in ("previous", "second", "third")]
        assert inputs == ["previous", "second", "third"] and filled.roles[0] == "choices"
        assert "the task is about (2 of 3)" in texts(filled)
        assert "choices" not in filled.labelled


def test_labels_are_undone_only_where_they_are_labels():
    labelled = {"output": "Exhibit 2", "previous": "Exhibit 1"}
    said = "Exhibit 1 and exhibit 2 differ; Image 2 of the question and Exhibit 7 do not."
    told = by_role(said, labelled)
    assert told == (
        "Exhibit 1 [input] and exhibit 2 [output image] differ; "
        "Image 2 of the question and Exhibit 7 do not."
    )
    assert by_role(told, labelled) == told


def test_fault_16_one_bad_image_costs_one_judgement_and_no_neighbours(tmp_path):
    """In the reference's code the whole batch is lost."""
    run = mb.generate(f"{HERE}:cases", f"{HERE}:Unified", tmp_path / "run")
    (run.path / "edits" / "clean-1_0.png").write_bytes(b"\x89PNG\r\n\x1a\nno image")

    def answer(call):
        # Told by the output's own text or by how many images there are.
        number = re.search(r"number (\d)", "\n".join(call.texts))
        value = 1 + int(number[1]) if number else 3
        return json.dumps({key: {"reason": "so", "score": value} for key in keys_of(call)})

    with FakeServer(always("ok"), answer=answer) as server:
        judge = find_judge(
            "openai:test", {"base_url": server.base_url("openai"), "rubric": "medgen-clinical"}
        )
        mb.score(run, [], judge)
        assert len(server.calls) == 12
    found = rows(run)
    assert found["clean-1", "overall"].value is None
    assert found["clean-1", "overall"].reason.kind == "unreadable"
    for number in range(4):
        assert found[f"turn-{number}", "overall"].value == number / 4
        assert found[f"ask-{number}", "overall"].value == number / 4
        if number != 1:
            assert found[f"clean-{number}", "overall"].value == 0.5


def test_fault_16_an_answer_that_cannot_be_read_is_a_reason_and_never_a_number(judged):
    _, found, server = judged(graded({}, 3), plan=always("prose"))
    assert {row.value for row in found.values()} == {None}
    kinds = {row.reason.kind for (_, score), row in found.items() if score == "overall"}
    assert kinds == {"unanswered"}
    assert found["ask-0", "cross-modal-consistency"].reason.kind == "not-applicable"
    assert len(server.calls) == 13 * 3


def test_what_was_read_after_a_complaint_is_kept_with_the_own_opinion(tmp_path):
    """The second answer completes the first; together they are kept as one, own opinion and all."""
    first = {"anatomical_accuracy": {"reason": "so", "score": 5}, "overall": {"score": 2}}

    def answer(call):
        asked_again = len(call.body["messages"]) > 2
        return graded({"overall": 4}, 3)(call) if asked_again else json.dumps(first)

    runs = [
        mb.generate(f"{HERE}:cases", f"{HERE}:Unified", tmp_path / name) for name in ("one", "two")
    ]
    with FakeServer(always("ok"), answer=answer) as server:
        options = {"base_url": server.base_url("openai"), "rubric": "medgen-clinical"}
        for run in runs:
            mb.score(run, [], find_judge("openai:test", options))
            row = rows(run)["ask-0", "overall"]
            assert rows(run)["ask-0", "anatomical-accuracy"].value == 1.0
            assert row.value == pytest.approx((1 + 3 * 0.5) / 4) and row.detail["own"] == 0.25
            # The second run shows the same and is answered from what was kept.
            assert len(server.calls) == 26


def test_an_output_that_lacks_a_part_gets_a_reason():
    rubric = load_rubric("medgen-clinical")
    with pytest.raises(Undefined) as caught:
        rubric.fill(TURN, ALL - {"output_text"})
    assert caught.value.args[0].kind == "no-part"
    with pytest.raises(Undefined, match="'medgen-clinical-no-reference'"):
        rubric.fill(ASK, ALL - {"reference_text"})
    load_rubric("medgen-clinical-no-reference").fill(ASK, {"previous", "output_text"})


def test_a_case_of_another_set_is_taken_for_what_it_asks():
    rubric = load_rubric("medgen-generic")
    plain = replace(TURN, task="")
    assert rubric.fill(plain, ALL).scores == GENERIC
    edit = replace(EDIT, task="")
    assert set(rubric.fill(edit, {"previous", "output", "reference"}).roles) == {
        *("previous", "output", "reference")
    }


def test_context_can_be_asked_of_edits_alone(tmp_path):
    fields = {
        "extends": "medgen-clinical",
        "name": "with-context",
        "version": 1,
        "scores": ["anatomical-accuracy", "surroundings"],
        "parts": {"surroundings": ["image"]},
        "when": {"surroundings": ["editing"]},
        "criteria": {"surroundings": "Surroundings: is all else as in the input?"},
    }
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(fields), "utf-8")
    rubric = load_rubric(tmp_path / "mine.yaml")
    asked = {case.id: rubric.fill(case, ALL).scores for case in (ASK, EDIT, TURN)}
    assert asked["edit"] == ("anatomical-accuracy", "surroundings")
    assert asked["ask"] == asked["turn"] == ("anatomical-accuracy",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parts": {"beauty": ["image"]}}, "parts.beauty: is none of the scores"),
        ({"parts": {"missed": ["sound"]}}, "parts.missed.0: input should be 'image' or 'text'"),
        ({"when": {"missed": ["painting"]}}, "when.missed.0: input should be"),
        ({"when": {"missed": ["vqa"]}, "shows": "all"}, "shows: must be 'asked'"),
        ({"overall": "mean"}, "counts: need a scale from 0, and 'overall: sum'"),
        ({"scale": "1-5"}, "counts: need a scale from 0"),
        ({"counts": False}, "overall: only counts are summed"),
        ({"step1": "Look."}, "shuffled: works without step1"),
        ({"scores": ["errors"], "criteria": {"errors": "x"}}, "scores: 'errors' is computed"),
    ],
)
def test_mistakes_in_the_new_fields_are_one_line(changes, message, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({"extends": "medgen-errors", "name": "mine", **changes}))
    with pytest.raises(InputError) as caught:
        load_rubric(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_tasks_are_judged_by_it_and_people_are_asked_the_same():
    for name in ("vqa", "generation", "medgen"):
        assert find_task(name).rubric == "medgen-clinical"
    asked = [one.key for one in usual_questions(find_task("vqa"))]
    assert asked == [one for one in CLINICAL if one != "cross-modal-consistency"]
    questions = usual_questions(find_task("generation"))
    assert [one.key for one in questions] == list(CLINICAL)
    assert not any("lowest" in one.hint or "highest" in one.hint for one in questions)


def test_what_is_shown_travels_and_holds_nothing_of_the_case(tmp_path):
    case = mb.open_case(next(one for one in cases() if one.id == "turn-0"))
    with FakeServer(answer=graded({}, 3)) as server:
        options = {"base_url": server.base_url("openai"), "rubric": "medgen-clinical"}
        judge = find_judge("openai:test", options)
        shown = pickle.loads(pickle.dumps(judge.view)).show(case, mb.Output(draw(3), "A finding."))
        with Caller(judge.client) as caller:
            ((_, verdict),) = caller.run(lambda one: judge.assess(one, caller), [shown])
    assert statistics.fmean([0.5]) == verdict.verdicts["overall_openai:test+medgen-clinical"].value
    (call,) = server.calls
    sent = "\n".join(call.texts)
    assert not any(secret in sent for secret in ("turn-0", "projection", ".png", "unified"))
    assert not any(isinstance(part, Slot) for part in call.texts)


def test_a_text_without_end_is_shown_in_part():
    case = mb.open_case(next(one for one in cases() if one.id == "ask-0"))
    view = View(load_rubric("medgen-clinical"), 256)
    shown = view.show(case, mb.Output(text="left " * 10_000)).roles["output_text"]
    assert len(shown) < LONGEST_TEXT + 60 and shown.endswith(
        "[20,000 more characters are not shown]"
    )
    whole = view.show(case, mb.Output(text="left " * 6_000)).roles["output_text"]
    assert whole == "left " * 6_000
