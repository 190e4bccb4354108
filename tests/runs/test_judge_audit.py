"""Auditing judges that are perfect, lenient, or silent, over a real connection."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.judge import find_judge
from medebench.runs.judge_trials import CONTROLS, audit_judge
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
