"""What the tests of wrapping editors share: a model on a local server, and editors to wrap."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import medebench as mb
from medebench.runs.ledger import OutputRow
from tests.models.server import Call, FakeServer

KEY = "sk-very-secret-0123456789abcdef"
NEW = "In the middle of the picture, replace the round dark spot by even skin; leave the rest."

#: Editors that tell what they were told, or do what they are told beforehand.
EDITORS = """
import threading
import time
from collections import Counter

import numpy as np

import medebench as mb
from medebench.models import Plan


class Echo:
    summary, sees, control = "tells what it was told", ("roi",), False
    at_once = 12

    def __init__(self, settings):
        self.closed = self.prepared = 0

    def prepare(self):
        self.prepared += 1

    def close(self):
        self.closed += 1

    def edit(self, request):
        told = {"told": request.instruction, "seed": request.seed}
        heat = np.zeros((4, 4), np.float32)
        return mb.Edit(request.case.previous, told | {"attention": {"concept": "mole"}}, heat)

    def estimate(self, requests):
        count = len(list(requests))
        return Plan(count, 0, 10 * count, 0, 1.0 * count, 2.0 * count)


class Lacking(Echo):
    demonstrations = 2

    def problems(self):
        return ["no weights; fetch them"]


class Refusing(Echo):
    def edit(self, request):
        raise mb.Refused("not this one", {"said": "no"})


class Dear(Echo):
    def edit(self, request):
        raise mb.Refused("not for this money", {"cost": 0.5})


class Broken(Echo):
    def edit(self, request):
        return {"not": "a picture"} if request.k else 1 / 0


class Batched:
    summary, sees, control, batch = "owns a device", (), False, 4
    now = most = 0

    def __init__(self, settings):
        pass

    def edit(self, request):
        kind = type(self)
        kind.now += 1
        kind.most = max(kind.most, kind.now)
        time.sleep(0.005)
        kind.now -= 1
        return request.case.previous

    def edit_batch(self, requests):
        raise AssertionError("calls are to overlap with editing")


class Few:
    '''Says how many may call it; an instance knows how many did.'''

    summary, sees, control = "has little room", (), False

    class Settings(mb.Settings):
        room: int

    def __init__(self, settings):
        self.at_once = settings.room
        self.now = self.most = 0
        self.full = threading.Condition()

    def edit(self, request):
        with self.full:
            self.now += 1
            self.most = max(self.most, self.now)
            self.full.notify_all()
            # Until as many have come as may; should more come, they come meanwhile.
            self.full.wait_for(lambda: self.most >= self.at_once, 600)
        time.sleep(0.02)
        with self.full:
            self.now -= 1
        return request.case.previous


class Scripted:
    '''Goes the n-th share of the way to the reference at the n-th attempt; x: refuses.'''

    summary, sees, control = "does as planned", (), False

    class Settings(mb.Settings):
        shares: str

    def __init__(self, settings):
        self.shares = settings.shares.split("/")
        self.made = Counter()

    def edit(self, request):
        case = request.case
        number = self.made[case.case.id, request.k]
        self.made[case.case.id, request.k] += 1
        share = self.shares[min(number, len(self.shares) - 1)]
        if share.startswith("x"):
            raise mb.Refused(f"refused {share[1:]}")
        change = case.reference.astype(float) - case.previous
        return np.uint8(np.round(case.previous + float(share) * change))
"""


def write_editors(folder: Path) -> Callable[[str], str]:
    path = folder / "wrapped_editors.py"
    path.write_text(EDITORS)
    return lambda name: f"{path}:{name}"


def wants(call: Call) -> str:
    """Which kind of answer a call asks for, by its schema."""
    form = call.body["response_format"]["json_schema"]["schema"]["properties"]
    return "rewrite" if "instruction" in form else "judge"


def order(text: str) -> str:
    return json.dumps({"instruction": text})


def verdict(accuracy: float, quality: float = 8) -> str:
    return json.dumps(
        {
            "differences": ["the spot is paler", "the border is soft"],
            "editing_accuracy": {"reason": "the spot can still be seen", "score": accuracy},
            "visual_quality": {"reason": "a soft seam", "score": quality},
        }
    )


def saying(*answers: str) -> FakeServer:
    """The n-th turn with the model ends in the n-th answer, then in the last."""

    def answer(call: Call) -> str:
        said = sum(message["role"] == "assistant" for message in call.body["messages"])
        return answers[min(said, len(answers) - 1)]

    return FakeServer(answer=answer)


def at(server: FakeServer) -> str:
    return f"base_url={server.base_url('openai')}"


def outputs(run: mb.Run) -> dict[tuple[str, int], OutputRow]:
    with run.ledger() as ledger:
        return ledger.outputs()


def details(run: mb.Run) -> list[dict[str, Any]]:
    return [row.detail for row in outputs(run).values()]


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def files(run: mb.Run) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(run.edits.iterdir())}


def surround(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache, a key and prices of the test's own."""
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr("medebench.models.retry.FIRST_WAIT", 0.05)
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"models": {"openai:priced": {"in": 1000, "out": 1000}}}))
    monkeypatch.setenv("MEDEBENCH_PRICES", str(prices))
