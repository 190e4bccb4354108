"""Whole runs of editors behind APIs, against a server that misbehaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.errors import MedebenchError
from medebench.runs.generate_run import estimate_generation
from medebench.systems import find_system
from tests.conftest import draw, write_set
from tests.models.drawing_server import DrawingServer
from tests.models.server import always, in_turn, mixture
from tests.patience import PATIENCE, TROUBLED, wait_until

KINDS = ["gemini", "openai-image"]
KEY = "sk-very-secret-0123456789abcdef"
CHAOS = {"429": 0.12, "500": 0.08, "hang": 0.015, "cut": 0.03, "empty": 0.04, "nothing": 0.02}
CHAOS |= {"refusal": 0.05, "words": 0.06, "half_picture": 0.04, "wrong_size": 0.04, "jpeg": 0.06}
REASONS = ("the model refused: ", "the model answered with ", "the returned picture: ", "returned ")


@pytest.fixture(autouse=True)
def own_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    monkeypatch.delenv("MEDEBENCH_PRICES", raising=False)
    monkeypatch.setattr("medebench.models.retry.FIRST_WAIT", 0.02)


def settings_for(server, kind, **given):
    return {"model": "model", "base_url": server.base_url(kind), "timeout": PATIENCE, **given}


def rows_of(run):
    with run.ledger() as ledger:
        return ledger.outputs()


def difference(run, case_id):
    """How far an output is from what the server makes of the input."""
    with Image.open(run.output_path(case_id, 0)) as picture:
        made = np.asarray(picture)
    return np.abs(made.astype(int) - (255 - draw(int(case_id)).astype(int))).mean()


@pytest.mark.parametrize("kind", KINDS)
def test_every_case_ends_with_a_picture_or_a_reason(kind, tmp_path):
    cases = write_set(tmp_path / "set", 120)
    with DrawingServer(mixture(5, **CHAOS), latency=0.005) as server:
        settings = settings_for(server, kind, timeout=TROUBLED, at_once=16)
        run = mb.edit(cases, kind, tmp_path / "run", settings=settings)
        rows = rows_of(run)
        assert len(rows) == 120
        made = {case for (case, _), row in rows.items() if row.reason is None}
        for (case, _), row in rows.items():
            assert (row.sha256 is None) == (row.reason is not None)
            assert run.output_path(case, 0).is_file() == (case in made)
            assert case in made or row.reason.startswith(REASONS), row.reason
            assert row.detail["tries"] >= 1
        assert 95 <= len(made) < 120
        assert max(difference(run, case) for case in made) < 3
        # Nothing that could be used was asked for twice.
        assert max(server.drawn.values()) == 1
        for behaviour in CHAOS:
            assert server.count(behaviour) > 0, behaviour
        calls = len(server.calls)
        mb.edit(cases, kind, tmp_path / "run", settings=settings)
        assert len(server.calls) == calls
        # Another run gets what was paid for; only what had no picture is asked again.
        server.plan = always("ok")
        mb.edit(cases, kind, tmp_path / "other", settings=settings)
        assert max(server.drawn.values()) == 1 and len(server.drawn) == 120


@pytest.mark.skipif(os.name != "posix", reason="this system has no POSIX signals")
@pytest.mark.parametrize("kind", KINDS)
def test_kill_and_continue_loses_nothing(kind, tmp_path):
    cases = write_set(tmp_path / "set", 80)
    troubled = mixture(3, **{"429": 0.1, "500": 0.05, "words": 0.05})
    with DrawingServer(latency=0.05) as server:
        # Nobody gets to the end before the signal does.
        server.plan = lambda call: troubled(call) if len(server.drawn) < 25 else "hang"
        call = f"{kind}:model,base_url={server.base_url(kind)},timeout=600"
        command = [sys.executable, "-m", "medebench", "edit", str(cases), "--editor", call]
        command += ["--out", str(tmp_path / "run")]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_until(lambda: len(server.drawn) >= 25)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(0.2)
        before = sum(server.drawn.values())
        assert 25 <= before < 80
        server.plan = always("ok")
        run = mb.edit(cases, find_system(call), tmp_path / "run")
        rows = rows_of(run)
        assert len(rows) == 80
        for (case, _), row in rows.items():
            assert row.reason is not None or difference(run, case) == 0.0
        # Only what was on its way when the process died is asked for again: eight at once.
        again = sum(count - 1 for count in server.drawn.values())
        assert again <= 8
        assert not list(run.path.rglob(".medebench-tmp-*"))


def test_a_budget_stops_in_time_and_more_money_goes_on(tmp_path, monkeypatch):
    prices = {"models": {"gemini:gemini-2": {"in": 0, "out": 0, "image_out": 1000}}}
    (tmp_path / "prices.json").write_text(json.dumps(prices))
    monkeypatch.setenv("MEDEBENCH_PRICES", str(tmp_path / "prices.json"))
    cases = write_set(tmp_path / "set", 12)
    with DrawingServer() as server:
        settings = settings_for(server, "gemini", model="gemini-2")
        plan = estimate_generation(cases, "gemini", tmp_path / "run", settings=settings)
        assert plan.calls == 12 and plan.cost == pytest.approx(12 * 1.29)
        with pytest.raises(MedebenchError, match=r"8 outputs were not tried: .*max-cost"):
            mb.edit(cases, "gemini", tmp_path / "run", settings={**settings, "max_cost": 6.0})
        assert len(server.calls) == 4
        rows = rows_of(mb.open_run(tmp_path / "run"))
        assert len(rows) == 4 and all(row.reason is None for row in rows.values())
        assert sum(row.detail["cost"] for row in rows.values()) == pytest.approx(4 * 1.29)
        run = mb.edit(cases, "gemini", tmp_path / "run", settings={**settings, "max_cost": 20.0})
        assert len(rows_of(run)) == 12 and len(server.calls) == 12
        assert estimate_generation(cases, "gemini", tmp_path / "run", settings=settings).calls == 0


def test_a_sweep_has_one_budget_and_each_run_its_own(tmp_path, monkeypatch):
    prices = {"models": {"gemini:gemini-2": {"in": 0, "out": 0, "image_out": 1000}}}
    (tmp_path / "prices.json").write_text(json.dumps(prices))
    monkeypatch.setenv("MEDEBENCH_PRICES", str(tmp_path / "prices.json"))
    cases = write_set(tmp_path / "set", 3)

    def sweep(server):
        given = settings_for(server, "gemini", model="gemini-2", max_cost=6.0)
        return [find_system("gemini", {**given, "temperature": one}) for one in (0.1, 0.5, 0.9)]

    with DrawingServer() as server:
        with pytest.raises(MedebenchError, match=r"5 outputs were not tried: .*max-cost"):
            mb.edit(cases, sweep(server), tmp_path / "run")
        assert len(server.calls) == 4
        with pytest.raises(MedebenchError, match=r"1 outputs were not tried: .*max-cost"):
            mb.edit(cases, sweep(server), tmp_path / "run")
        assert len(server.calls) == 8
        run = mb.edit(cases, sweep(server), tmp_path / "run")
        assert len(server.calls) == 9 and len(rows_of(run)) == 9
        # The reported run has what the sweep has paid for.
        mb.edit(cases, sweep(server)[1], tmp_path / "reported")
        assert len(server.calls) == 9


def test_answers_without_a_picture_are_not_paid_for_run_after_run(tmp_path, monkeypatch):
    prices = {"models": {"gemini:gemini-2": {"in": 1000, "out": 0, "image_out": 1000}}}
    (tmp_path / "prices.json").write_text(json.dumps(prices))
    monkeypatch.setenv("MEDEBENCH_PRICES", str(tmp_path / "prices.json"))
    cases = write_set(tmp_path / "set", 1)
    with DrawingServer(always("words")) as server:
        given = settings_for(server, "gemini", model="gemini-2", max_cost=1.8)
        for _ in range(3):
            run = mb.edit(cases, "gemini", tmp_path / "run", settings=given)
        assert len(server.calls) == 1
    (row,) = rows_of(run).values()
    assert "text only" in row.reason and "max-cost" in row.reason
    assert row.detail["cost"] == pytest.approx(0.3)


def test_another_seed_is_asked_anew(tmp_path):
    cases = write_set(tmp_path / "set", 2)
    with DrawingServer() as server:
        settings = settings_for(server, "openai-image")
        for number, seed in enumerate([0, 1, 0, 1]):
            mb.edit(cases, "openai-image", tmp_path / f"{number}", settings=settings, seed=seed)
    assert len(server.calls) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_dry_run_makes_no_call(kind, tmp_path):
    from typer.testing import CliRunner

    from medebench.cli import app

    cases = write_set(tmp_path / "set", 3)
    with DrawingServer() as server:
        call = f"{kind}:model,base_url={server.base_url(kind)}"
        words = ["edit", str(cases), "--editor", call, "--out", str(tmp_path / "run"), "--dry-run"]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0 and "3 calls" in result.output, result.output
        assert len(server.calls) == 0
    assert not (tmp_path / "run").exists()


def test_a_wrong_key_writes_no_reason_and_a_right_one_goes_on(tmp_path):
    cases = write_set(tmp_path / "set", 30)
    with DrawingServer(always("401")) as server:
        settings = settings_for(server, "gemini")
        with pytest.raises(MedebenchError, match=r"30 outputs were not tried: .*401"):
            mb.edit(cases, "gemini", tmp_path / "run", settings=settings)
        assert len(server.calls) < 20
        assert rows_of(mb.open_run(tmp_path / "run")) == {}
        server.plan = always("ok")
        assert len(rows_of(mb.edit(cases, "gemini", tmp_path / "run", settings=settings))) == 30


def test_a_failed_case_is_asked_again_only_when_told(tmp_path):
    cases = write_set(tmp_path / "set", 3)
    with DrawingServer(always("words")) as server:
        settings = settings_for(server, "gemini", tries=1)
        run = mb.edit(cases, "gemini", tmp_path / "run", settings=settings)
        assert all("text only" in row.reason for row in rows_of(run).values())
        server.plan = always("ok")
        mb.edit(cases, "gemini", tmp_path / "run", settings=settings)
        assert len(server.calls) == 3
        mb.edit(cases, "gemini", tmp_path / "run", settings=settings, retry_failed=True)
        assert all(row.reason is None for row in rows_of(run).values())
        assert len(server.calls) == 6


def test_several_outputs_are_several_questions(tmp_path):
    with DrawingServer() as server:
        settings = settings_for(server, "openai-image")
        mb.edit(
            write_set(tmp_path / "set", 4),
            "openai-image",
            tmp_path / "run",
            settings=settings,
            outputs=3,
        )
    assert len(server.calls) == 12


def test_cases_of_the_task_are_shown(tmp_path):
    with DrawingServer() as server:
        settings = settings_for(server, "gemini", demonstrations=2)
        run = mb.edit(write_set(tmp_path / "set", 8), "gemini", tmp_path / "run", settings=settings)
        rows = rows_of(run)
    assert all(row.reason is None for row in rows.values()), rows
    for (case, _), row in rows.items():
        shown = row.detail["demonstrations"]
        assert len(shown) == 2 and case not in shown
    assert {len(call.images) for call in server.calls} == {5}


@pytest.mark.parametrize("kind", KINDS)
def test_the_key_appears_nowhere(kind, tmp_path, capfd):
    cases = write_set(tmp_path / "set", 2)
    password = "Tr0ub4dor-and-3"
    for number, behaviour in enumerate(["echo400", "echo401", "echo500", "words", "ok"]):
        with DrawingServer(in_turn(behaviour, behaviour, "ok")) as server:
            url = server.base_url(kind)
            if number % 2:
                # A login takes the place of OpenAI's key.
                url = url.replace("http://", f"http://ann:{password}@")
            settings = settings_for(server, kind, base_url=url)
            try:
                mb.edit(cases, kind, tmp_path / f"run-{number}", settings=settings)
            except MedebenchError as error:
                assert KEY not in str(error) and password not in str(error)
            sent = json.dumps([call.headers for call in server.calls])
            assert KEY in sent or number % 2
    seen = list(tmp_path.rglob("*"))
    assert any(path.name == "run.json" for path in seen)
    for path in seen:
        if path.is_file():
            content = path.read_bytes()
            assert KEY.encode() not in content and password.encode() not in content, path
    printed = "".join(capfd.readouterr())
    assert KEY not in printed and password not in printed
