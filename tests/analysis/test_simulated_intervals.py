"""A quick version of the documented simulation; `tools/simulate_intervals.py` has the figures.

Draws are fixed by their seed, so the outcome is the same on every machine.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from tests.conftest import load_tool

SETS = 600
#: 93 %, less two standard errors of so many sets.
LEAST = 93 - 200 * np.sqrt(0.93 * 0.07 / SETS)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_tool("simulate_intervals")


@pytest.mark.parametrize("sources", [4, 5, 10, 20])
@pytest.mark.parametrize(
    "shape", ["symmetric", "near 1 (CP-like)", "80 % zeros", "judge's tenths", "two heaps"]
)
def test_means_over_cases_hold_the_truth(tool: ModuleType, shape: str, sources: int) -> None:
    held = tool.over_cases(tool.BY_NAME[shape], range(sources), SETS)
    assert held.given == SETS
    assert held.percent >= LEAST
    if shape != "80 % zeros":
        assert held.percent <= 97.9


@pytest.mark.parametrize("name", ["1 2 3 4", "1 1 2 2 3 4", "1 1 1 1 2 2 3 6 9 12"])
@pytest.mark.parametrize("shape", ["symmetric", "near 1 (CP-like)", "judge's tenths"])
def test_unequal_clusters_hold_the_truth(tool: ModuleType, shape: str, name: str) -> None:
    sizes = tool.SIZES[name]
    codes = np.repeat(np.arange(len(sizes)), sizes).tolist()
    assert tool.over_cases(tool.BY_NAME[shape], codes, SETS).percent >= LEAST


@pytest.mark.parametrize("shape", ["80 % zeros", "95 % ones"])
def test_pictures_that_decide_by_their_size_hold_the_truth(tool: ModuleType, shape: str) -> None:
    """Cases of one picture are nearly alike, and most pictures have one value."""
    codes = np.repeat(np.arange(10), tool.SIZES["1 to 10"]).tolist()
    found = tool.over_cases(tool.BY_NAME[shape], codes, SETS, share=tool.VERY_ALIKE)
    assert found.percent >= LEAST


@pytest.mark.parametrize("sources", [4, 5, 10])
@pytest.mark.parametrize("shape", ["PSNR-like", "LPIPS-like", "reward-like", "reward-like, skewed"])
def test_scores_without_two_ends_hold_the_truth(tool: ModuleType, shape: str, sources: int) -> None:
    held = tool.over_cases(tool.BY_NAME[shape], range(sources), SETS)
    assert LEAST <= held.percent <= 98.4


@pytest.mark.parametrize("organs", ["6 organs x 2", "13 organs x 3", "2 2 2 8 8 20"])
@pytest.mark.parametrize("shape", ["symmetric", "near 1 (CP-like)", "80 % zeros"])
def test_means_over_organs_hold_the_truth(tool: ModuleType, shape: str, organs: str) -> None:
    held = tool.over_organs((tool.BY_NAME[shape],), tool.ORGANS[organs], SETS)
    assert held.given == SETS
    assert held.percent >= LEAST


@pytest.mark.parametrize("sources", [4, 6, 20])
@pytest.mark.parametrize("pair", range(11))
def test_differences_hold_the_truth_and_equal_means_are_not_told_apart(
    tool: ModuleType, pair: int, sources: int
) -> None:
    first, second, common = tool.PAIRS[pair]
    found = tool.between_runs(tool.BY_NAME[first], tool.BY_NAME[second], common, sources, SETS // 2)
    assert found.interval.percent >= 93 - 200 * np.sqrt(0.93 * 0.07 / (SETS // 2))
    assert found.wrong <= 7.5


def test_sign_flips_alone_call_equal_means_of_unlike_skew_different(tool: ModuleType) -> None:
    """Why p is the larger of two."""
    shapes = tool.BY_NAME["80 % failures, else 1"], tool.BY_NAME["symmetric"]
    found = tool.between_runs(*shapes, 0.0, 6, SETS // 2)
    assert found.wrong_by_flips > 8
    assert found.wrong < 2


@pytest.mark.parametrize("truth", [0.05, 0.5])
def test_shares_hold_the_truth(tool: ModuleType, truth: float) -> None:
    for sources in (4, 10, 50):
        assert tool.of_shares(truth, sources, SETS).percent >= 92


def test_rank_correlations_hold_the_truth_from_eight_sources_on(tool: ModuleType) -> None:
    assert tool.of_ranks(0.6, 6, 20).given == 0
    for rho in (0.0, 0.6):
        assert tool.of_ranks(rho, 10, SETS // 2).percent >= LEAST
