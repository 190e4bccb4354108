"""What the tests of systems that answer share: cases that ask for words, images or both.

`asked.py:questions`, `:painted`, `:mixed` are sets by name, so that a process that is killed can be
told of them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import medebench as mb
from medebench.cases import Case, CaseSet
from medebench.cases.case import Case as AnyCase
from medebench.files import cache_folder
from tests.conftest import draw
from tests.models.conftest import KEY_VARIABLES

HERE = __file__
KEY = "sk-very-secret-0123456789abcdef"
#: Says how many cases of each kind a set has, in this process and in those it starts.
COUNT = "ASKED_COUNT"
SIDES = ("A. left", "B. right", "C. both", "D. neither")


def picture(number: int, height: int = 48, width: int = 64) -> Path:
    folder = cache_folder() / "asked"
    path = folder / f"{number}-{width}x{height}.png"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw(number, height, width)).save(path)
    return path


def question(number: int = 1, **given: Any) -> Case:
    about = {"prompt": f"Which side is lesion {number} on?", "choices": SIDES, "answer": SIDES[0]}
    about |= {"task": "multiple-choice"} | given
    return Case(f"ask-{number}", picture(number), **about)


def order(number: int = 1, **given: Any) -> Case:
    about = {"prompt": f"Take organ {number} away.", "task": "organic-removal"}
    about |= {"answer": f"Organ {number} is gone.", "reference": picture(number + 1)} | given
    return Case(f"paint-{number}", picture(number), **about)


def change(number: int = 1, **given: Any) -> Case:
    about = {"prompt": f"Remove artifact {number}.", "task": "artifact-removal"}
    return Case(f"edit-{number}", picture(number), **about | {"reference": picture(1)} | given)


def questions(text: str = "", progress: Any = None) -> CaseSet:
    return CaseSet("asked", Path(HERE).parent, _each(question), text, task="medgen")


def painted(text: str = "", progress: Any = None) -> CaseSet:
    return CaseSet("asked", Path(HERE).parent, _each(order), text, task="medgen")


def mixed(text: str = "", progress: Any = None) -> CaseSet:
    cases = _each(question) + _each(change) + _each(order)
    return CaseSet("asked", Path(HERE).parent, cases, text, task="medgen")


def _each(make: Any) -> tuple[AnyCase, ...]:
    return tuple(make(number) for number in range(1, int(os.environ.get(COUNT, "6")) + 1))


def request(case: Case, *gives: Any, k: int = 0, seed: int = 7) -> mb.Request:
    return mb.Request(mb.open_case(case), k, seed, gives=gives or ("text",))


def rows_of(run: mb.Run) -> dict[str, Any]:
    with run.ledger() as ledger:
        return {case_id: row for (case_id, _), row in ledger.outputs().items()}


def text_of(run: mb.Run, case_id: str) -> str:
    return (run.edits / f"{case_id}_0.txt").read_text("utf-8")


def surround(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and a cache of the test's own."""
    for names in KEY_VARIABLES.values():
        for name in names:
            monkeypatch.setenv(name, KEY)
    for name in [name for name in os.environ if name.endswith("_BASE_URL")]:
        monkeypatch.delenv(name)
    for name in ("MEDEBENCH_PRICES", COUNT):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("medebench.models.retry.FIRST_WAIT", 0.02)
