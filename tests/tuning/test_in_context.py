"""What reaches a model that is shown pairs: those of the draw, in its order, and nothing else."""

from __future__ import annotations

import io
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.audit.related_cases import kin
from medebench.runs.run_folder import open_run
from tests.conftest import REPOSITORY, write_set
from tests.models.drawing_server import DrawingServer
from tests.models.server import Call
from tests.patience import wait_until
from tests.tiny_pipelines import QUIET, tiny_instruct_pix2pix
from tests.tuning import in_context_script
from tests.tuning.in_context_script import show

pytestmark = QUIET

COUNT = 12
KEY = "sk-very-secret-0123456789abcdef"


@pytest.fixture(autouse=True)
def own_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    monkeypatch.setattr("medebench.models.retry.FIRST_WAIT", 0.02)


@pytest.fixture
def cases(tmp_path) -> Path:
    """3 is a copy of 1, 7 shows its reference: three of one group, wherever they fall."""
    folder = write_set(tmp_path / "set", COUNT, Organ="Skin", Task="Remove moles")
    editing = folder / "editing"
    shutil.copy(editing / "previous/1.png", editing / "previous/3.png")
    shutil.copy(editing / "changed/1.png", editing / "changed/7.png")
    return folder


@pytest.fixture(scope="module")
def system(tmp_path_factory) -> str:
    return f"diffusers:{tiny_instruct_pix2pix(tmp_path_factory.mktemp('tiny'))},steps=1,size=64"


def called(server: DrawingServer) -> str:
    return f"gemini:model,base_url={server.base_url('gemini')},at_once=1"


def pictures(cases: Path) -> dict[bytes, tuple[str, str]]:
    """By its pixels, case and role of a picture; of equal ones the first."""
    found: dict[bytes, tuple[str, str]] = {}
    for case in mb.load_cases(cases):
        opened = mb.open_case(case)
        for role, picture in (("previous", opened.previous), ("reference", opened.reference)):
            found.setdefault(picture.tobytes(), (case.id, role))
    return found


def arrived(call: Call, known: dict[bytes, tuple[str, str]]) -> list[tuple[str, str]]:
    """Which pictures a call has besides its own, the last one, which is padded."""
    found = []
    for data in call.images[:-1]:
        with Image.open(io.BytesIO(data)) as image:
            found.append(known[np.asarray(image.convert("RGB")).tobytes()])
    return found


def asked(call: Call) -> str:
    """The case whose order comes last."""
    return re.findall(r"mole number (\d+)", call.texts[-1])[-1]


def test_exactly_the_pairs_of_the_draw_arrive_in_its_order(cases, system, tmp_path):
    known, groups = pictures(cases), kin(mb.load_cases(cases))
    assert groups["1"] == groups["3"] == groups["7"]
    with DrawingServer() as server:
        work = show(cases, system, called(server), tmp_path / "out")
    assert work.stopped == [] and not work.failures
    (fold,) = work.folder.split.folds
    assert len(fold.test) == 3 and len(server.calls) == 3 * (1 + 2 * 3)
    wanted = Counter(
        (case, draw[:count])
        for case in fold.test
        for count, draws in ((0, [()]), (1, fold.draws), (2, fold.draws), (3, fold.draws))
        for draw in draws
    )
    equal = {"3": "1"}
    found: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for call in server.calls:
        got = arrived(call, known)
        befores, afters = got[::2], got[1::2]
        shown = [int(one) for one in re.findall(r"mole number (\d+)", call.texts[-1])[:-1]]
        assert [case for case, role in befores if role == "previous"] == [
            equal.get(str(one), str(one)) for one in shown
        ]
        assert [role for _, role in afters] == ["reference"] * len(shown)
        assert not {groups[str(one)] for one in shown} & {groups[one] for one in fold.test}
        found[asked(call), tuple(map(str, shown))] += 1
    assert found == wanted
    for one in work.shown_runs():
        for row in open_run(one.path).contents().outputs.values():
            assert tuple(row.detail.get("demonstrations", ())) == one.shown
    assert KEY not in (tmp_path / "out" / "tuning.json").read_text()


def test_nothing_is_paid_twice_after_a_kill(cases, system, tmp_path):
    out = tmp_path / "out"
    with DrawingServer(latency=0.05) as server:
        command = [sys.executable, in_context_script.__file__, cases, system, called(server), out]
        process = subprocess.Popen(command, cwd=REPOSITORY)
        wait_until(lambda: len(server.calls) >= 8)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = len(server.calls)
        work = show(cases, system, called(server), out)
        assert work.stopped == [] and before < 21
        # The answer that was under way never arrived.
        assert len(server.calls) <= 21 + 1
        again = len(server.calls)
        show(cases, system, called(server), out)
        assert len(server.calls) == again
