"""Agreement against SciPy in plain loops, and its intervals against leaving sources out by hand."""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ConstantInputWarning, kendalltau, spearmanr, t

from medebench.analysis import mean
from medebench.analysis.agreement import Agreement, agreement, self_agreement
from medebench.analysis.estimate import Estimate
from medebench.analysis.jackknife import agreement_interval
from medebench.analysis.ranked import Ranked, midranks
from tests.references import run_reference

NUMBERS = ("spearman", "kendall", "alpha", "same_order")


def study(ranks, sources=None, names="abcdefgh") -> Ranked:
    ranks = np.asarray(ranks, float)
    annotators, cases, models = ranks.shape
    return Ranked(
        tuple(names[:annotators]),
        tuple(f"case {c}" for c in range(cases)),
        tuple(f"model {m}" for m in range(models)),
        tuple(sources or (f"source {c}" for c in range(cases))),
        ranks,
    )


def draw(
    rng, annotators=3, cases=12, models=5, *, noise=0.6, step=0.5, missing=0.2, gaps=0.0
) -> Ranked:
    """People who see one latent quality through noise, tie what is close and miss some cases."""
    latent = np.linspace(-1, 1, models) + rng.normal(size=(cases, models))
    seen = latent + noise * rng.normal(size=(annotators, cases, models))
    if step:
        seen = np.round(seen / step)
    seen[rng.random((annotators, cases)) < missing] = np.nan
    seen[rng.random(seen.shape) < gaps] = np.nan
    return study(midranks(seen), [f"source {c // 2}" for c in range(cases)])


def only(ranked: Ranked, keep: np.ndarray) -> Ranked:
    """The study with some of its cases."""
    return study(ranked.ranks[:, keep], list(np.array(ranked.sources)[keep]))


def estimates(found: Agreement) -> list[Estimate]:
    return [getattr(found, name) for name in NUMBERS] + list(found.pairs.values())


def by_hand(ranked: Ranked) -> dict[str, list[float]]:
    """Every comparison on its own, as a reader of the paper would do it."""
    lists: dict[str, list[float]] = {"spearman": [], "kendall": [], "same_order": [], "of": []}
    for a, b in itertools.combinations(ranked.ranks, 2):
        for x, y in zip(a, b, strict=True):
            both = ~np.isnan(x) & ~np.isnan(y)
            if both.sum() < 2:
                continue
            x, y = x[both], y[both]
            lists["of"].append(1.0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstantInputWarning)
                rho, tau = spearmanr(x, y).statistic, kendalltau(x, y).statistic
            if not math.isnan(rho):
                lists["spearman"].append(rho)
                lists["kendall"].append(tau)
            pairs = list(itertools.combinations(range(len(x)), 2))
            same = [np.sign(x[i] - x[j]) == np.sign(y[i] - y[j]) for i, j in pairs]
            lists["same_order"].append(float(np.mean(same)))
    return lists


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3]), st.sampled_from([0.5, 3.0]))
@settings(max_examples=60, deadline=None)
def test_means_as_by_hand_with_scipy(seed, gaps, step):
    rng = np.random.default_rng(seed)
    ranked = draw(rng, int(rng.integers(1, 5)), 6, int(rng.integers(1, 6)), gaps=gaps, step=step)
    found, expected = agreement(ranked), by_hand(ranked)
    for name in ("spearman", "kendall", "same_order"):
        estimate = getattr(found, name)
        assert (estimate.n, estimate.of) == (len(expected[name]), len(expected["of"]))
        if expected[name]:
            assert estimate.value == pytest.approx(np.mean(expected[name]), abs=1e-12)
        else:
            assert estimate.value is None and estimate.reason


def test_paper_formula_without_ties():
    rng = np.random.default_rng(1)
    ranked = draw(rng, 2, 30, 7, step=0, missing=0)
    a, b = ranked.ranks
    formula = 1 - 6 * ((a - b) ** 2).sum(axis=1) / (7 * 48)
    assert agreement(ranked).spearman.value == pytest.approx(formula.mean(), abs=1e-12)


ALPHA = """
import krippendorff
answer["alpha"] = np.array([
    krippendorff.alpha(given[f"table{number}"], level_of_measurement="ordinal")
    for number in range(given["count"])
])
"""


def test_alpha_as_the_package():
    """Whole cases are missing; where single outputs are, other tests say what happens."""
    rng = np.random.default_rng(2)
    studies = [draw(rng, 2 + k % 4, 5 + k, 2 + k % 6, missing=0.3) for k in range(40)]
    tables = {f"table{k}": one.ranks.reshape(len(one.ranks), -1) for k, one in enumerate(studies)}
    expected = run_reference(ALPHA, count=len(studies), **tables)["alpha"]
    found = [agreement(one).alpha.value for one in studies]
    assert found == pytest.approx(expected.tolist(), abs=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.2]))
@settings(max_examples=40, deadline=None)
def test_intervals_by_leaving_sources_out(seed, gaps):
    """The study is made again without each source, and Student's t comes from elsewhere."""
    rng = np.random.default_rng(seed)
    ranked = draw(rng, 3, 14, 4, gaps=gaps)
    found = agreement(ranked, level=0.9)
    rest = [
        agreement(only(ranked, np.array(ranked.sources) != source))
        for source in sorted(set(ranked.sources))
    ]
    for name in NUMBERS:
        estimate = getattr(found, name)
        if estimate.interval is None:
            continue
        # A source without a value changes nothing and is none.
        without = np.array(
            [getattr(one, name).value for one in rest if getattr(one, name).n < estimate.n]
        )
        count = len(without)
        error = math.sqrt((count - 1) ** 2 / count * without.var(ddof=1))
        factor = math.exp(t.ppf(0.95, count - 1) * error / (1 - estimate.value))
        apart = 1 - estimate.value
        floor = 0 if name == "same_order" else -1
        expected = (max(1 - apart * factor, floor), 1 - apart / factor)
        assert estimate.interval == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_numbers_are_sane_and_never_nan(seed):
    rng = np.random.default_rng(seed)
    ranked = draw(
        rng,
        int(rng.integers(1, 5)),
        int(rng.integers(1, 12)),
        int(rng.integers(1, 6)),
        noise=float(rng.choice([0.0, 0.6, 5.0])),
        step=float(rng.choice([0.0, 0.5, 4.0])),
        gaps=float(rng.choice([0.0, 0.3])),
    )
    for estimate in estimates(agreement(ranked)):
        assert estimate.n <= estimate.of
        if estimate.value is None:
            assert estimate.interval is None and estimate.n == 0 and estimate.reason
            continue
        assert -1 <= estimate.value <= 1 and estimate.n > 0
        if estimate.interval is None:
            assert "no interval" in estimate.reason
        else:
            low, high = estimate.interval
            assert -1 <= low <= estimate.value <= high <= 1


def test_nobody_and_no_case_comes_first():
    rng = np.random.default_rng(4)
    ranked = draw(rng, 4, 20, 6, gaps=0.05)
    order = rng.permutation(20)
    other = study(ranked.ranks[::-1][:, order], [ranked.sources[c] for c in order], "dcba")
    found, turned = agreement(ranked), agreement(other)
    for name in NUMBERS:
        one, two = getattr(found, name), getattr(turned, name)
        assert (one.n, one.of, one.reason) == (two.n, two.of, two.reason)
        assert one.value == pytest.approx(two.value, abs=1e-12)
        assert one.interval == pytest.approx(two.interval, abs=1e-12)
    assert found.pairs["a", "b"].value == pytest.approx(turned.pairs["b", "a"].value, abs=1e-12)


def test_pairs_have_their_own_numbers():
    rng = np.random.default_rng(5)
    ranked = draw(rng, 3, 20, 6)
    found = agreement(ranked)
    assert list(found.pairs) == [("a", "b"), ("a", "c"), ("b", "c")]
    for (a, b), estimate in found.pairs.items():
        alone = study(ranked.ranks[["abc".index(a), "abc".index(b)]], ranked.sources)
        assert estimate == agreement(alone).spearman
    total = sum(one.value * one.n for one in found.pairs.values())
    assert found.spearman.value == pytest.approx(total / found.spearman.n, abs=1e-12)


def test_full_agreement_and_full_disagreement():
    ranks = np.tile([1.0, 2.0, 3.0, 4.0], (2, 6, 1))
    found = agreement(study(ranks))
    for name in NUMBERS:
        estimate = getattr(found, name)
        assert estimate.value == 1.0 and estimate.interval is None
        assert estimate.reason == "no interval: all source images say the same"
    ranks[1] = ranks[1, :, ::-1]
    found = agreement(study(ranks))
    assert (found.spearman.value, found.kendall.value, found.same_order.value) == (-1, -1, 0)


def test_two_people_who_tie_everything():
    ranks = np.tile([1.0, 2.0, 3.0], (2, 5, 1))
    ranks[0, 0] = ranks[1, 1] = 2.0
    ranks[1, 2] = [2.0, 1.0, 3.0]
    found = agreement(study(ranks))
    assert (found.spearman.n, found.spearman.of) == (3, 5)
    assert found.spearman.value == pytest.approx((0.5 + 1 + 1) / 3)
    assert found.spearman.reason == (
        "undefined in 2 of 5 comparisons, where an annotator tied all outputs; "
        "no interval: 3 source images"
    )
    assert (found.same_order.n, found.same_order.of) == (5, 5)
    ranks[:] = 2.0
    found = agreement(study(ranks))
    assert found.spearman.value is None and found.kendall.value is None
    assert (found.spearman.n, found.spearman.of) == (0, 5)
    assert found.alpha.value is None and "tied all outputs of every case" in found.alpha.reason
    assert found.same_order.value == 1.0


def test_nobody_to_compare_with():
    ranks = np.full((2, 4, 3), np.nan)
    ranks[0, :2], ranks[1, 2:] = [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]
    for ranked in (study(ranks), study(ranks[:1]), study(ranks[:0]), study(ranks[:, :0])):
        found = agreement(ranked)
        for name in NUMBERS:
            assert getattr(found, name) == Estimate(
                None, None, 0, 0, "no two annotators ranked two outputs of the same case"
            )
    assert agreement(study(ranks)).pairs["a", "b"].reason == "they have no case in common"


def test_fewer_than_four_sources_have_no_interval():
    ranked = draw(np.random.default_rng(6), 3, 12, 5, missing=0)
    few = study(ranked.ranks, [f"source {c % 3}" for c in range(12)])
    enough = study(ranked.ranks, [f"source {c % 4}" for c in range(12)])
    for name in NUMBERS:
        assert getattr(agreement(few), name).interval is None
        assert getattr(agreement(few), name).reason == "no interval: 3 source images"
        assert getattr(agreement(enough), name).interval is not None


def test_copies_of_a_source_say_no_more():
    ranked = draw(np.random.default_rng(7), 3, 12, 5)
    often = study(np.tile(ranked.ranks, (1, 5, 1)), ranked.sources * 5)
    once, five = agreement(ranked), agreement(often)
    for name in ("spearman", "kendall", "same_order"):
        assert getattr(five, name).interval == pytest.approx(getattr(once, name).interval, abs=1e-9)


def test_many_sources_as_the_bootstrap():
    """Two ways to one interval: with 400 sources they hardly differ."""
    rng = np.random.default_rng(8)
    ranked = draw(rng, 2, 800, 6, missing=0, step=0)
    rows = [spearmanr(x, y).statistic for x, y in zip(*ranked.ranks, strict=True)]
    low, high = mean(rows, ranked.sources).interval()
    found = agreement(ranked).spearman.interval
    assert found.low == pytest.approx(low, abs=0.1 * (high - low))
    assert found.high == pytest.approx(high, abs=0.1 * (high - low))


def test_alpha_compares_places_among_the_same_models():
    """The second person ranked five of seven in the same order: they agree in full."""
    ranks = np.tile(np.arange(1.0, 8.0), (2, 5, 1))
    ranks[1, 0] = [np.nan, np.nan, 1, 2, 3, 4, 5]
    found = agreement(study(ranks)).alpha
    assert found.value == 1.0 and (found.n, found.of) == (33, 33)
    ranks[1, 1] = [1, 2, *[np.nan] * 5]
    third = np.vstack([ranks, ranks[:1]])  # the third ranked everything, like the first
    found = agreement(study(third)).alpha
    assert found.value == 1.0 and (found.n, found.of) == (28, 35)
    assert found.reason.startswith("without 7 of 35 outputs, which not everybody ranked")


def test_alpha_does_not_reward_the_size_of_a_case():
    """Everything is tied in cases of three and of seven models: nothing to agree about."""
    ranks = np.full((2, 6, 7), 4.0)
    ranks[:, ::2] = [2.0] * 3 + [np.nan] * 4
    assert agreement(study(ranks)).alpha.value is None


def test_one_output_ranked_is_no_ranking():
    ranks = np.full((2, 5, 3), np.nan)
    ranks[:, :, 0] = 1.0
    assert agreement(study(ranks)).alpha.of == agreement(study(ranks)).spearman.of == 0


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_levels_that_cannot_be(level):
    with pytest.raises(ValueError, match="level"):
        agreement(draw(np.random.default_rng(9)), level=level)


def test_intervals_nest():
    without = np.array([0.88, 0.9, 0.9, 0.91, 0.89])
    narrow = agreement_interval(0.9, without, level=0.8)
    wide = agreement_interval(0.9, without, level=0.99)
    assert wide.low < narrow.low < 0.9 < narrow.high < wide.high < 1
    assert agreement_interval(0.9, np.array([*without, np.nan])) is None
    assert agreement_interval(1 - 1e-9, without).low == -1.0


def test_intervals_cover():
    """95 % intervals of 400 studies: 20 sources of two cases, ranked by two people."""
    rng = np.random.default_rng(10)

    def seen(cases: int) -> Ranked:
        return draw(rng, 2, cases, 5, noise=0.3, step=0.3, missing=0)

    whole = agreement(seen(30_000))
    hits = dict.fromkeys(NUMBERS, 0)
    for _ in range(400):
        found = agreement(seen(40))  # 20 sources
        for name in NUMBERS:
            low, high = getattr(found, name).interval
            hits[name] += low <= getattr(whole, name).value <= high
    for name in NUMBERS:
        assert 0.91 <= hits[name] / 400 <= 0.98, hits


def test_self_agreement():
    first = np.tile([1.0, 2.0, 3.0], (3, 5, 1))
    second = np.full_like(first, np.nan)
    second[0, 0] = [1.0, 2.0, 3.0]
    second[0, 1] = [1.0, 3.0, 2.0]
    second[0, 2] = [2.0, 2.0, 2.0]
    second[1, :] = [3.0, 2.0, 1.0]
    found = self_agreement(study(first), study(second))
    spearman, same = found["a"]
    assert spearman.value == pytest.approx(0.75) and (spearman.n, spearman.of) == (2, 3)
    assert spearman.reason.startswith("undefined in 1 of 3 comparisons")
    assert same.value == pytest.approx((1 + 2 / 3 + 0) / 3) and same.n == 3
    assert [one.value for one in found["b"]] == [-1.0, 0.0]
    assert found["c"] == (Estimate(None, None, 0, 0, "no case was ranked twice"),) * 2


def test_self_agreement_is_agreement_of_one_with_another_time():
    rng = np.random.default_rng(11)
    ranked = draw(rng, 2, 20, 5)
    one, two = ranked.ranks
    times = [study(ranks[None], ranked.sources) for ranks in (one, two)]
    spearman, same = self_agreement(*times)["a"]
    found = agreement(ranked)
    assert (spearman, same) == (found.pairs["a", "b"], found.same_order)


def test_times_must_match():
    ranked = draw(np.random.default_rng(12))
    with pytest.raises(ValueError, match="cases"):
        self_agreement(ranked, only(ranked, np.arange(3)))


def test_all_numbers_are_looked_at():
    assert [field.name for field in fields(Agreement)] == [*NUMBERS, "pairs"]
