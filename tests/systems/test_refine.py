"""`refine:`: attempts, the judge that looks at them, and what becomes of its complaints."""

from __future__ import annotations

import base64
import logging
import threading

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.errors import InputError, NotReadyError
from medebench.judge import assess_now, find_judge
from medebench.models import encode_for_model
from medebench.phantoms.drawings import write_phantoms
from medebench.runs.generate_run import NotAllTriedError, estimate_generation
from medebench.systems import case_seed, find_system
from medebench.systems.composed import rewriter as rewrite_rules
from medebench.systems.composed.drafts import Attempt, Opinion, best_of
from tests.conftest import write_set
from tests.models.server import FakeServer
from tests.systems.test_http import Server, as_json, inverted
from tests.systems.wrapped import (
    at,
    details,
    everything_in,
    files,
    order,
    outputs,
    surround,
    verdict,
    wants,
    write_editors,
)

QUICK = "phantom-editor:steps=2,size=64"
JUDGES = """
from medebench.judge import Verdict


class Mean:
    name, summary, stand_in, scores = "mean-1", "how bright", True, ("ea_mean", "vq_mean")
    sees = ()

    def judge(self, case, output):
        return {"ea_mean": Verdict(output.mean() / 1000), "vq_mean": Verdict(0.5)}


class Silent(Mean):
    name, scores = "silent-1", ("vq_silent",)


class Unwilling(Mean):
    name = "unwilling-1"
    seen = 0

    def judge(self, case, output):
        type(self).seen += 1
        if type(self).seen == 1:
            raise ValueError("out of order")
        return {"ea_mean": Verdict(0.3), "vq_mean": Verdict(7.0)}
"""


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    surround(tmp_path, monkeypatch)


@pytest.fixture
def scripted(tmp_path):
    named = write_editors(tmp_path)
    return lambda shares: f"{named('Scripted')}:shares={shares}"


@pytest.fixture
def named(tmp_path):
    return write_editors(tmp_path)


@pytest.fixture
def judges(tmp_path):
    path = tmp_path / "own_judges.py"
    path.write_text(JUDGES)
    return lambda name: f"{path}:{name}"


@pytest.fixture(scope="module")
def phantoms(tmp_path_factory):
    return write_phantoms(tmp_path_factory.mktemp("few") / "phantoms", 3, workers=1)


def one(run):
    (detail,) = details(run)
    return detail


def texts(detail):
    return [attempt["instruction"] for attempt in detail["attempts"]]


def test_every_attempt_of_a_real_editor_is_kept(phantoms, tmp_path):
    call = f"refine:enough=1,{QUICK}"
    run = mb.edit(phantoms, call, tmp_path / "run")
    plain = mb.edit(phantoms, QUICK, tmp_path / "plain")
    cases = mb.load_cases(phantoms)
    for (case_id, k), row in outputs(run).items():
        detail, case = row.detail, mb.open_case(cases[case_id])
        assert detail["asked"] == case.case.prompt == texts(detail)[0]
        assert detail["stopped"] == "no rounds left" and detail["judge"] == "offline-2"
        assert len(detail["attempts"]) == 3 and len(set(texts(detail))) == 3
        assert [a["seed"] for a in detail["attempts"]] == [
            row.seed,
            case_seed(row.seed, "attempt", 1),
            case_seed(row.seed, "attempt", 2),
        ]
        judge = find_judge("offline")
        kept = [run.attempt_path(case_id, k, a["picture"]) for a in detail["attempts"]]
        for path, attempt in zip(kept, detail["attempts"], strict=True):
            with Image.open(path) as picture:
                scores = assess_now(judge, case, np.asarray(picture)).verdicts
            assert attempt["ea"] == pytest.approx(scores["intended_offline"].value)
            assert attempt["vq"] == pytest.approx(scores["vq_offline"].value)
        assert not run.attempt_path(case_id, k, 3).exists()
        tried = detail["attempts"]
        best = max(range(3), key=lambda n: (tried[n]["ea"], tried[n]["vq"], -n))
        assert detail["chosen"] == best and detail["instruction"] == texts(detail)[best]
        assert run.output_path(case_id, k).read_bytes() == kept[best].read_bytes()
        # The first attempt is what the editor makes when it is alone.
        assert kept[0].read_bytes() == plain.output_path(case_id, k).read_bytes()
        assert run.attention_path(case_id, k).is_file() and "concept" in detail["attention"]
    assert run.info.sees == ["reference", "roi"] and run.info.judged_by == "offline-2"
    again = mb.edit(phantoms, call, tmp_path / "again")
    assert files(again) == files(run) and details(again) == details(run)


def test_good_enough_ends_the_rounds(make_set, tmp_path, scripted):
    cases = make_set(1)
    run = mb.edit(cases, "refine:reference", tmp_path / "run")
    assert one(run)["stopped"] == "good enough" and len(one(run)["attempts"]) == 1
    run = mb.edit(cases, f"refine:rounds=5,{scripted('0.1/0.2/0.7/0.9')}", tmp_path / "late")
    assert [a["ea"] >= 0.8 for a in one(run)["attempts"]] == [False, False, True]
    run = mb.edit(cases, f"refine:rounds=5,enough=0.3,{scripted('0.1/0.3/0.9')}", tmp_path / "l")
    assert len(one(run)["attempts"]) == 2
    run = mb.edit(cases, f"refine:rounds=0,{scripted('0.1')}", tmp_path / "none")
    assert len(one(run)["attempts"]) == 1 and one(run)["stopped"] == "no rounds left"


def test_the_best_or_the_last_is_kept(make_set, tmp_path, scripted):
    shares = scripted("0.2/0.45/0.3")
    best = mb.edit(make_set(1), f"refine:{shares}", tmp_path / "best")
    last = mb.edit(make_set(1), f"refine:keep=last,{shares}", tmp_path / "last")
    assert one(best)["chosen"] == 1 and one(last)["chosen"] == 2
    for run in (best, last):
        kept = run.attempt_path("1", 0, one(run)["chosen"])
        assert kept.read_bytes() == run.output_path("1", 0).read_bytes()


def test_the_earliest_of_equals_is_best():
    def tried(ea, vq):
        return Attempt("x", 1, made=mb.Edit(np.zeros((2, 2, 3), np.uint8)), opinion=Opinion(ea, vq))

    refused = Attempt("x", 1, reason="no")
    assert best_of([tried(0.5, 0.5), tried(0.5, 0.5)], "best") == 0
    assert best_of([tried(0.5, 0.5), tried(0.5, 0.6), tried(0.4, 1)], "best") == 1
    assert best_of([tried(0.5, None), tried(0.5, 0.0)], "best") == 1
    assert best_of([tried(None, 1.0), tried(0.0, 0.0)], "best") == 1
    assert best_of([refused, tried(None, 0.1), tried(None, 0.9)], "best") == 1
    assert best_of([tried(0.5, 0.5), refused], "last") == 0
    assert best_of([refused], "best") is None


def test_an_editor_that_does_nothing_is_told_so(make_set, tmp_path):
    run = mb.edit(make_set(1), "refine:rounds=3,identity", tmp_path / "run")
    said = texts(one(run))
    assert said[0] == "Remove the mole number 1."
    assert said[1] == "Remove the mole number 1. Make this change plain to see."
    assert "strong and unmistakable" in said[2] and said[3] == said[2]
    told = [attempt.get("rewriter") for attempt in one(run)["attempts"]]
    assert told[0] is None and told[1] == {"rules": "rules v1", "findings": ["nothing"]}
    # Every attempt has a seed of its own, and equal pictures leave the first as the best.
    assert len({attempt["seed"] for attempt in one(run)["attempts"]}) == 4
    assert one(run)["chosen"] == 0 and one(run)["cost"] == 0.0


def test_rules_by_what_is_wrong(make_set):
    (case,) = mb.load_cases(make_set(1))
    opened = mb.open_case(case)
    noisy = np.clip(opened.previous + np.random.default_rng(0).normal(0, 60, (48, 64, 3)), 0, 255)
    found = {
        name: rewrite_rules.findings(opened, np.uint8(picture), Opinion(0.2, vq, facts=facts))
        for name, picture, vq, facts in [
            ("same", opened.previous, 1.0, {"stray": 0.0}),
            ("half", (opened.previous / 2 + opened.reference / 2), 1.0, {"stray": 0.5}),
            ("beside", 255 - opened.previous, 0.9, {"stray": 30.0, "detail_change": 0.1}),
            ("noisy", noisy, 0.3, {"stray": 1.0, "detail_change": 0.9}),
            ("no numbers", noisy, 0.3, {}),
        ]
    }
    assert {name: [one.name for one in some] for name, some in found.items()} == {
        "same": ["NOTHING"],
        "half": ["PARTLY"],
        "beside": ["PARTLY", "BESIDE"],
        "noisy": ["PARTLY", "WORN"],
        "no numbers": ["PARTLY", "BESIDE"],
    }
    words = rewrite_rules.reword("Remove\nthe mole", [found["same"], found["beside"]])
    assert words.startswith("Remove the mole. Carry it out completely. Keep everything else")
    for one_of in rewrite_rules.Finding:
        said = [rewrite_rules.reword("Do it!", [(one_of,)] * times) for times in (1, 2, 3)]
        assert said[0] != said[1] == said[2] and said[0].startswith("Do it! ")


def test_refused_attempts_are_told_and_the_loop_goes_on(make_set, tmp_path, scripted):
    run = mb.edit(make_set(1), f"refine:{scripted('x-a/0.3/x-b')}", tmp_path / "run")
    tried = one(run)["attempts"]
    assert [attempt["picture"] for attempt in tried] == [None, 0, None]
    assert tried[0]["reason"] == "refused -a" and tried[0]["ea"] is None
    assert tried[1]["ea"] > 0 and "reason" not in tried[1] and one(run)["chosen"] == 1
    assert run.attempt_path("1", 0, 0).is_file() and not run.attempt_path("1", 0, 1).exists()
    run = mb.edit(make_set(1), f"refine:{scripted('x-a/x-b/x-c')}", tmp_path / "all")
    (row,) = outputs(run).values()
    assert row.reason == "no attempt gave a picture; the last: refused -c"
    assert len(row.detail["attempts"]) == 3 and files(run) == {}


def test_the_same_failure_twice_ends_the_rounds(make_set, tmp_path, scripted):
    run = mb.edit(make_set(1), f"refine:rounds=9,{scripted('x')}", tmp_path / "run")
    assert len(one(run)["attempts"]) == 2 and one(run)["stopped"] == "the same failure twice"


def test_a_case_without_scores_keeps_its_first_picture(make_set, tmp_path, scripted):
    cases = make_set(1, previous_mask="")
    run = mb.edit(cases, f"refine:rounds=9,{scripted('0.2/0.9')}", tmp_path / "run")
    detail = one(run)
    assert detail["chosen"] == 0 and len(detail["attempts"]) == 2
    why = "the offline judge needs a reference and an ROI"
    assert detail["unscored"] == f"no attempt was scored: {why}"
    assert [attempt["reason"] for attempt in detail["attempts"]] == [why, why]


def test_a_judge_of_ones_own(make_set, tmp_path, scripted, judges):
    call = f"refine:judge={judges('Mean')},{scripted('0.2/0.4/0.3')}"
    run = mb.edit(make_set(1), call, tmp_path / "run")
    assert run.info.judged_by == one(run)["judge"] == "mean-1" and run.info.sees == []
    assert "own_judges.py" in run.info.origin
    call = f"refine:judge={judges('Unwilling')},{scripted('0.2/0.4/0.3')}"
    detail = one(mb.edit(make_set(1), call, tmp_path / "unwilling"))
    first, second, _ = detail["attempts"]
    assert first["reason"] == "failed: the judge raised ValueError: out of order"
    assert first["ea"] is None and second["instruction"] == first["instruction"]
    # A quality of 7 is none.
    assert (second["ea"], second["vq"]) == (0.3, None) and detail["chosen"] == 1


class Reviewer(FakeServer):
    """Judges by a list of accuracies, one a round, and rewrites with a number in the words."""

    def __init__(self, *accuracies, rewrites=None, **given):
        super().__init__(**given)
        self.accuracies, self.rewrites = accuracies, rewrites
        self.answer = self._answer

    def of(self, kind):
        return [call for call in self.calls if wants(call) == kind]

    def _answer(self, call):
        number = len(self.of(wants(call)))
        if wants(call) == "judge":
            return verdict(self.accuracies[min(number, len(self.accuracies)) - 1])
        return self.rewrites or order(f"Make the spot as pale as its surroundings, try {number}.")


def asking(server, inner, model="openai:test", **own):
    given = "".join(f"{key}={value}," for key, value in own.items())
    return f"refine:judge={model},{at(server)},{given}{inner}"


def test_a_model_judges_and_rewrites(make_set, tmp_path, scripted):
    cases = make_set(1)
    with Reviewer(2, 6, 4) as server:
        call = asking(server, scripted("0.2/0.5/0.9"))
        run = mb.edit(cases, call, tmp_path / "run")
        detail = one(run)
        assert (len(server.of("judge")), len(server.of("rewrite"))) == (3, 2)
        assert [a["ea"] for a in detail["attempts"]] == [0.2, 0.6, 0.4] and detail["chosen"] == 1
        assert texts(detail)[1:] == [
            f"Make the spot as pale as its surroundings, try {number}." for number in (1, 2)
        ]
        first, second = detail["attempts"][:2]
        assert first["reasons"]["ea"] == "the spot can still be seen"
        assert first["differences"] == ["the spot is paler", "the border is soft"]
        assert second["rewriter"]["instruction"].startswith("order-after-review v1 (")
        assert second["rewriter"]["model"] == detail["rewriter"] == "openai:test"
        opened = mb.open_case(mb.load_cases(cases)["1"])
        previous, reference = (
            encode_for_model(picture).data for picture in (opened.previous, opened.reference)
        )
        for number, asked in enumerate(server.of("rewrite")):
            told = "\n".join(asked.texts)
            with Image.open(run.attempt_path("1", 0, number)) as picture:
                output = encode_for_model(np.asarray(picture)).data
            # Input and output, never the reference.
            assert asked.images == [previous, output] and reference not in asked.images
            assert "the spot can still be seen" in told and "the border is soft" in told
            assert all(earlier in told for earlier in texts(detail)[: number + 1])
            assert opened.case.description not in told
        assert reference in server.of("judge")[0].images
        assert run.info.judged_by == "openai:test" and run.info.sees == ["reference", "description"]
        # The same question as when the run is scored: it is paid already.
        calls = len(server.calls)
        mb.score(run, [], find_judge("openai:test", {"base_url": server.base_url("openai")}))
        assert len(server.calls) == calls
        with run.ledger() as ledger:
            scores = list(ledger.scores())
        assert {score.detail["judge"] for score in scores} == {run.info.judged_by}
        assert next(s.value for s in scores if s.metric.startswith("ea_")) == 0.6
        run.output_path("1", 0).unlink()
        before = files(run)
        mb.edit(cases, call, tmp_path / "run")
        assert len(server.calls) == calls and len(files(run)) == len(before) + 1
        assert one(run)["cost"] == 0.0 and one(run)["attempts"][1]["rewriter"]["cached"]


def test_a_refusal_is_put_to_the_rewriter(make_set, tmp_path, scripted):
    with Reviewer(9) as server:
        run = mb.edit(make_set(1), asking(server, scripted("x/x/0.9")), tmp_path / "run")
        assert len(server.of("judge")) == 1
        for asked in server.of("rewrite"):
            assert len(asked.images) == 1 and "There is no result: refused" in asked.texts[-1]
    # The words differ each time, so that failing again is worth a try.
    assert one(run)["chosen"] == 2 and len(set(texts(one(run)))) == 3


def test_a_rewriter_beside_another_judge(make_set, tmp_path, scripted):
    with Reviewer() as server:
        call = f"refine:rewriter=openai:test,{at(server)},{scripted('0.2')}"
        run = mb.edit(make_set(1), call, tmp_path / "run")
        assert len(server.of("rewrite")) == len(server.calls) == 2
        told = server.calls[0].texts[-1]
        assert "editing accuracy 0." in told and rewrite_rules.Finding.PARTLY.value in told
    assert run.info.judged_by == "offline-2" and one(run)["rewriter"] == "openai:test"
    with Reviewer(3) as server:
        call = asking(server, scripted("0.2/0.3/0.4"), rewriter="rules")
        run = mb.edit(make_set(1), call, tmp_path / "ruled")
        assert len(server.calls) == 3 and not server.of("rewrite")
    assert texts(one(run))[1].endswith("Carry it out completely.")


@pytest.mark.parametrize("answer", ["no JSON", order("Remove the mole number 1!"), "I'm sorry."])
def test_without_new_words_the_old_ones_are_tried_again(answer, make_set, tmp_path, scripted):
    with Reviewer(3, rewrites=answer) as server:
        call = asking(server, scripted("0.2/0.4"), rounds=1)
        detail = one(mb.edit(make_set(1), call, tmp_path / "run"))
        assert len(server.of("rewrite")) == 3
    first, second = detail["attempts"]
    assert first["instruction"] == second["instruction"] and first["seed"] != second["seed"]
    assert second["rewriter"]["reason"] and second["rewriter"]["tries"] == 3


def test_a_judge_that_cannot_be_read_is_no_score(make_set, tmp_path, scripted):
    with Reviewer(rewrites=order("x")) as server:
        server.answer = lambda call: "A fine picture."
        detail = one(mb.edit(make_set(1), asking(server, scripted("0.2")), tmp_path / "run"))
    assert "could not be read in 3 tries" in detail["unscored"] and detail["chosen"] == 0


def test_no_money_left_writes_nothing_about_a_case(small_set, tmp_path, scripted):
    with Reviewer(3) as server:
        looks = asking(server, scripted("0.2"), "openai:priced", rounds=0)
        # Every call costs 0.11; room for the most that a look may cost, and a few that did less.
        limit = estimate_generation(small_set, looks, tmp_path / "run").most / 4 + 0.5
        call = asking(server, scripted("0.2/0.5/0.3"), "openai:priced", max_cost=limit)
        with pytest.raises(NotAllTriedError, match="openai:priced: the next call may cost"):
            mb.edit(small_set, call, tmp_path / "run")
        run = mb.open_run(tmp_path / "run")
        assert 4 < len(server.calls) < 20 and len(files(run)) == len(outputs(run)) < 4
        unlimited = asking(server, scripted("0.2/0.5/0.3"), "openai:priced")
        mb.edit(small_set, unlimited, tmp_path / "run")
        assert len(outputs(run)) == 4 and len(server.calls) == 4 * 5


def test_nested_editors(make_set, tmp_path, scripted, named):
    with Reviewer(2, 6, 4) as server:
        composed = f"composed:{at(server)},openai:test+{named('Echo')}"
        run = mb.edit(make_set(1), f"refine:rounds=1,{composed}", tmp_path / "composed")
        detail = one(run)
        for attempt in detail["attempts"]:
            assert attempt["inner"]["asked"] == attempt["instruction"]
            assert attempt["inner"]["inner"]["told"] == attempt["inner"]["instruction"]
        assert run.info.sees == ["reference", "roi"] and detail["attention"]["concept"] == "mole"

        refined = f"refine:rounds=1,{scripted('0.2/0.4')}"
        call = f"composed:{at(server)},openai:test+{refined}"
        run = mb.edit(make_set(1), call, tmp_path / "refined")
        assert run.info.judged_by == "offline-2" and run.info.sees == ["reference", "roi"]
        assert one(run)["chosen"] == 1 and run.attempt_path("1", 0, 1).is_file()
        assert one(run)["attempts"][0]["instruction"] == one(run)["instruction"]

        call = asking(server, f"refine:rounds=1,{scripted('0.2/0.4')}", rounds=1)
        run = mb.edit(make_set(1), call, tmp_path / "both")
        assert run.info.judged_by == "openai:test, offline-2"
        assert len(one(run)["attempts"][0]["inner"]["attempts"]) == 2


def test_what_the_judge_is_shown_is_told(tmp_path, judges):
    def seen(call):
        return find_system(call).system.sees

    assert seen("refine:identity") == ("reference", "roi")
    assert seen("refine:judge=openai:x,identity") == ("reference", "description")
    assert seen("refine:judge=openai:x,rubric=prompt,identity") == ("reference",)
    assert seen("refine:judge=openai:x,rubric=prompt-no-reference,identity") == ()
    assert seen("refine:judge=openai:x,rubric=prompt-no-reference,inpaint") == ("roi",)
    assert seen(f"refine:judge={judges('Mean')},reference") == ("reference",)
    named_too = find_system("refine:judge=openai:x,rubric=prompt,identity")
    assert named_too.system.judged_by == "openai:x+prompt"


def test_what_is_passed_on(tmp_path, named, monkeypatch):
    chosen = find_system(f"refine:{named('Echo')}")
    inner = chosen.system._inner
    chosen.system.prepare()
    chosen.system.close()
    assert (inner.prepared, inner.closed, chosen.system.at_once) == (1, 1, 12)
    assert find_system("refine:blur").system.at_once is None
    assert find_system("refine:judge=openai:x,blur").system.at_once == 8
    assert find_system(f"refine:{named('Lacking')}").system.demonstrations == 2
    swept = [find_system(f"refine:rounds={n},{QUICK}").system for n in (1, 2)]
    composed = find_system(f"composed:openai:x+{QUICK}").system
    swept[0].prepare()
    assert swept[1].share(swept[0]) and not composed.share(swept[0])
    assert not find_system("refine:blur").system.share(chosen.system)
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.chdir(tmp_path)
    for call in ("refine:judge=openai:x,", "refine:rewriter=openai:x,"):
        lacking = find_system(f"{call}{named('Lacking')}")
        assert "OPENAI_API_KEY" in lacking.system.problems()[0]
        assert lacking.system.problems()[1] == "Lacking: no weights; fetch them"
        with pytest.raises(NotReadyError):
            lacking.require_ready()


def test_other_settings_are_another_run(make_set, tmp_path):
    cases = make_set(1)
    mb.edit(cases, "refine:rounds=1,blur:sigma=2", tmp_path / "run")
    mb.edit(cases, "refine:max_cost=3,rounds=1,blur:sigma=2", tmp_path / "run")
    for call in ("refine:rounds=1,blur:sigma=3", "refine:rounds=2,blur:sigma=2"):
        with pytest.raises(InputError, match="holds another run"):
            mb.edit(cases, call, tmp_path / "run")


@pytest.fixture
def posted():
    """A server for `http:` inside."""
    with Server() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.ending.set()
        server.shutdown()


def test_a_run_goes_on_with_other_settings_of_how_inside(small_set, tmp_path, posted):
    def call(timeout, steps=2):
        inside = f'http:timeout={timeout},options={{"steps":{steps}}},{posted.url}'
        return f"refine:rounds=0,{inside}"

    posted.plan = lambda body, number: inverted(body) if body["id"] == "1" else as_json(401)
    with pytest.raises(NotAllTriedError, match="3 outputs were not tried: HTTP 401"):
        mb.edit(small_set, call(9), tmp_path / "run")
    posted.plan = lambda body, number: inverted(body)
    with pytest.raises(InputError, match="holds another run"):
        mb.edit(small_set, call(90, steps=3), tmp_path / "run")
    run = mb.edit(small_set, call(90), tmp_path / "run")
    assert len(files(run)) == 4 and all(row.reason is None for row in outputs(run).values())
    inside = run.info.settings["editor"]
    assert inside["name"] == "http" and inside["settings"]["options"] == {"steps": 2}
    assert "timeout" not in inside["settings"] and run.info.how["inner"]["timeout"] == 9


def test_what_is_written_of_nested_editors():
    url = "http://anna:pass-word-99@host:8000/edit?key=query-key-42"
    composed = "composed:max_cost=2,base_url=http://u:p-a-s-s@h/v1,openai:x+http:timeout=9"
    chosen = find_system(f"refine:rounds=1,{composed},{url}")
    middle = chosen.settings["editor"]
    assert middle["name"] == "composed" and middle["settings"]["base_url"] == "http://h/v1"
    chain = middle["settings"]["chain"]
    assert chain["model"] == "openai:x" and chain["editor"]["name"] == "http"
    assert chain["editor"]["settings"]["url"] == "http://host:8000/edit"
    assert chosen.runtime_only["inner"]["max_cost"] == 2
    assert chosen.runtime_only["inner"]["inner"] == {"timeout": 9.0, "attempts": 4, "at_once": 1}
    shown = repr((chosen, chosen.system.settings, chosen.system.identity()))
    for secret in ("pass-word-99", "query-key-42", "p-a-s-s"):
        assert secret not in shown


def test_secrets_inside_reach_the_server_and_nothing_else(make_set, tmp_path, posted, caplog):
    """Case 1 is refused, 2 and 3 are echoed in all ways a server can tell something."""

    def plan(body, number):
        path, head = posted.heads[number]
        echo = f"{path} {head['Authorization']}"
        if body["id"] == "1":
            return as_json(refused=echo)
        if body["id"] == "2":
            return 400, {}, echo.encode()
        if body["id"] == "3":
            return inverted(body, identity=echo, detail={echo: [{"told": echo}]})
        return 403, {}, echo.encode()

    posted.plan = plan
    url = posted.url.replace("http://", "http://anna:pass-word-99@") + "?key=query-key-42"
    with Reviewer(9) as judge, caplog.at_level(logging.DEBUG):
        call = asking(judge, f"http:{url}", rounds=1)
        words = ["edit", str(make_set(4)), "--editor", call, "--out", str(tmp_path / "run")]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 1 and "1 outputs were not tried: HTTP 403: /edit" in done.stderr
        for asked in judge.of("rewrite"):
            assert "There is no result" in asked.texts[-1]
            assert "pass-word" not in str(asked.texts) and "query-key" not in str(asked.texts)
    assert posted.heads[0][0] == "/edit?key=query-key-42"
    run = mb.open_run(tmp_path / "run")
    assert sorted(case for case, _ in outputs(run)) == ["1", "2", "3"]
    assert run.info.settings["editor"]["settings"]["url"] == posted.url
    reasons = [row.reason for row in outputs(run).values() if row.reason]
    assert len(reasons) == 2 and all("/edit?*** Basic ***" in one for one in reasons)
    login = base64.b64encode(b"anna:pass-word-99")
    written = everything_in(tmp_path) + caplog.text.encode() + done.output.encode()
    for secret in (b"pass-word-99", b"query-key-42", login):
        assert secret not in written
    assert "HTTP Request: POST" in caplog.text, "else this test has nothing to look at"


def test_a_server_inside_is_asked_by_one_at_a_time(tmp_path, posted):
    now, most = [], []

    def plan(body, number):
        now.append(number)
        most.append(len(now))
        posted.ending.wait(3)
        now.remove(number)
        return inverted(body)

    posted.plan = plan
    cases = write_set(tmp_path / "set", 4)
    with Reviewer(9) as judge:
        # Those that wait do so for longer than the server may take.
        call = asking(judge, f"http:timeout=8,{posted.url}")
        run = mb.edit(cases, call, tmp_path / "run")
    assert max(most) == 1 and len(files(run)) == 4
    assert all(len(detail["attempts"]) == 1 for detail in details(run))


def test_the_estimate_is_that_of_all_rounds(tmp_path, named):
    cases = write_set(tmp_path / "set", 2)
    with Reviewer(3) as server:
        call = asking(server, named("Echo"), "openai:priced")
        plan = estimate_generation(cases, call, tmp_path / "run")
        assert len(server.calls) == 0
        # Three looks, two rewritings and three edits a case.
        assert (plan.calls, plan.cached) == (2 * (3 + 2 + 3), 0)
        assert plan.cost > 2 * 3 and plan.most > plan.cost
        mb.edit(cases, call, tmp_path / "run")
        # Equal pictures are looked at once.
        assert len(server.calls) == 2 * (1 + 2)
        # In other words each round, so that the model inside is asked anew.
        call = f"refine:rounds=3,composed:{at(server)},openai:priced+blur"
        assert estimate_generation(cases, call, tmp_path / "inside").calls == 2 * 4
    free = estimate_generation(cases, "refine:blur", tmp_path / "free")
    assert (free.calls, free.cost) == (0, 0.0)


WRONG = {
    "refine": "editor 'refine': name an editor, such as refine:judge=offline",
    "refine:rounds=3": "name an editor, such as refine:judge=offline",
    "refine:blurr": "no system 'blurr'; did you mean 'blur'",
    "refine:blur:sigma=x": "editor 'blur': sigma",
    "refine:blur:rounds=3": "editor 'blur': no setting 'rounds'",
    "refine:round=3,blur": "editor 'refine': no setting 'round'; it has: editor, judge, rounds",
    "refine:rounds=-1,blur": "rounds: Input should be greater",
    "refine:enough=2,blur": "enough: Input should be less",
    "refine:keep=first,blur": "keep: Input should be 'best' or 'last'",
    "refine:judge=onlin,blur": "no judge 'onlin'",
    "refine:judge=openai:,blur": "expected one of openai:NAME",
    "refine:rubric=prompt,blur": "judge 'offline': takes no rubric; only models do",
    "refine:judge=openai:x,rubric=nope,blur": "no such rubric",
    "refine:rewriter=gpt-4o,blur": "rewriter: 'gpt-4o': expected one of .*, or rules",
    "refine:base_url=ftp://u:secret@h,judge=openai:x,blur": "base_url: .*something like http",
    "refine:composed:openai:x": "editor 'composed': expected a model and an editor",
}


@pytest.mark.parametrize("call", WRONG)
def test_wrong_calls_are_told_in_a_line(call):
    with pytest.raises(InputError, match=WRONG[call]) as told:
        find_system(call)
    assert "\n" not in str(told.value) and "secret@" not in str(told.value)


def test_a_judge_without_accuracy_is_no_help(judges):
    with pytest.raises(InputError, match="gives no editing accuracy"):
        find_system(f"refine:judge={judges('Silent')},blur")
