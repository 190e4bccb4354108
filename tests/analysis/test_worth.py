from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from medebench import analysis
from medebench.analysis import Bounds, Interval, holm, sign_flip_test
from medebench.analysis.agreement import agreement
from medebench.analysis.clusters import Floats
from medebench.analysis.ranked import Ranked, midranks
from medebench.analysis.worth import MetricWorth, Worths, metric_worths
from tests.analysis.conftest import study

Metrics = dict[str, Floats]


def drawn(
    seed: int, people: int, cases: int, models: int, *, gaps: float = 0.0
) -> tuple[Ranked, Metrics]:
    """People with ties and gaps, a good, a fair and a blind metric with ties and gaps."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(cases, models))
    seen = np.round(2 * (quality + 0.5 * rng.normal(size=(people, cases, models))))
    seen[rng.random(seen.shape) < gaps] = np.nan
    metrics = {
        "good": np.round(3 * (quality + 0.4 * rng.normal(size=quality.shape))),
        "fair": quality + 1.2 * rng.normal(size=quality.shape),
        "blind": rng.normal(size=quality.shape),
    }
    for values in metrics.values():
        values[rng.random(values.shape) < gaps] = np.nan
    return study(midranks(-seen), [f"s{c // 2:04}" for c in range(cases)]), metrics


def by_hand(
    people: Ranked, values: Floats, statistic: Callable[..., Any] = stats.spearmanr
) -> list[float | None]:
    """The number of each case by plain loops and SciPy; None where there is none."""
    found: list[float | None] = []
    for c in range(len(people.cases)):
        rankings = shared_rankings(people, c)
        models = list(rankings[0]) if rankings else []
        ours = [values[c, m] for m in models]
        theirs = [-float(np.mean([one[m] for one in rankings])) for m in models]
        found.append(correlation(ours, theirs, statistic))
    return found


def shared_rankings(people: Ranked, c: int) -> list[dict[int, float]]:
    """For each person who ranked two models of the case, the places of those that all ranked."""
    own = [
        [m for m in range(len(people.models)) if not np.isnan(ranks[c, m])]
        for ranks in people.ranks
    ]
    raters = [a for a, models in enumerate(own) if len(models) > 1]
    shared = sorted(set.intersection(*(set(own[a]) for a in raters))) if raters else []
    return [
        dict(zip(shared, stats.rankdata(people.ranks[a, c, shared]).tolist(), strict=True))
        for a in raters
    ]


def correlation(
    ours: Sequence[float], theirs: Sequence[float], statistic: Callable[..., Any] = stats.spearmanr
) -> float | None:
    if len(ours) < 3 or np.isnan(ours).any() or len(set(ours)) == 1 or len(set(theirs)) == 1:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(statistic(ours, theirs).statistic)


def named(worths: Worths) -> dict[str, MetricWorth]:
    return {one.metric: one for one in worths.metrics}


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(3, 7), st.sampled_from([0.0, 0.3]))
def test_rho_and_tau_are_scipys_averaged_over_cases(
    seed: int, annotators: int, models: int, gaps: float
) -> None:
    people, metrics = drawn(seed, annotators, 8, models, gaps=gaps)
    found = named(metric_worths(people, metrics, resamples=20))
    of = sum(bool((~np.isnan(people.ranks[:, c])).any()) for c in range(8))
    for name, values in metrics.items():
        pairs = ((found[name].rho, stats.spearmanr), (found[name].tau, stats.kendalltau))
        for estimate, statistic in pairs:
            known = [one for one in by_hand(people, values, statistic) if one is not None]
            assert (estimate.n, estimate.of) == (len(known), of)
            if known:
                assert estimate.value == pytest.approx(np.mean(known), abs=1e-12)
            else:
                assert estimate.value is None
                assert estimate.reason
            assert (estimate.n < of) == ("no rho in" in estimate.reason)
            assert estimate.interval is None or np.isfinite(estimate.interval).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 9))
def test_one_annotator_without_ties_gives_the_papers_formula(seed: int, models: int) -> None:
    rng = np.random.default_rng(seed)
    ranks = np.stack([rng.permutation(models) + 1.0 for _ in range(6)])
    values = rng.normal(size=ranks.shape)
    theirs = []
    for c in range(6):
        places = (-values[c]).argsort().argsort() + 1
        d2 = ((places - ranks[c]) ** 2).sum()
        theirs.append(1 - 6 * d2 / (models * (models**2 - 1)))
    [found] = metric_worths(study(ranks[None]), {"x": values}, resamples=10).metrics
    assert found.rho.value == pytest.approx(np.mean(theirs), abs=1e-12)


def test_higher_is_better_and_rank_one_is_best() -> None:
    ranks = np.tile([1.0, 2.0, 3.0, 4.0], (2, 6, 1))
    metrics = {"same": -ranks[0], "reversed": ranks[0]}
    worths = metric_worths(study(ranks), metrics, resamples=50)
    assert [one.metric for one in worths.metrics] == ["same", "reversed"]
    first, last = worths.metrics
    assert (first.rho.value, first.best) == (1.0, 1.0)
    assert first.rho.interval is None  # no spread says nothing about how sure it is
    assert first.corrected is None
    assert first.rho.reason == "no interval: all source images say the same"
    assert (last.rho.value, last.tau.value, last.best) == (-1.0, -1.0, 0.0)
    assert first.behind is None
    assert first.p is None
    assert last.behind is not None
    assert last.behind.value == 2.0
    assert worths.ceiling.value == 1.0


def test_an_infinite_value_is_a_place_like_another() -> None:
    ranks = np.tile([1.0, 2.0, 3.0], (1, 4, 1))
    values = np.tile([np.inf, 30.0, 20.0], (4, 1))
    [found] = metric_worths(study(ranks), {"psnr": values}, resamples=10).metrics
    assert found.rho.value == 1.0


def test_what_is_missing_is_counted_by_cause() -> None:
    ranks = np.tile([1.0, 2.0, 3.0, 4.0], (1, 10, 1))
    ranks[0, 0] = 2.5  # tied all
    ranks[0, 1, 1:] = np.nan  # ranked one
    ranks[0, 2] = np.nan  # ranked nothing
    values = np.tile([4.0, 3.0, 2.0, 1.0], (10, 1))
    values[3] = 7.0  # constant
    values[4] = 7.0
    values[5, :2] = np.nan
    values[6] = [np.nan, 5.0, 4.0, 3.0]  # three left, but people ranked four
    [found] = metric_worths(study(ranks), {"x": values}, resamples=50).metrics
    assert (found.rho.n, found.rho.of, found.rho.value) == (3, 9, 1.0)
    assert found.rho.reason == (
        "no rho in 6 of 9 cases: fewer than 3 models that everybody ranked in 1, it has no value "
        "for m0 or m1 in 2, it is the same for all models in 2, people tied all models in 1; too "
        "few to be the best; no interval: 3 source images"
    )
    values[8, 3] = np.nan
    [found] = metric_worths(study(ranks), {"x": values}, resamples=50).metrics
    assert "it has no value for a ranked model in 3, " in found.rho.reason
    assert found.tau.reason == found.rho.reason
    assert found.best is None  # a number in a third of the cases


def test_intervals_best_behind_and_p_are_those_of_plain_loops() -> None:
    people, metrics = drawn(4, 3, 30, 5, gaps=0.1)
    found = metric_worths(people, metrics, resamples=80, seed=2)
    sources = sorted(set(people.sources))
    draws = np.random.default_rng(2).multinomial(15, np.full(15, 1 / 15), size=80)
    rows = {name: by_hand(people, values) for name, values in metrics.items()}

    def mean(values: Sequence[float | None], draw: Floats) -> float:
        times = [draw[sources.index(source)] for source in people.sources]
        known = [(x, t) for x, t in zip(values, times, strict=True) if x is not None]
        return sum(x * t for x, t in known) / sum(t for _, t in known)

    def ends(values: Sequence[float | None], size: float) -> Interval | None:
        known = [np.nan if x is None else x for x in values]
        plain = analysis.mean(known, people.sources, Bounds(-size, size))
        assert plain is not None
        return plain.interval()

    means = {name: [mean(values, draw) for draw in draws] for name, values in rows.items()}
    leader = found.metrics[0].metric
    assert leader == "good"
    raw = {}
    for one in found.metrics:
        assert one.rho.interval == pytest.approx(ends(rows[one.metric], 1), abs=1e-12)
        firsts = [max(means, key=lambda name: means[name][b]) for b in range(80)]
        assert one.best == pytest.approx(firsts.count(one.metric) / 80, abs=1e-12)
        if one.metric == leader:
            continue
        gaps = [
            None if a is None or b is None else a - b
            for a, b in zip(rows[leader], rows[one.metric], strict=True)
        ]
        known = [gap for gap in gaps if gap is not None]
        assert one.behind is not None
        assert one.behind.value == pytest.approx(np.mean(known), abs=1e-12)
        assert one.behind.n == len(known)
        assert one.behind.interval == pytest.approx(ends(gaps, 2), abs=1e-12)
        assert one.behind.value > 0
        filled = [np.nan if gap is None else gap for gap in gaps]
        raw[one.metric] = sign_flip_test(filled, people.sources, seed=2)
    expected_p = dict(zip(raw, holm([p for p in raw.values() if p is not None]), strict=True))
    assert {one.metric: one.p for one in found.metrics[1:]} == pytest.approx(expected_p)


def test_every_metric_is_held_against_the_same_models() -> None:
    """Leaving out a model that is hard to place must not help."""
    rng = np.random.default_rng(1)
    ranks = np.stack([rng.permutation(5) + 1.0 for _ in range(30)])[None].repeat(2, axis=0)
    honest = -ranks[0].copy()
    honest[:, 4] = 0.0  # always puts the last model first
    clever = honest.copy()
    clever[:, 4] = np.nan
    found = named(metric_worths(study(ranks), {"honest": honest, "clever": clever}, resamples=50))
    assert found["clever"].rho.value is None
    assert found["clever"].rho.reason == "no rho in 30 of 30 cases: it has no value for m4 in 30"
    assert found["honest"].rho.value is not None
    assert found["honest"].best == 1


def test_a_model_that_somebody_did_not_rank_is_nobodys() -> None:
    """Places among two are not averaged with places among five."""
    ranks = np.tile(np.arange(1.0, 6), (2, 12, 1))
    ranks[1, :, 0] = np.nan
    people = study(ranks)
    right = np.tile([-9.0, 4.0, 3.0, 2.0, 1.0], (12, 1))  # m0 does not matter
    wrong = np.tile([9.0, 4.0, 3.0, 1.0, 2.0], (12, 1))
    found = named(metric_worths(people, {"right": right, "wrong": wrong}, resamples=50))
    assert found["right"].rho.value == 1
    assert found["wrong"].rho.value == pytest.approx(0.8)
    ranks[1, :, :3] = np.nan
    found = named(metric_worths(study(ranks), {"right": right}, resamples=50))
    assert found["right"].rho.value is None
    assert "fewer than 3 models that everybody ranked in 12" in found["right"].rho.reason


def test_whoever_ranked_one_model_has_no_say() -> None:
    ranks = np.tile(np.arange(1.0, 5), (2, 8, 1))
    ranks[1, :, 1:] = np.nan
    found = metric_worths(study(ranks), {"x": -ranks[0]}, resamples=20)
    assert (found.metrics[0].rho.value, found.metrics[0].gap) == (1.0, None)
    assert found.ceiling.reason == "no case was ranked by two annotators"


def test_the_corrected_interval_has_bonferronis_level() -> None:
    people, metrics = drawn(4, 3, 30, 5)
    found = metric_worths(people, metrics, resamples=50, seed=2)
    for one in found.metrics:
        rows = [np.nan if row is None else row for row in by_hand(people, metrics[one.metric])]
        plain = analysis.mean(rows, people.sources, Bounds(-1, 1))
        assert plain is not None
        assert one.corrected == pytest.approx(plain.interval(1 - 0.05 / 3), abs=1e-12)
        assert one.sources == 15
    [alone] = metric_worths(people, {"good": metrics["good"]}, resamples=50).metrics
    assert alone.corrected == alone.rho.interval


def test_the_gap_compares_metric_and_person_on_the_same_terms() -> None:
    people, metrics = drawn(13, 4, 24, 5, gaps=0.1)
    found = named(metric_worths(people, metrics, resamples=50))
    for name, values in metrics.items():
        gaps = []
        for c in range(24):
            rankings = shared_rankings(people, c)
            models = list(rankings[0]) if rankings else []
            mine = [values[c, m] for m in models]
            ours = []
            for a, own in enumerate(rankings):
                rest = rankings[:a] + rankings[a + 1 :]
                if not rest:
                    continue
                others = [-float(np.mean([one[m] for one in rest])) for m in models]
                metric = correlation(mine, others)
                person = correlation([-own[m] for m in models], others)
                if metric is not None and person is not None:
                    ours.append(metric - person)
            if ours:
                gaps.append(np.mean(ours))
        gap = found[name].gap
        assert gap is not None
        assert gap.n == len(gaps) > 5
        assert gap.value == pytest.approx(np.mean(gaps), abs=1e-12)
        assert gap.interval is not None
        assert gap.interval.low < np.mean(gaps) < gap.interval.high


def test_one_more_person_is_level_with_a_person() -> None:
    """A metric that is another person has no gap, though its rho is above one against one."""
    rng = np.random.default_rng(15)
    quality = rng.normal(size=(400, 6))
    seen = quality + 0.8 * rng.normal(size=(3, 400, 6))
    people = study(midranks(-seen[:2]))
    found = metric_worths(people, {"third": seen[2]}, resamples=200)
    [one] = found.metrics
    assert one.gap is not None
    assert one.gap.interval is not None
    assert one.rho.interval is not None
    assert found.ceiling.value is not None
    assert one.gap.interval.low < 0 < one.gap.interval.high
    assert one.rho.interval.low > found.ceiling.value


def test_a_metric_with_few_numbers_cannot_be_the_best() -> None:
    people, metrics = drawn(5, 2, 30, 5)
    rare = np.full((30, 5), np.nan)
    rare[:8] = -people.ranks[:, :8].mean(axis=0)
    found = metric_worths(people, {**metrics, "rare": rare}, resamples=200)
    assert [one.metric for one in found.metrics] == ["good", "fair", "blind", "rare"]
    worths = named(found)
    assert worths["rare"].best is None
    assert worths["rare"].rho.value == 1
    assert "too few to be the best" in worths["rare"].rho.reason
    assert worths["rare"].corrected is None
    assert worths["good"].behind is None
    behind = worths["rare"].behind
    assert behind is not None
    assert behind.value is not None
    assert behind.value < 0
    assert behind.n == 8
    assert sum(one.best for one in found.metrics if one.best is not None) == pytest.approx(1)


def test_equal_metrics_share_the_first_place() -> None:
    people, metrics = drawn(6, 2, 20, 5)
    both = {"b": metrics["good"], "a": metrics["good"] * 2}
    found = named(metric_worths(people, both, resamples=100))
    assert [one.best for one in found.values()] == [0.5, 0.5]
    [other] = [one for one in found.values() if one.behind is not None]
    assert other.behind is not None
    assert other.behind.value == 0
    assert other.behind.interval is None
    assert other.behind.reason.startswith("side by side it is not behind")
    assert other.p is None


def test_metrics_without_a_common_case_are_not_compared() -> None:
    people, metrics = drawn(7, 2, 20, 5)
    early, late = metrics["good"].copy(), metrics["fair"].copy()
    early[10:] = np.nan
    late[:10] = np.nan
    found = metric_worths(people, {"early": early, "late": late}, resamples=50)
    other = next(one for one in found.metrics if one.behind is not None)
    assert other.behind is not None
    assert other.behind.value is None
    assert other.behind.reason == "no case in common with the best"
    assert other.p is None


def test_the_ceiling_of_two_people_is_their_agreement() -> None:
    people, _ = drawn(8, 2, 25, 6)
    theirs = agreement(people).spearman
    agreed = [stats.spearmanr(*people.ranks[:, c]).statistic for c in range(25)]
    found = metric_worths(people, {}, resamples=100)
    assert found.metrics == ()
    assert found.ceiling.value == pytest.approx(np.mean(agreed), abs=1e-12)
    assert found.ceiling.interval is not None
    assert found.ceiling.interval == pytest.approx(theirs.interval, abs=1e-12)
    assert found.ceiling.interval.low < np.mean(agreed) < found.ceiling.interval.high


def test_the_ceiling_leaves_out_one_person_at_a_time() -> None:
    people, _ = drawn(9, 4, 12, 5)
    ranks = people.ranks.copy()
    ranks[1:, 3] = np.nan  # one annotator only
    ranks[2, 4] = np.nan  # three of four
    ranks[0, 5] = 3.0  # ties all
    rhos = []
    for c in range(12):
        ours = []
        for a in range(4):
            others = [ranks[b, c] for b in range(4) if b != a and not np.isnan(ranks[b, c, 0])]
            if np.isnan(ranks[a, c, 0]) or not others:
                continue
            mean = np.mean(others, axis=0)
            if len(set(ranks[a, c])) > 1 and len(set(mean)) > 1:
                ours.append(stats.spearmanr(ranks[a, c], mean).statistic)
        if ours:
            rhos.append(np.mean(ours))
    found = metric_worths(study(ranks), {}, resamples=50).ceiling
    assert found.value == pytest.approx(np.mean(rhos), abs=1e-12)
    assert (found.n, found.of) == (11, 12)
    assert found.reason == "1 of 12 cases have one annotator"


def test_one_annotator_has_no_ceiling_but_a_reason() -> None:
    people, metrics = drawn(10, 1, 10, 4)
    found = metric_worths(people, metrics, resamples=20)
    assert found.ceiling.value is None
    assert found.ceiling.interval is None
    assert found.ceiling.reason == "no case was ranked by two annotators"
    assert found.metrics[0].rho.value is not None
    assert found.metrics[0].gap is None


@pytest.mark.parametrize("shape", [(0, 4, 3), (2, 0, 3), (2, 4, 0), (2, 4, 2)])
def test_a_study_with_nothing_to_correlate_has_reasons(shape: tuple[int, int, int]) -> None:
    ranks = midranks(np.random.default_rng(0).random(shape))
    found = metric_worths(study(ranks), {"x": np.ones(shape[1:])}, resamples=10)
    [one] = found.metrics
    for estimate in (one.rho, one.tau, found.ceiling):
        assert estimate.value is None
        assert estimate.interval is None
        assert estimate.reason
    assert (one.best, one.behind, one.p) == (None, None, None)


def test_the_order_of_cases_people_and_metrics_does_not_matter() -> None:
    people, metrics = drawn(11, 3, 30, 5, gaps=0.1)
    rng = np.random.default_rng(0)
    a, c, m = (rng.permutation(n) for n in people.ranks.shape)
    mixed = Ranked(
        tuple(people.annotators[k] for k in a),
        tuple(people.cases[k] for k in c),
        tuple(people.models[k] for k in m),
        tuple(people.sources[k] for k in c),
        people.ranks[np.ix_(a, c, m)],
    )
    turned = {name: metrics[name][np.ix_(c, m)] for name in reversed(list(metrics))}
    assert metric_worths(people, metrics) == metric_worths(mixed, turned)


def test_values_of_another_shape_are_refused() -> None:
    people, _ = drawn(12, 2, 5, 3)
    with pytest.raises(ValueError, match="clip: shape"):
        metric_worths(people, {"clip": np.ones((4, 3))})
