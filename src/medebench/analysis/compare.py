"""Which runs differ on a metric: all pairs, on the cases both have, corrected for their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import polars as pl

from medebench.analysis.difference import Difference
from medebench.analysis.interval import LEVEL, UNBOUNDED, Bounds, Interval
from medebench.analysis.means import mean
from medebench.analysis.score_frame import case_means, clean_scores
from medebench.analysis.signflip import FLIPS, holm, sign_flip_test

Direction = Literal["higher", "lower", "equal", "undefined"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Run a against run b on one metric; `difference` is the mean of a - b over common cases.

    `difference`, `p` and `p_holm` are None without a common case, `interval` with fewer than four
    common sources (`why` says so). `n_dropped` counts the cases of either run that are not scored
    in both.
    """

    run_a: str
    run_b: str
    metric: str
    n_cases: int
    n_clusters: int
    n_dropped: int
    difference: float | None
    interval: Interval | None
    p: float | None
    p_holm: float | None
    why: str = ""

    @property
    def direction(self) -> Direction:
        """Where run_a lies, seen from run_b; whether higher is better is the metric's to say."""
        if self.difference is None:
            return "undefined"
        if self.difference == 0:
            return "equal"
        return "higher" if self.difference > 0 else "lower"

    def significant(self, alpha: float = 0.05) -> bool:
        """Whether the corrected p reaches this level."""
        return self.p_holm is not None and self.p_holm <= alpha


def compare_runs(
    scores: pl.DataFrame,
    metric: str,
    runs: Sequence[str] | None = None,
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    bounds: Bounds = UNBOUNDED,
    level: float = LEVEL,
    flips: int = FLIPS,
    seed: int = 0,
) -> list[Comparison]:
    """Compare every pair of runs on one metric, or only the `pairs` given: they are one family.

    The outputs k of a case are averaged first. A pair is compared on the cases scored in both (same
    case from the same source), with x_i the difference of case i:

        difference = 1/N sum_i (a_i - b_i) = 1/N sum_i x_i,

    its interval that of a `Difference` of two means, by source picture; `bounds` are the ends of
    the metric's scale. p is the larger of two, because each holds where the other may not: that of
    `sign_flip_test`, exact where the two runs are exchangeable under the null hypothesis, and the
    level at which the interval begins to leave out 0, which also holds for equal means of unlike
    skew. So nothing is significant whose interval holds 0.

    `p_holm` is corrected, here and nowhere else, for the family: `pairs`, or all pairs of `runs`
    (all runs with this metric unless given). A pair without a common case still counts as one of
    them. The interval is of one pair, not corrected.

    Comparisons come in the order of `pairs`, of `runs`, or of the sorted names.

    >>> def row(run, case, value):
    ...     return {"run": run, "editor": run, "control": False, "group": "lung", "case": case,
    ...             "k": 0, "source": case, "metric": "cp", "value": value, "reason": None}
    >>> scores = pl.DataFrame([row("a", "1", 0.75), row("a", "2", 0.5), row("b", "1", 0.5),
    ...                        row("b", "2", 0.25), row("b", "3", 0.1)])
    >>> [pair] = compare_runs(scores, "cp")
    >>> pair.difference, pair.direction, pair.p, pair.n_cases, pair.n_dropped
    (0.25, 'higher', 0.5, 2, 1)
    """
    rows = clean_scores(scores).filter(pl.col("metric") == metric)
    known = sorted(set(rows["run"].to_list()))
    if not known:
        raise ValueError(f"scores: no rows of metric {metric!r}")
    names = known if runs is None else list(dict.fromkeys(runs))
    family = list(combinations(names, 2)) if pairs is None else list(dict.fromkeys(pairs))
    if pairs is not None:
        names = list(dict.fromkeys(name for pair in family for name in pair))
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"scores: no rows of metric {metric!r} for run {', '.join(unknown)}")

    key = ["case", "source"]
    means = case_means(rows, ["run"])
    controls = {run for run, control in rows.select("run", "control").iter_rows() if control}
    scored = {name: means.filter(pl.col("run") == name) for name in names}
    cases = {name: set(rows.filter(pl.col("run") == name).select(key).rows()) for name in names}

    found: list[Comparison] = []
    for a, b in family:
        both = scored[a].join(scored[b], on=key, suffix="_b").sort(key)
        source = both["source"].rank("dense").to_numpy()
        first = mean(both["value"].to_numpy(), source, bounds, exact=a in controls)
        second = mean(both["value_b"].to_numpy(), source, bounds, exact=b in controls)
        difference = Difference(first, second) if first and second else None
        x = (both["value"] - both["value_b"]).to_numpy()
        found.append(
            Comparison(
                run_a=a,
                run_b=b,
                metric=metric,
                n_cases=len(both),
                n_clusters=both["source"].n_unique(),
                n_dropped=len(cases[a] | cases[b]) - len(both),
                difference=float(x.mean()) if len(x) else None,
                interval=difference.interval(level) if difference else None,
                p=_p(difference, sign_flip_test(x, source, resamples=flips, seed=seed)),
                p_holm=None,
                why=difference.reason if difference else "",
            )
        )
    adjusted = holm([1.0 if pair.p is None else pair.p for pair in found])
    return [
        pair if pair.p is None else replace(pair, p_holm=p)
        for pair, p in zip(found, adjusted, strict=True)
    ]


def _p(difference: Difference | None, flipped: float | None) -> float | None:
    if difference is None or flipped is None:
        return None
    return max(flipped, difference.p() or 0.0)
