from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from medebench.analysis import Bounds, holm, mean, sign_flip_test
from medebench.analysis.clusters import Floats
from medebench.analysis.davidson import PENALTY, fit, pairs_of
from medebench.analysis.ordering import Ordering, order_models
from medebench.analysis.ranked import Ranked, midranks
from medebench.analysis.resampled import expanded_interval, resampled_means, tail
from tests.analysis.conftest import study
from tests.references import run_reference

CHOIX = """
import choix
for name in ("3", "7", "12"):
    pairs, models = [tuple(pair) for pair in given["pairs" + name].tolist()], int(name)
    plain = choix.ilsr_pairwise(models, pairs, alpha=0.0, max_iter=10000, tol=1e-12)
    held = choix.opt_pairwise(models, pairs, alpha=given["penalty"], tol=1e-10)
    answer["plain" + name], answer["held" + name] = plain, held
"""


def drawn(
    seed: int, people: int, cases: int, models: int, *, ties: bool = True, gaps: float = 0.0
) -> Ranked:
    """Seeded ranks with a true order m0, m1, ..., rounded to ties, with gaps."""
    rng = np.random.default_rng(seed)
    seen = 0.4 * np.arange(models) + rng.normal(size=(people, cases, models))
    seen = np.round(2 * seen) if ties else seen
    seen[rng.random(seen.shape) < gaps] = np.nan
    return study(midranks(seen))


def strengths(found: Ordering) -> dict[str, float]:
    return {one.model: one.strength.value for one in found.standings if one.strength.value}


def penalised_maximum(ranked: Ranked, penalty: float) -> tuple[Floats, float]:
    """Davidson's model by a general optimiser, one comparison after the other."""
    terms: list[tuple[int, int, str, float]] = []
    people, cases, models = ranked.ranks.shape
    for c in range(cases):
        for i, j in combinations(range(models), 2):
            pairs = [
                (ranked.ranks[a, c, i], ranked.ranks[a, c, j])
                for a in range(people)
                if not np.isnan(ranked.ranks[a, c, [i, j]]).any()
            ]
            for x, y in pairs:
                kind = "tie" if x == y else "win" if x < y else "loss"
                terms.append((i, j, kind, 1 / len(pairs)))
    i, j = (np.array([term[k] for term in terms]) for k in (0, 1))
    kinds = np.array([term[2] for term in terms])
    weights = np.array([term[3] for term in terms])

    def cost(at: Floats) -> float:
        p, nu = np.exp(at[:-1]), np.exp(at[-1])
        level = nu * np.sqrt(p[i] * p[j])
        top = np.select([kinds == "tie", kinds == "win"], [level, p[i]], p[j])
        chance = top / (p[i] + p[j] + level)
        return float(-(weights * np.log(chance)).sum() + penalty * (at**2).sum())

    best = optimize.minimize(cost, np.zeros(models + 1), method="BFGS", options={"gtol": 1e-7})
    return best.x[:-1] - best.x[:-1].mean(), float(np.exp(best.x[-1]))


def test_without_ties_it_is_bradley_and_terrys_model_of_choix() -> None:
    rng = np.random.default_rng(0)
    tables, asked = {}, {}
    for models in (3, 7, 12):
        first, second = pairs_of(models)
        wins, losses = tables[models] = rng.integers(1, 6, size=(2, len(first)))
        pairs = []
        for i, j, won, lost in zip(first, second, wins, losses, strict=True):
            pairs += [(i, j)] * won + [(j, i)] * lost
        asked[f"pairs{models}"] = np.array(pairs)
    theirs = run_reference(CHOIX, penalty=PENALTY, **asked)
    for models, (wins, losses) in tables.items():
        for penalty, name in ((1e-12, "plain"), (PENALTY, "held")):
            table = wins[None].astype(float), losses[None].astype(float), np.zeros((1, len(wins)))
            ours, nu = fit(*table, models, penalty=penalty)
            reference = theirs[f"{name}{models}"]
            assert ours[0] == pytest.approx(reference - reference.mean(), abs=1e-5)
            assert nu[0] == 0


@pytest.mark.parametrize(
    ("people", "cases", "models", "gaps"), [(1, 30, 3, 0.0), (2, 25, 5, 0.0), (3, 25, 5, 0.25)]
)
def test_with_ties_and_gaps_it_is_the_maximum_of_the_likelihood(
    people: int, cases: int, models: int, gaps: float
) -> None:
    ranked = drawn(5, people, cases, models, gaps=gaps)
    found = order_models(ranked, resamples=10)
    theirs, nu = penalised_maximum(ranked, PENALTY)
    ours = strengths(found)
    assert [ours[model] for model in ranked.models] == pytest.approx(theirs, abs=1e-5)
    assert found.ties == pytest.approx(nu, abs=1e-5)
    assert found.reason == ""


def test_the_prior_hardly_moves_what_data_tell() -> None:
    ranked = drawn(1, 2, 52, 5)
    ours = strengths(order_models(ranked, resamples=10))
    free, _ = penalised_maximum(ranked, 0.0)
    assert [ours[model] for model in ranked.models] == pytest.approx(free, abs=2e-3)


def test_many_tables_are_fitted_as_each_alone() -> None:
    rng = np.random.default_rng(3)
    wins, losses, ties = rng.poisson(3.0, size=(3, 40, 10)).astype(float)
    ties[::4] = 0
    together, nu = fit(wins, losses, ties, 5)
    for b in range(40):
        alone, one = fit(wins[b : b + 1], losses[b : b + 1], ties[b : b + 1], 5)
        assert together[b] == pytest.approx(alone[0], abs=1e-9)
        assert nu[b] == pytest.approx(one[0], abs=1e-9)
        assert (nu[b] == 0) == (b % 4 == 0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.floats(0, 1e4))
def test_the_fit_is_a_maximum_however_lopsided_the_table(
    seed: int, models: int, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    pairs = len(pairs_of(models)[0])
    table = rng.random((3, 1, pairs)) * scale * (rng.random((3, 1, pairs)) < 0.5)
    table[0, 0, 0] += 1
    found, nu = fit(*table, models)
    assert np.isfinite(found).all()
    assert np.isfinite(nu).all()
    # At the maximum expected wins, with ties as halves, are the observed ones, less the prior.
    i, j = pairs_of(models)
    p = np.exp(found[0])
    level = nu[0] * np.sqrt(p[i] * p[j])
    won = (
        table[0, 0]
        + table[2, 0] / 2
        - table[:, 0].sum(axis=0) * (p[i] + level / 2) / (p[i] + p[j] + level)
    )
    slope = np.bincount(i, won, models) - np.bincount(j, won, models)
    assert slope == pytest.approx(2 * PENALTY * found[0], abs=1e-6 * (1 + scale))


def test_complete_rankings_order_models_by_mean_rank() -> None:
    ranked = drawn(7, 3, 40, 6)
    found = order_models(ranked, resamples=50)
    ranks = [one.mean_rank.value for one in found.standings]
    assert ranks == sorted(ranks)  # type: ignore[type-var]
    for one in found.standings:
        m = ranked.models.index(one.model)
        by_hand = np.mean([np.mean([ranked.ranks[a, c, m] for a in range(3)]) for c in range(40)])
        assert one.mean_rank.value == pytest.approx(by_hand, abs=1e-12)
        assert one.preferred.value == pytest.approx((6 - by_hand) / 5, abs=1e-12)
        assert (one.mean_rank.n, one.mean_rank.of) == (40, 40)
    assert sum(strengths(found).values()) == pytest.approx(0, abs=1e-9)


def test_annotators_of_a_case_share_its_weight() -> None:
    # One case seen by four people, three by one: m0 wins the one, loses the three.
    ranks = np.full((4, 4, 2), np.nan)
    ranks[:, 0] = [1, 2]
    ranks[0, 1:] = [2, 1]
    found = {one.model: one for one in order_models(study(ranks), resamples=10).standings}
    assert found["m0"].preferred.value == 0.25
    assert found["m0"].mean_rank.value == 1.75
    assert found["m0"].strength.value == pytest.approx(np.log(1 / 3) / 2, abs=0.02)


def test_intervals_are_quantiles_of_refits_on_resampled_sources() -> None:
    sources = [f"s{c // 2}" for c in range(24)]
    ranked = study(drawn(8, 2, 24, 4).ranks, sources)
    found = order_models(ranked, resamples=60, seed=3)
    draws = np.random.default_rng(3).multinomial(12, np.full(12, 1 / 12), size=60)
    refits = []
    for draw in draws:
        cases = [c for c in range(24) for _ in range(draw[sorted(set(sources)).index(sources[c])])]
        again = study(ranked.ranks[:, cases])
        refits.append(strengths(order_models(again, resamples=1)))
    out = tail(0.95, 12)
    for one in found.standings:
        values = [refit[one.model] for refit in refits]
        expected = np.quantile(values, [out, 1 - out])
        assert one.strength.interval == pytest.approx(tuple(expected), abs=1e-7)
        ranks = ranked.ranks[:, :, int(one.model[1])].mean(axis=0)
        plain = mean(ranks, sources, Bounds(1, 4))
        assert plain is not None
        assert one.mean_rank.interval == plain.interval()
        places = [stats.rankdata([-v for v in refit.values()]) for refit in refits]
        mine = [
            place[list(refit).index(one.model)] for place, refit in zip(places, refits, strict=True)
        ]
        assert one.places is not None
        assert min(mine) <= one.places.low <= one.places.high <= max(mine)
    for (better, worse), (difference, _) in found.differences.items():
        values = [refit[better] - refit[worse] for refit in refits]
        expected = np.quantile(values, [out, 1 - out])
        assert difference.interval == pytest.approx(tuple(expected), abs=1e-7)


def test_p_is_the_sign_flip_test_of_ranks_corrected_for_all_pairs() -> None:
    ranked = drawn(9, 2, 30, 4, gaps=0.1)
    found = order_models(ranked, resamples=10)
    raw = []
    for better, worse in found.differences:
        i, j = ranked.models.index(better), ranked.models.index(worse)
        gaps = []
        for c in range(30):
            # Ranks are taken anew among what the annotator has ranked; drawn() has done so.
            known = [
                ranked.ranks[a, c, j] - ranked.ranks[a, c, i]
                for a in range(2)
                if not np.isnan(ranked.ranks[a, c, [i, j]]).any()
            ]
            gaps.append(np.mean(known) if known else np.nan)
        raw.append(sign_flip_test(gaps, ranked.sources))
    assert None not in raw
    expected = holm([p for p in raw if p is not None])
    assert [p for _, p in found.differences.values()] == pytest.approx(expected, abs=1e-12)
    assert len(found.differences) == 6


def test_cases_of_one_picture_are_one_piece_of_evidence() -> None:
    few = drawn(10, 2, 10, 4)
    many = study(np.tile(few.ranks, (1, 5, 1)), few.sources * 5)
    naive = study(np.tile(few.ranks, (1, 5, 1)))
    widths = []
    for ranked in (few, many, naive):
        interval = order_models(ranked, resamples=400).standings[0].mean_rank.interval
        assert interval is not None
        widths.append(interval.high - interval.low)
    assert widths[1] == pytest.approx(widths[0], rel=1e-9)
    assert widths[2] < 0.6 * widths[1]


def test_a_model_that_always_wins_is_first_finite_and_without_upper_end() -> None:
    ranked = drawn(11, 2, 30, 4)
    ranks = np.concatenate([np.ones((2, 30, 1)), ranked.ranks + 1], axis=2)
    found = order_models(study(ranks), resamples=100)
    first = found.standings[0]
    assert first.model == "m0"
    assert first.strength.value is not None
    assert 3 < first.strength.value < 12
    assert first.strength.interval is None
    assert "m0 above the others" in first.strength.reason
    assert first.places == (1, 1)
    ahead, p = found.differences["m0", found.standings[1].model]
    assert ahead.interval is None
    assert "no upper end" in ahead.reason
    assert p is not None
    assert p < 0.01
    among, _ = found.differences[found.standings[1].model, found.standings[-1].model]
    assert among.interval is not None


def test_models_never_compared_have_no_strength_but_a_reason() -> None:
    ranks = np.full((2, 12, 4), np.nan)
    ranks[:, :6, :2] = [1, 2]
    ranks[:, 6:, 2:] = [2, 1]
    found = order_models(study(ranks), resamples=20)
    assert found.reason == "never compared with each other: m0, m1 | m2, m3"
    assert found.ties is None
    for one in found.standings:
        assert one.strength.value is None
        assert one.strength.reason == found.reason
        assert one.places is None
        assert one.mean_rank.value in (1.0, 2.0)
        assert "never compared with" in one.preferred.reason
    assert all(pair[0].value is None and pair[1] is None for pair in found.differences.values())
    assert len(found.differences) == 6


def test_models_compared_through_others_only_are_not_tested() -> None:
    rng = np.random.default_rng(12)
    ranks = np.full((2, 40, 3), np.nan)
    ranks[:, :20, :2] = midranks(rng.random((2, 20, 2)) + np.array([0, 0.3]))
    ranks[:, 20:, 1:] = midranks(rng.random((2, 20, 2)) + np.array([0, 0.3]))
    found = order_models(study(ranks), resamples=100)
    assert found.reason == ""
    difference, p = next(
        value for pair, value in found.differences.items() if set(pair) == {"m0", "m2"}
    )
    assert p is None
    assert "compared through other models" in difference.reason
    assert difference.n == 0
    assert difference.interval is not None


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ((1, 5, 1), "fewer than two models"),
        ((2, 0, 3), "nobody ranked"),
        ((0, 3, 3), "nobody ranked"),
        ((1, 0, 0), "fewer than two models"),
    ],
)
def test_nothing_to_order_is_a_reason(shape: tuple[int, int, int], reason: str) -> None:
    found = order_models(study(np.ones(shape)), resamples=5)
    assert reason in found.reason
    assert all(one.strength.value is None for one in found.standings)
    assert all(one.mean_rank.value is None for one in found.standings)


def test_people_who_tie_everything_see_no_difference() -> None:
    found = order_models(study(np.full((2, 10, 3), 2.0)), resamples=50)
    assert strengths(found) == {}
    assert [one.model for one in found.standings] == ["m0", "m1", "m2"]
    assert [one.places for one in found.standings] == [(2, 2)] * 3
    assert found.ties is None
    for difference, p in found.differences.values():
        assert difference.value == pytest.approx(0, abs=1e-9)
        assert p == 1


def test_few_sources_have_numbers_but_no_intervals() -> None:
    found = order_models(drawn(13, 2, 3, 3), resamples=50)
    for one in found.standings:
        assert one.mean_rank.value is not None
        assert one.mean_rank.interval is None
        assert one.mean_rank.reason == "no interval: 3 source images"
        assert one.places is None


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([0.0, 0.3]))
def test_the_order_of_people_cases_and_models_does_not_matter(
    seed: int, models: int, gaps: float
) -> None:
    ranked = drawn(seed, 3, 9, models, gaps=gaps)
    rng = np.random.default_rng(seed)
    a, c, m = (rng.permutation(n) for n in ranked.ranks.shape)
    mixed = Ranked(
        tuple(ranked.annotators[k] for k in a),
        tuple(ranked.cases[k] for k in c),
        tuple(ranked.models[k] for k in m),
        tuple(ranked.sources[k] for k in c),
        ranked.ranks[np.ix_(a, c, m)],
    )
    one, other = (order_models(each, resamples=40) for each in (ranked, mixed))
    assert (one.reason == "") == (other.reason == "")
    assert one.ties == pytest.approx(other.ties, abs=1e-7)
    twins = {each.model: each for each in other.standings}
    for standing in one.standings:
        twin = twins[standing.model]
        for field in ("mean_rank", "strength", "preferred"):
            left, right = getattr(standing, field), getattr(twin, field)
            assert left.value == pytest.approx(right.value, abs=1e-7)
            assert left.interval == pytest.approx(right.interval, abs=1e-7)
            assert left.n == right.n
            for number in (left.value, *(left.interval or ())):
                assert number is None or np.isfinite(number)


def test_expanded_intervals_are_wider_than_percentiles_and_as_wide_as_students() -> None:
    x = np.random.default_rng(0).normal(size=15)
    means = resampled_means(x[:, None], [str(k) for k in range(15)], resamples=40_000)[:, 0]
    interval = expanded_interval(means, 0.95, 15)
    assert interval is not None
    student = stats.t.interval(0.95, 14, loc=x.mean(), scale=x.std(ddof=1) / np.sqrt(15))
    assert interval.high - interval.low == pytest.approx(student[1] - student[0], rel=0.03)
    plain = np.quantile(means, [0.025, 0.975])
    assert interval.low < plain[0]
    assert interval.high > plain[1]


@pytest.mark.parametrize("wrong", [{"level": 0.0}, {"level": 1.0}, {"resamples": 0}])
def test_wrong_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        order_models(drawn(0, 2, 5, 3), **wrong)  # type: ignore[arg-type]


def test_preferred_is_a_mean_and_has_the_interval_of_one() -> None:
    """With complete rankings it is the mean rank turned round; always first is no certainty."""
    rng = np.random.default_rng(4)
    ranks = np.argsort(np.argsort(rng.normal(size=(2, 9, 4)) + np.array([0, 1, 2, 9]))) + 1.0
    cases = tuple(f"c{n}" for n in range(9))
    ranked = Ranked(("x", "y"), cases, tuple("abcd"), tuple("pqrstuuvw"), ranks)
    for one in order_models(ranked, resamples=50).standings:
        assert one.preferred.interval is not None
        assert one.mean_rank.interval is not None
        low, high = one.mean_rank.interval
        assert one.preferred.interval == pytest.approx(((4 - high) / 3, (4 - low) / 3), abs=1e-9)
        assert one.preferred.interval.low < one.preferred.interval.high


def test_preferred_with_gaps_in_the_rankings_stays_between_0_and_1() -> None:
    rng = np.random.default_rng(5)
    ranks = np.argsort(np.argsort(rng.normal(size=(1, 12, 5)) + np.arange(5))) + 1.0
    ranks[rng.random(ranks.shape) < 0.4] = np.nan
    cases = tuple(f"c{n}" for n in range(12))
    ranked = Ranked(("x",), cases, tuple("abcde"), cases, ranks)
    for one in order_models(ranked, resamples=50).standings:
        if one.preferred.interval is not None and one.preferred.value is not None:
            low, high = one.preferred.interval
            assert 0 <= low <= one.preferred.value <= high <= 1
            assert low < high
