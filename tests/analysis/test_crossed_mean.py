"""Means of cases crossed with draws and seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from medebench.analysis import Mean, macro_mean, mean
from medebench.analysis.crossed_design import CrossedDesign
from medebench.analysis.crossed_mean import crossed_mean
from medebench.analysis.interval import UNIT
from medebench.analysis.mean_test import detectable, p_value, power, smallest

CASES, DRAWS, SEEDS = 12, 4, 3
Labels = dict[str, Any]


def table(
    cases: int = CASES, draws: int = DRAWS, seeds: int = SEEDS, *, apart: float = 1.0, seed: int = 0
) -> tuple[np.ndarray, Labels]:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(cases, 1, 1)) + apart * rng.normal(size=(1, draws, 1))
    values = values + 0.5 * rng.normal(size=(1, draws, seeds)) + rng.normal(size=(cases, draws, 1))
    values = values + rng.normal(size=(cases, draws, seeds))
    return values, labels(values)


def labels(values: np.ndarray) -> Labels:
    case, draw, seed = (axis.ravel() for axis in np.indices(values.shape))
    return {"sources": case, "draws": draw, "seeds": seed}


def found(values: np.ndarray, given: Labels, **more: Any) -> Mean:
    one = crossed_mean(np.ravel(values), **given, **more)
    assert one is not None
    return one


def mean_squares(values: np.ndarray) -> dict[str, float]:
    """The analysis of variance as a textbook has it, level by level."""
    c, d, s = values.shape
    total = values.mean()
    squares = dict.fromkeys(("case", "draw", "cell", "seed", "rest"), 0.0)
    for i in range(c):
        squares["case"] += d * s * (values[i].mean() - total) ** 2
        for j in range(d):
            cell = values[i, j].mean() - values[i].mean() - values[:, j].mean() + total
            squares["cell"] += s * cell**2
            for k in range(s):
                own = values[i, j, k] - values[i, j].mean() - values[:, j, k].mean()
                squares["rest"] += (own + values[:, j].mean()) ** 2
    for j in range(d):
        squares["draw"] += c * s * (values[:, j].mean() - total) ** 2
        for k in range(s):
            squares["seed"] += c * (values[:, j, k].mean() - values[:, j].mean()) ** 2
    freedom = {"case": c - 1, "draw": d - 1, "cell": (c - 1) * (d - 1), "seed": d * (s - 1)}
    freedom["rest"] = d * (c - 1) * (s - 1)
    return {name: squares[name] / freedom[name] for name in squares}


@pytest.mark.parametrize("seed", range(4))
def test_a_full_table_is_the_textbook_analysis_of_variance(seed: int) -> None:
    values, given = table(seed=seed, apart=1.5)
    ms, n = mean_squares(values), values.size
    one = found(values, given)
    case = ms["case"] * (1 + 1 / CASES)  # for the skew that scores without ends may have
    assert one.value == pytest.approx(values.mean())
    assert ms["draw"] > 1.2 * ms["cell"]
    assert one.variance == pytest.approx((case + ms["draw"] - ms["cell"]) / n)
    terms = case**2 / (CASES - 1) + ms["draw"] ** 2 / (DRAWS - 1)
    terms += ms["cell"] ** 2 / (CASES - 1) / (DRAWS - 1)
    seen = (one.variance * n) ** 2 / terms
    assert one.freedom == pytest.approx((seen + min(seen, DRAWS - 1)) / 2)


def test_every_level_of_a_full_table_is_that_of_the_textbook() -> None:
    values, given = table(seed=7)
    ms, n = mean_squares(values), values.size
    same = np.zeros(n, dtype=int)
    design = CrossedDesign(tasks=same, folds=same, cases=given["sources"], **given)
    column, (group,) = values.reshape(-1, 1), design.groups
    parts = {
        "case": design.case_parts(design.influence(column))[0],
        "draw": design.draw_part(group, column),
        "cell": design.crossed_part(group, column),
        "seed": design.seed_part(group, column),
        "rest": design.rest_part(group, column),
    }
    freedoms = (CASES - 1, DRAWS - 1, (CASES - 1) * (DRAWS - 1), DRAWS * (SEEDS - 1))
    freedoms += (DRAWS * (CASES - 1) * (SEEDS - 1),)
    for (name, part), freedom in zip(parts.items(), freedoms, strict=True):
        assert part.variance[0] * n == pytest.approx(ms[name]), name
        assert part.freedom == freedom


def test_without_noise_it_is_the_textbook_interval_over_draws_or_over_cases() -> None:
    draws = np.array([0.1, 0.5, 0.4, 0.9])
    values = np.broadcast_to(draws[None, :, None], (CASES, 4, 2))
    one = found(values, labels(values))
    expected = stats.t.interval(0.95, 3, draws.mean(), stats.sem(draws))
    assert one.interval() == pytest.approx(expected)
    cases = np.arange(10.0) ** 1.5
    values = np.broadcast_to(cases[:, None, None], (10, 3, 2))
    assert found(values, labels(values)).interval() == pytest.approx(
        mean(cases, np.arange(10)).interval()  # type: ignore[union-attr]
    )


def test_the_variance_is_right_on_average_and_with_gaps_too() -> None:
    """Against the spread of the means themselves, over many made-up tables."""
    many, keep = 3000, np.random.default_rng(5).random((10, 4, 2)) > 0.15
    rng = np.random.default_rng(1)
    values = rng.normal(size=(many, 10, 1, 1)) + rng.normal(size=(many, 1, 4, 1))
    values = values + rng.normal(size=(many, 10, 4, 1)) + rng.normal(size=(many, 10, 4, 2))
    rows = {name: each[keep.ravel()] for name, each in labels(values[0]).items()}
    same = np.zeros(int(keep.sum()), dtype=int)
    design = CrossedDesign(tasks=same, folds=same, cases=rows["sources"], **rows)
    columns = values.reshape(many, -1)[:, keep.ravel()].T
    (group,), (case,) = design.groups, design.case_parts(design.influence(columns))
    estimated = case.variance + design.draw_part(group, columns).variance
    estimated = estimated - design.crossed_part(group, columns).variance
    assert estimated.mean() == pytest.approx(design.mean(columns).var(), rel=0.06)


def test_a_missing_value_changes_little_and_a_missing_column_nothing_but_the_count() -> None:
    values, given = table()
    whole = found(values, given)
    holed = values.copy()
    holed[0, 0, 0] = np.nan
    one = found(holed, given)
    assert (one.n, whole.n) == (values.size - 1, values.size)
    assert one.variance == pytest.approx(whole.variance, rel=0.1)
    # A case that is missing altogether is as if it had never been asked about.
    holed = values.copy()
    holed[3] = np.nan
    rest = np.delete(values, 3, axis=0)
    assert found(holed, given).interval() == pytest.approx(found(rest, labels(rest)).interval())


def test_each_case_counts_the_same_whatever_is_missing() -> None:
    values = np.repeat([0.0, 1.0, 2.0, 3.0], 6).reshape(4, 3, 2).copy()
    values[3, 1:] = np.nan
    assert found(values, labels(values)).value == pytest.approx(1.5)


def test_order_names_shift_and_scale_do_not_matter() -> None:
    values, given = table()
    one, order = found(values, given), np.random.default_rng(3).permutation(values.size)
    mixed = {name: each[order] for name, each in given.items()}
    assert found(values.ravel()[order], mixed) == one
    renamed = {name: [f"x{each}" for each in given["sources"]] for name in ["sources"]}
    other = found(-3 * values + 5, given | renamed)
    assert other.value == pytest.approx(-3 * one.value + 5)
    assert other.variance == pytest.approx(9 * one.variance)
    assert other.freedom == pytest.approx(one.freedom)


def test_cases_of_one_picture_are_one() -> None:
    values, given = table()
    twice = np.concatenate([values, values])
    more = labels(twice)
    one = found(twice, more | {"sources": more["sources"] % CASES}, cases=more["sources"])
    assert one.sources == CASES
    assert one.interval() == pytest.approx(found(values, given).interval())


def test_what_was_not_drawn_has_cases_only() -> None:
    rng = np.random.default_rng(2)
    data, pictures = rng.random(20), np.arange(20) // 2
    one = crossed_mean(data, sources=pictures, cases=np.arange(20), draws=-1, seeds=-1, bounds=UNIT)
    plain = mean(data, pictures, UNIT)
    assert one is not None
    assert plain is not None
    assert one.interval() == pytest.approx(plain.interval())


def test_tasks_count_the_same_and_have_draws_of_their_own() -> None:
    first, given = table(seed=1)
    second, _ = table(seed=2)
    both = np.concatenate([first.ravel(), 3 + second.ravel()])
    more = {name: np.concatenate([each, each]) for name, each in given.items()}
    more["sources"] = np.concatenate([given["sources"], 100 + given["sources"]])
    task = np.repeat([0, 1], first.size)
    one, own = found(both, more, tasks=task, folds=0), [found(t, given) for t in (first, second)]
    assert one.value == pytest.approx((own[0].value + own[1].value + 3) / 2)
    # Not the same to the last digit: what is added for skew is less where sources are more.
    assert one.variance == pytest.approx(sum(each.variance for each in own) / 4, rel=0.06)
    assert one.freedom > max(each.freedom for each in own)
    # Without draws it is the mean over groups that the rest of the package has.
    flat = np.random.default_rng(4).random(16)
    groups = np.repeat([0, 1], 8)
    macro = macro_mean(flat, groups, np.arange(16))
    plain = crossed_mean(flat, sources=np.arange(16), draws=-1, seeds=-1, tasks=groups)
    assert macro is not None
    assert plain is not None
    assert (plain.value, plain.variance) == pytest.approx((macro.value, macro.variance), rel=0.05)


def test_folds_do_not_mistake_the_luck_of_their_draws_for_that_of_cases() -> None:
    values = np.zeros((8, 2, 1))
    values[:4] = [[0.0], [1.0]]
    values[4:] = [[10.0], [11.0]]
    given, fold = labels(values), np.repeat([0, 1], 8)
    one = found(values, given, folds=fold)
    # Cases of a fold say the same; each fold has two draws that are 1 apart.
    assert one.variance == pytest.approx(2 * (0.25 * 0.25))
    assert found(values, given).variance > 10 * one.variance


def test_a_small_pool_widens_the_interval_until_it_is_about_the_pool_itself() -> None:
    values, given = table(apart=3.0)
    widths = []
    for overlap in (0.0, 0.1, 0.4, 0.6):
        low, high = found(values, given, overlap=overlap).interval()  # type: ignore[misc]
        widths.append(high - low)
    assert widths[0] < widths[1] < widths[2]
    assert widths[3] == widths[0]
    ms, n = mean_squares(values), values.size
    own = ms["draw"] - ms["cell"] - (ms["seed"] - ms["rest"]) / 2
    more = found(values, given, overlap=0.4).variance - found(values, given).variance
    assert more == pytest.approx(0.4 / 0.6 * DRAWS * own / n)


def test_too_little_has_no_interval_but_a_word() -> None:
    one_draw, _ = table(draws=1)
    few_cases, _ = table(cases=3)
    assert found(one_draw, labels(one_draw)).reason == (
        "no interval: a single draw of training pairs"
    )
    assert found(few_cases, labels(few_cases)).reason == "no interval: 3 source images"
    assert crossed_mean([np.nan], sources=[0], draws=[0], seeds=[0]) is None
    same = found(np.ones((6, 3, 2)), labels(np.ones((6, 3, 2))))
    assert same.reason == "no interval: all source images say the same"
    for one in (found(one_draw, labels(one_draw)), same):
        assert (one.interval(), p_value(one), detectable(one)) == (None, None, None)


def test_two_draws_have_one_degree_of_freedom() -> None:
    values, given = table(draws=2)
    assert found(values, given).freedom == 1


def test_a_score_from_0_to_1_stays_there() -> None:
    values = np.clip(0.9 + 0.1 * table(apart=0.5)[0], 0, 1)
    low, high = found(values, labels(values), bounds=UNIT).interval()  # type: ignore[misc]
    assert 0 < low < values.mean() < high <= 1


@pytest.mark.parametrize("freedom", [2.0, 4.5, 29.0])
def test_power_is_that_of_the_noncentral_t(freedom: float) -> None:
    t = stats.t.ppf(0.975, freedom)
    assert power(0.3, 0.1, freedom) == pytest.approx(stats.nct.sf(t, freedom, 3))
    assert power(0.0, 0.1, freedom) == pytest.approx(0.05)
    middle = stats.chi2.median(freedom) / freedom
    assert power(smallest(0.1, freedom), 0.1 / np.sqrt(middle), freedom) == pytest.approx(0.8)


def test_p_says_the_same_as_the_interval() -> None:
    for seed in range(30):
        one = found(0.7 + table(seed=seed)[0], table()[1])
        low, high = one.interval()  # type: ignore[misc]
        assert (p_value(one) <= 0.05) == (not low <= 0 <= high)  # type: ignore[operator]
