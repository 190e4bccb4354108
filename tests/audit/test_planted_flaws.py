"""The table of docs/audit.md, on fewer cases: what is planted is found, what is healthy is not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import medebench as mb
from medebench.cases import CaseSet
from tests.conftest import load_tool

PLANT = load_tool("planted_flaws")


def check(counts: Counter[tuple[str, str]], least: int) -> None:
    for kind in {kind for kind, _ in counts}:
        planted, found = counts[kind, "planted"], counts[kind, "found"]
        assert planted >= least, kind
        assert found >= 0.95 * planted, (kind, found, planted)
        assert counts[kind, "alarms"] <= 0.01 * counts[kind, "healthy"], kind
    assert counts["mojibake", "undone"] >= 0.95 * counts["mojibake", "planted"]


def test_flaws_planted_into_phantoms_are_found() -> None:
    check(PLANT.rates(mb.load_cases("phantoms:count=26"), [0]), 20)


def test_flaws_planted_into_the_excerpt_are_found(excerpt: Path) -> None:
    cases = mb.load_cases(excerpt)
    check(PLANT.rates(cases, [7]), 20)
    wrong, every = PLANT.false_alarms(cases)
    assert every > 200 and wrong == []


@pytest.mark.parametrize("seed", [0, 5])
def test_nothing_is_found_in_phantoms(seed: int) -> None:
    cases: CaseSet = mb.load_cases(f"phantoms:count=26,seed={seed}")
    assert mb.check_cases(cases).findings == ()
