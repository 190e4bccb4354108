"""A model as judge, over a real connection to a server that misbehaves."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import polars as pl
import pytest
from PIL import Image

import medebench as mb
from medebench.errors import InputError
from medebench.judge import find_judge
from medebench.reporting import build_report
from medebench.runs.stages.judge_scores import JudgeLimits, JudgeStoppedError, estimate_judging
from tests.conftest import write_set
from tests.models.server import FakeServer, always, in_turn, mixture
from tests.patience import TROUBLED, wait_until

KEY = "sk-very-secret-0123456789abcdef"


def scores_of(picture: bytes) -> tuple[float, float]:
    """What the server thinks of a picture: told by its pixels, so that a test knows it too."""
    digest = hashlib.sha256(picture).digest()
    return digest[0] % 21 / 2, digest[1] % 21 / 2


class Opinionated(FakeServer):
    """Answers with the scores of the output it is shown; counts good answers by picture."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.judged: Counter[str] = Counter()
        self.answer = self._opinion

    def _opinion(self, call):
        output = call.images[1]
        self.judged[hashlib.sha256(output).hexdigest()] += 1
        accuracy, quality = scores_of(output)
        return json.dumps(
            {
                "differences": ["a mole is gone", "the light is warmer"],
                "editing_accuracy": {"reason": "as wanted", "score": accuracy},
                "visual_quality": {"reason": "a soft seam", "score": quality},
            }
        )


@pytest.fixture(autouse=True)
def own_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def judge_at(server, **options):
    return find_judge("openai:test", {"base_url": server.base_url("openai"), **options})


def expected(run):
    from medebench.models import encode_for_model

    found = {}
    for path in sorted(run.edits.iterdir()):
        case, _, k = path.stem.rpartition("_")
        with Image.open(path) as picture:
            found[case, int(k)] = scores_of(encode_for_model(np.asarray(picture)).data)
    return found


def values(run):
    rows = run.frame().filter(
        pl.col("metric").str.starts_with("ea_") | pl.col("metric").str.starts_with("vq_")
    )
    return {(r["case"], r["k"], r["metric"][:2]): r for r in rows.iter_rows(named=True)}


def test_500_judgements_by_a_server_that_misbehaves(tmp_path):
    run = mb.edit(write_set(tmp_path / "set", 125), "noise", tmp_path / "run", outputs=4)
    shares = {"429": 0.2, "500": 0.1, "hang": 0.012, "cut": 0.03, "prose": 0.05, "wrong": 0.05}
    with Opinionated(mixture(7, **shares), latency=0.01) as server:
        mb.score(run, [], judge_at(server), limits=JudgeLimits(timeout=TROUBLED))
        rows, known = values(run), expected(run)
        assert len(known) == 500 and len(rows) == 1000
        for (case, k), (accuracy, quality) in known.items():
            for name, value in (("ea", accuracy), ("vq", quality)):
                row = rows[case, k, name]
                assert (row["value"] is None) != (row["reason"] is None)
                if row["value"] is not None:
                    assert row["value"] == pytest.approx(value / 10)
        scored = sum(row["value"] is not None for row in rows.values())
        assert scored >= 980
        assert max(server.judged.values()) == 1
        for behaviour in shares:
            assert server.count(behaviour) > 0
        calls = len(server.calls)
        mb.score(run, [], judge_at(server), limits=JudgeLimits(timeout=TROUBLED))
        assert len(server.calls) == calls


def test_kill_and_continue_changes_nothing(tmp_path):
    run = mb.edit(write_set(tmp_path / "set", 60), "noise", tmp_path / "run")
    troubled = mixture(3, **{"429": 0.1, "500": 0.1})
    with Opinionated(latency=0.05) as server:
        # Nobody gets to the end before the signal does.
        server.plan = lambda call: troubled(call) if len(server.judged) < 20 else "hang"
        command = [sys.executable, "-m", "medebench", "score", str(run.path), "--metrics", "cp"]
        command += ["--judge", "openai:test", "--base-url", server.base_url("openai")]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ.copy())
        wait_until(lambda: len(server.judged) >= 20)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(0.3)
        before = sum(server.judged.values())
        assert 20 <= before < 60
        server.plan = troubled
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        rows = values(run)
        assert {(c, k): rows[c, k, "ea"]["value"] * 10 for c, k in expected(run)} == pytest.approx(
            {key: accuracy for key, (accuracy, _) in expected(run).items()}
        )
        # Only answers that were on their way when the process died are asked for again.
        again = sum(count - 1 for count in server.judged.values())
        assert again <= 16


@pytest.fixture
def run(small_set, tmp_path):
    return mb.edit(small_set, "noise", tmp_path / "run", outputs=2)


def test_one_changed_pixel_costs_one_call(run):
    with Opinionated() as server:
        mb.score(run, [], judge_at(server))
        assert len(server.calls) == 8
        mb.score(run, [], judge_at(server))
        assert len(server.calls) == 8
        path = run.output_path("2", 1)
        with Image.open(path) as picture:
            pixels = np.array(picture)
        pixels[0, 0] ^= 1
        Image.fromarray(pixels).save(path)
        mb.score(run, [], judge_at(server))
        assert len(server.calls) == 9
        mb.score(run, [], judge_at(server, repeats=3))
        # The first repeat of every output is known already.
        assert len(server.calls) == 9 + 8 * 2


def test_fresh_asks_again_and_replaces(run):
    with Opinionated() as server:
        mb.score(run, [], judge_at(server))
        server.answer = lambda call: json.dumps(
            {"differences": [], "editing_accuracy": {"score": 1}, "visual_quality": {"score": 1}}
        )
        mb.score(run, [], judge_at(server))
        assert len(server.calls) == 8
        mb.score(run, [], judge_at(server), limits=JudgeLimits(fresh=True))
        assert len(server.calls) == 16
        assert {row["value"] for row in values(run).values()} == {0.1}
        mb.score(run, [], judge_at(server))
        assert len(server.calls) == 16


def test_answers_are_shared_by_runs(run, small_set, tmp_path):
    other = mb.edit(small_set, "noise", tmp_path / "other", outputs=2)
    with Opinionated() as server:
        mb.score([run, other], [], judge_at(server))
        assert len(server.calls) == 8
        with other.ledger() as ledger:
            assert ledger.cost() == 0.0


def test_another_rubric_is_another_score(run, tmp_path):
    (tmp_path / "mine.yaml").write_text("extends: description\nname: description\nversion: 2\n")
    with Opinionated() as server:
        mb.score(run, [], judge_at(server))
        mb.score(run, [], judge_at(server, rubric="prompt"))
        assert len(server.calls) == 16
        mb.score(run, [], judge_at(server, rubric=str(tmp_path / "mine.yaml")))
        # A new version with the same words asks the same questions: they are paid already.
        assert len(server.calls) == 16
        metrics = run.frame()["metric"].unique().to_list()
        assert sorted(metrics) == [
            "ea_openai:test",
            "ea_openai:test+prompt",
            "vq_openai:test",
            "vq_openai:test+prompt",
        ]


def test_details_for_the_reader(run):
    with Opinionated() as server:
        mb.score(run, [], judge_at(server, repeats=2))
    with run.ledger() as ledger:
        row = next(iter(ledger.scores()))
    assert row.detail["differences"] == ["a mole is gone", "the light is warmer"]
    assert row.detail["reason"] == "as wanted" and row.detail["repeats"] == 2
    assert row.detail["rubric"].startswith("description v1 (") and len(row.detail["values"]) == 2
    assert row.detail["model"] == "gpt-test-001" and row.detail["temperature"] == 0.0


def test_nothing_sent_names_the_editor_the_case_or_the_place(run, small_set, tmp_path):
    run = mb.adopt(run.edits, small_set, tmp_path / "gpt-editor-9", name="gpt-editor-9")
    with Opinionated() as server:
        mb.score(run, [], judge_at(server))
        for call in server.calls:
            text = json.dumps(call.texts)
            for word in ("gpt-editor", str(tmp_path), "set/editing", ".png", "Organ", "Skin"):
                assert word not in text
            assert len(call.images) == 3
            for data in call.images:
                assert data[:8] == b"\x89PNG\r\n\x1a\n" and b"tEXt" not in data


def test_unreadable_answers_are_complained_about_and_then_a_reason(run):
    with Opinionated(always("prose")) as server:
        mb.score(run, [], judge_at(server))
        rows = values(run).values()
        assert all("could not be read in 3 tries" in row["reason"] for row in rows)
        assert len(server.calls) == 8 * 3
        assert "missing" in server.calls[-1].texts[-1]
        server.plan = always("ok")
        mb.score(run, [], judge_at(server))
        assert len(server.calls) == 8 * 3
        mb.score(run, [], judge_at(server), retry_failed=True)
        assert all(row["value"] is not None for row in values(run).values())


def test_a_refusal_is_a_reason(run):
    with Opinionated(always("refusal")) as server:
        mb.score(run, [], judge_at(server))
    assert {row["reason"] for row in values(run).values()} == {"the judge refused to answer"}


def test_half_an_answer_is_completed_by_a_complaint(run):
    with Opinionated() as server:
        whole = server.answer

        def half(call):
            """First only the accuracy; when told what is missing, only the quality."""
            told = len(call.body["messages"]) > 2
            full = json.loads(whole(call))
            full.pop("editing_accuracy" if told else "visual_quality")
            return json.dumps(full)

        server.answer = half
        mb.score(run, [], judge_at(server))
        assert len(server.calls) == 16
        rows = values(run)
        for (case, k), (accuracy, quality) in expected(run).items():
            assert rows[case, k, "ea"]["value"] == pytest.approx(accuracy / 10)
            assert rows[case, k, "vq"]["value"] == pytest.approx(quality / 10)


def test_a_wrong_key_stops_at_once_and_writes_no_reason(run):
    with Opinionated(always("401")) as server:
        with pytest.raises(JudgeStoppedError, match="8 of 8 outputs were not judged"):
            mb.score(run, [], judge_at(server))
        assert len(server.calls) <= 8
    assert values(run) == {}


def test_a_cost_limit_stops_in_time(run, tmp_path, monkeypatch):
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"models": {"openai:test": {"in": 9.0, "out": 9.0}}}))
    monkeypatch.setenv("MEDEBENCH_PRICES", str(prices))
    with Opinionated() as server:
        judge = judge_at(server)
        plan = estimate_judging([run], judge, JudgeLimits())
        assert plan.calls == 8 and plan.cost > 0
        # A call costs 110 tokens here; room for the most one may cost, and three that did less.
        limit = plan.most / 8 + 3 * 110 * 9e-6
        with pytest.raises(JudgeStoppedError, match="max-cost"):
            mb.score(run, [], judge, limits=JudgeLimits(max_cost=limit))
        assert len(server.calls) == 4
        with run.ledger() as ledger:
            assert ledger.cost() == pytest.approx(4 * 110 * 9e-6)
        mb.score(run, [], judge)
        assert len(server.calls) == 8


def test_a_case_without_description_is_a_reason(make_set, tmp_path):
    run = mb.edit(make_set(1, detailed_prompt=""), "identity", tmp_path / "run")
    with Opinionated() as server:
        mb.score(run, [], judge_at(server))
        assert len(server.calls) == 0
    assert "has no description" in values(run)["1", 0, "ea"]["reason"]


def test_dry_run_makes_no_call(run):
    from typer.testing import CliRunner

    from medebench.cli import app

    with Opinionated() as server:
        words = ["score", str(run.path), "--judge", "openai:test", "--dry-run"]
        words += ["--base-url", server.base_url("openai")]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0 and "8 calls" in result.output, result.output
        assert len(server.calls) == 0
    assert run.frame().height == 0


def test_options_of_models_are_refused_elsewhere(run):
    with pytest.raises(InputError, match="takes no repeats"):
        find_judge("offline", {"repeats": 2})
    with pytest.raises(InputError, match="no such rubric"):
        find_judge("openai:x", {"rubric": "nope", "base_url": "http://127.0.0.1:1/v1"})


def test_the_key_appears_nowhere(run, tmp_path, capfd):
    plans = [["echo401"], ["echo400", "echo500", "429", "cut", "garbage", "prose", "ok"]]
    for behaviours in plans:
        with Opinionated(in_turn(*behaviours, *behaviours, "ok")) as server:
            command = [sys.executable, "-m", "medebench", "--debug", "score", str(run.path)]
            command += ["--judge", "openai:test", "--base-url", server.base_url("openai")]
            done = subprocess.run(command, capture_output=True, text=True)
            assert KEY not in done.stdout + done.stderr
            assert any(KEY in json.dumps(call.headers) for call in server.calls) or not server.calls
    build_report([run], tmp_path / "report")
    for path in [*run.path.rglob("*"), *tmp_path.glob("cache/**/*"), *tmp_path.glob("report/**/*")]:
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
