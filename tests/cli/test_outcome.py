"""How commands end: 1 for what failed in this command, 0 for what failed before or is undefined."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

import pytest
import yaml
from PIL import Image

from medebench.reason import Reason
from medebench.runs.failed_calls import Failures
from medebench.runs.ledger import ScoreRow
from tests.cli.test_cli import call
from tests.models.server import FakeServer, always, mixture
from tests.runs.test_judging import Opinionated

EDITOR = """
import numpy as np
from medebench.systems import Refused, Settings

class Choosy:
    summary, sees, control, Settings = "x", (), False, Settings
    def __init__(self, settings): pass
    def edit(self, request):
        if request.case.case.id in "23":
            raise Refused("too dark")
        if request.case.case.id == "4":
            raise ValueError("never seen")
        return 255 - request.case.previous
"""
JUDGE = """
import medebench as mb

class Broken:
    name, summary, stand_in, scores = "broken-1", "x", True, ("ea_broken", "vq_broken")
    def judge(self, case, output):
        raise ConnectionError("the judge is out")

class Unsure(Broken):
    name = "unsure-1"
    def judge(self, case, output):
        return {name: mb.Verdict(None, "no reference to compare with") for name in self.scores}
"""


@pytest.fixture(autouse=True)
def own_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("medebench.models.retry.FIRST_WAIT", 0.01)
    (tmp_path / "mine.py").write_text(EDITOR + JUDGE)


def last(done):
    return done.stderr.strip().splitlines()[-1]


@pytest.fixture
def edited(small_set, tmp_path):
    call("edit", small_set, "--editor", "noise", "--out", tmp_path / "run")
    return tmp_path / "run"


def scoring(run, server, *more):
    where = ["--judge", "openai:test", "--base-url", server.base_url("openai")]
    return call("score", run, "--metrics", "cp", *where, *more)


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("400", "HTTP 400: it did not work"),
        ("500", "HTTP 500: it did not work (attempts: 6)"),
        ("garbage", "the answer was cut off"),
        ("prose", "could not be read in 3 tries"),
        ("refusal", "the judge refused to answer"),
    ],
)
def test_a_judge_that_always_fails(edited, behaviour, words):
    with FakeServer(always(behaviour)) as server:
        done = scoring(edited, server)
        assert done.exit_code == 1
        assert last(done).startswith(
            "medebench: 4 calls of a judge or a metric failed in this command: "
        )
        assert words in last(done)
        # What failed before is in the ledger, and nobody was asked now.
        asked = len(server.calls)
        done = scoring(edited, server)
        assert done.exit_code == 0 and len(server.calls) == asked
        assert words in done.stdout
        done = scoring(edited, server, "--retry-failed", "--json")
        assert done.exit_code == 1 and len(server.calls) > asked
        assert sum(json.loads(done.stdout)["failures"].values()) == 4


def test_the_commonest_reason_is_named(edited):
    first = []

    def plan(made):
        first.append(made.images[1])
        return "refusal" if made.images[1] == first[0] else "400"

    with FakeServer(plan) as server:
        done = scoring(edited, server)
    assert done.exit_code == 1
    assert "4 calls" in last(done) and "3 of them: " in last(done) and "HTTP 400" in last(done)


def test_a_judge_that_fails_once_in_a_while_and_recovers(edited):
    with Opinionated(mixture(5, **{"429": 0.3, "cut": 0.2})) as server:
        assert scoring(edited, server).exit_code == 0


def test_judges_and_metrics_of_ones_own(edited, tmp_path):
    done = call("score", edited, "--metrics", "cp", "--judge", f"{tmp_path}/mine.py:Broken")
    assert done.exit_code == 1
    assert "4 calls" in last(done) and "ConnectionError: the judge is out" in last(done)
    done = call("score", edited, "--metrics", "cp", "--judge", f"{tmp_path}/mine.py:Unsure")
    assert done.exit_code == 0 and done.stderr == ""
    assert "undefined: 4 no reference to compare with" in done.stdout


def test_a_score_that_is_undefined_is_no_failure(small_set, tmp_path):
    Image.new("L", (64, 48), 255).save(small_set / "editing/previous_mask/2.png")
    call("edit", small_set, "--editor", "identity", "--out", tmp_path / "run")
    done = call("score", tmp_path / "run", "--judge", "offline")
    assert done.exit_code == 0 and "ROI" in done.stdout


def test_an_editor_that_fails(small_set, tmp_path):
    run = tmp_path / "run"
    words = ["edit", small_set, "--editor", f"{tmp_path}/mine.py:Choosy", "--out", run]
    done = call(*words)
    assert done.exit_code == 1
    assert last(done) == "medebench: 3 outputs failed in this command, 2 of them: too dark"
    done = call(*words)
    assert done.exit_code == 0 and "3 failed" in done.stderr
    assert call(*words, "--retry-failed").exit_code == 1
    # That three were never made is the edit's failure, not that of what follows.
    assert call("score", run, "--metrics", "cp").exit_code == 0
    assert call("ground", run).exit_code == 0
    # A picture that is lost is another matter.
    (run / "edits" / "1_0.png").unlink()
    done = call("score", run, "--metrics", "cp")
    assert done.exit_code == 1
    assert last(done) == "medebench: 1 output failed in this command: the output file is missing"
    # It is known by now: nothing failed in the next command.
    assert call("score", run, "--metrics", "cp").exit_code == 0


def test_a_score_counts_what_was_asked_for(small_set, tmp_path):
    run = tmp_path / "run"
    call("edit", small_set, "--editor", f"{tmp_path}/mine.py:Choosy", "--out", run)
    call("score", run, "--metrics", "cp,ssim,psnr")
    done = call("score", run, "--metrics", "cp")
    assert "run: 1 of 4 scores" in done.stdout and done.stderr == "" and done.exit_code == 0
    # An output without scores is one, however many scores it lacks.
    assert "no-output: 2 too dark, 1 " in call("score", run, "--metrics", "cp,ssim").stdout
    facts = json.loads(call("score", run, "--metrics", "cp", "--json").stdout)["runs"][0]
    assert facts["scored"] == 1 and facts["of"] == 4
    assert facts["reason_groups"][0] == {
        "kind": "no-output",
        "cause": "no-output",
        "words": "too dark",
        "count": 2,
    }


def test_plans(small_set, tmp_path):
    plan = tmp_path / "plan.yaml"
    editors = [{"editor": f"{tmp_path}/mine.py:Choosy", "name": "choosy"}, {"editor": "noise"}]
    content = {"cases": str(small_set), "out": str(tmp_path / "out"), "editors": editors}
    with FakeServer(always("400")) as server:
        judge = {"name": "openai:test", "base_url": server.base_url("openai")}
        plan.write_text(yaml.safe_dump(content | {"metrics": ["cp"], "judge": judge}))
        done = call("run", plan)
        assert done.exit_code == 1
        # Five outputs were judged in vain, three never made.
        assert "8 calls of an editor, a judge or a metric failed" in last(done)
        assert "5 of them: the judge could not be asked: HTTP 400" in last(done)
        done = call("run", plan)
        assert done.exit_code == 0 and "3 outputs failed" in done.stderr


def test_an_audit_names_why_nothing_was_said(small_set):
    with FakeServer(always("400")) as server:
        words = ["--judge", "openai:test", "--cases", small_set]
        done = call("judge", "audit", *words, "--base-url", server.base_url("openai"))
    assert done.exit_code == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    assert "openai:test: none of 24 calls was answered: HTTP 400" in done.stderr


@pytest.mark.parametrize("how", ["never", "refused"])
def test_a_server_that_never_answers_was_not_audited(small_set, how):
    """It takes connections and says nothing, or takes none."""
    words = ["judge", "audit", "--judge", "openai:test", "--cases", small_set, "--limit", "2"]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        if how == "refused":
            listening.close()
        url = f"http://127.0.0.1:{port}/v1"
        done = call(*words, "--base-url", url, "--timeout", "1", "--deadline", "3")
    assert done.exit_code == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    assert "none of 12 calls was answered" in done.stderr and "right in" not in done.stderr


def test_a_call_that_is_not_answered_is_no_wrong_answer(small_set):
    """The server refuses what shows the same image twice, and has the same opinion of the rest."""
    opinion = {"differences": [], "editing_accuracy": {"reason": "so", "score": 0}}
    opinion["visual_quality"] = {"reason": "so", "score": 1}

    def plan(made):
        return "400" if made.images[0] == made.images[1] else "ok"

    with FakeServer(plan, answer=lambda _: json.dumps(opinion)) as server:
        words = ["judge", "audit", "--judge", "openai:test", "--cases", small_set]
        words += ["--base-url", server.base_url("openai")]
        done, told = call(*words, "--json"), call(*words)
    found = json.loads(done.stdout)
    assert [one["unanswered"] for one in found["controls"]] == [4, 0, 0, 0, 0, 0]
    assert sum(one["of"] for one in found["controls"]) == 20
    assert "of 20 trials with a known answer" in found["verdict"]
    assert "(4 more calls were not answered), was not tested on identity" in found["verdict"]
    assert done.exit_code == 1 and "4 trials failed in this command: HTTP 400" in last(done)
    assert "silent  identity: not answered" in told.stdout


def test_a_cache_without_room_loses_nothing_that_was_paid(edited, tmp_path):
    """A judge that is understood only the second time, and no place to keep what it says."""
    (tmp_path / "cache").mkdir(exist_ok=True)
    (tmp_path / "cache" / "answers").symlink_to("/dev/full")
    command = [sys.executable, "-m", "medebench", "score", str(edited), "--metrics", "cp"]
    with Opinionated() as server:
        server.plan = lambda made: "ok" if len(made.body["messages"]) > 2 else "prose"
        command += ["--judge", "openai:test", "--base-url", server.base_url("openai")]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "12 of 12 scores" in done.stdout and len(server.calls) == 8
    assert done.stderr.count("answers cannot be cached here") == 1


def test_a_score_that_is_not_about_an_output_was_not_asked_in_vain():
    failures = Failures()
    aside = Reason("not-applicable", "not asked of an output of this kind")
    lost = Reason("unanswered", "HTTP 500")
    failures.note([ScoreRow("1", 0, "ea", None, None, aside)])
    assert not failures
    failures.note([ScoreRow("1", 0, "ea", None, None, lost)])
    assert failures == {"HTTP 500": 1}
