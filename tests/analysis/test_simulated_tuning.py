"""A quick version of the documented simulation; `tools/simulate_tuning.py` has the figures."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tests.conftest import load_tool

STUDIES = 600


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_tool("simulate_tuning")


def worlds(tool: ModuleType) -> dict[str, object]:
    return {world.name: world for world in tool.WORLDS}


@pytest.mark.parametrize("size", [(3, 2), (5, 3)])
@pytest.mark.parametrize("share", ["none", "half", "most"])
@pytest.mark.parametrize("world", ["plain", "seeds as well", "skewed", "a tenth missing"])
def test_intervals_hold_and_tests_keep_their_level(
    tool: ModuleType, size: tuple[int, int], share: str, world: str
) -> None:
    seen = tool.simulate(
        worlds(tool)[world], tool.Plan(*size), tool.SHARES[share], studies=STUDIES, seed=3
    )
    # 93 to 97 %, and 3 to 7 %, with three standard errors of 600 studies on either side.
    assert 0.90 <= seen["covered"] <= 0.995
    assert 0.005 <= seen["trend"] <= 0.10
    assert 0.55 <= seen["power"] <= 0.95


def test_what_is_done_without_the_model_fails(tool: ModuleType) -> None:
    for size in ((3, 2), (5, 3)):
        seen = tool.simulate(
            worlds(tool)["plain"], tool.Plan(*size), tool.SHARES["half"], studies=STUDIES, seed=4
        )
        assert seen["covered"] > 0.9
        assert seen["bootstrap of draws"] < 0.6
        assert seen["t of outputs"] < 0.6


def test_a_pool_that_is_reused_is_not_taken_for_unlimited(tool: ModuleType) -> None:
    """Draws of 16 of 40 agree more than draws of other pairs would."""
    plan, share = tool.Plan(5, 3), tool.SHARES["most"]
    small = tool.simulate(worlds(tool)["plain"], plan, share, studies=STUDIES, seed=5)
    large = tool.simulate(worlds(tool)["pool of 160"], plan, share, studies=STUDIES, seed=5)
    used_up = tool.simulate(worlds(tool)["pool of 20"], plan, share, studies=STUDIES, seed=5)
    for seen in (small, large, used_up):
        assert seen["covered"] > 0.9
    assert small["bootstrap of draws"] < large["bootstrap of draws"] - 0.1


def test_the_simulation_is_the_same_each_time(tool: ModuleType) -> None:
    world, plan = worlds(tool)["0 or 1"], tool.Plan(3, 2, 8)
    first = tool.simulate(world, plan, 0.5, studies=20, seed=6)
    assert tool.simulate(world, plan, 0.5, studies=20, seed=6) == first
    assert tool.simulate(world, plan, 0.5, studies=20, seed=7) != first


def test_the_command_prints_a_table(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "--plans 3x2 --worlds plain --shares none half --cases 6 --studies 20"
    monkeypatch.setattr(sys, "argv", ["simulate_tuning.py", *words.split()])
    tool.main()
    head, line, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("| draws x seeds | scores | draws' part | covered |")
    assert [row.split("|")[3].strip() for row in rows] == ["none", "half"]
    assert {text.count("|") for text in (head, line, *rows)} == {head.count("|")}
