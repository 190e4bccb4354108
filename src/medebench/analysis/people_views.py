"""What people think of each case, as metrics are held against it; and means over cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from medebench.analysis.clusters import Floats
from medebench.analysis.comparisons import mean_known
from medebench.analysis.estimate import Estimate, estimate
from medebench.analysis.interval import ALL_THE_SAME, Bounds
from medebench.analysis.jackknife import agreement_interval, mean_without, why_no_interval
from medebench.analysis.means import Mean, mean
from medebench.analysis.ranked import Ranked, midranks
from medebench.analysis.resampled import resampled_means
from medebench.analysis.rowwise import spearman_rows

#: With two models a rank correlation can only be 1 or -1, and tells next to nothing.
LEAST_MODELS = 3
#: A metric must have a number in this share of the cases that people have a view of to be the best.
LEAST_SHARE = 0.5
#: Ends of a rank correlation, and of the difference of two.
RHO = Bounds(-1.0, 1.0)
RHO_GAP = Bounds(-2.0, 2.0)

Statistic = Callable[[Floats, Floats], Floats]
Flags = NDArray[np.bool_]


class Views:
    """People's view of each case: mean ranks over the models that everybody there ranked.

    Whoever ranked fewer than two models of a case compared nothing and does not count there. All
    metrics, and each person against the others, are held against the same models of a case: a
    metric that may leave out a model has an easier task than one that may not.
    """

    def __init__(self, people: Ranked, level: float, resamples: int, seed: int) -> None:
        self.level, self.resamples, self.seed = level, resamples, seed
        self.shape = (len(people.cases), len(people.models))
        self.models = people.models
        # In one fixed order, so that the last digits do not depend on that of the rows.
        self.rows = sorted(range(self.shape[0]), key=lambda c: (people.sources[c], people.cases[c]))
        known = ~np.isnan(people.ranks[:, self.rows])
        rated = known & (known.sum(axis=2, keepdims=True) > 1)
        raters = rated.any(axis=2, keepdims=True)
        self.common: Flags = (rated | ~raters).all(axis=0) & raters.any(axis=0)
        self.ranks = midranks(np.where(rated & self.common, people.ranks[:, self.rows], np.nan))
        self.view = mean_known(self.ranks)
        #: For each annotator the view of all others (annotators x cases x models).
        self.others = np.array(
            [mean_known(np.delete(self.ranks, a, axis=0)) for a in range(len(self.ranks))]
        ).reshape(self.ranks.shape)
        self.sources = np.array([people.sources[c] for c in self.rows], dtype=str)
        self.ranked: Flags = np.asarray(known.any(axis=(0, 2)))
        self.of = int(self.ranked.sum())
        self.several: Flags = raters.sum(axis=(0, 2)) > 1
        self.few: Flags = self.common.sum(axis=1) < LEAST_MODELS
        self.level_all: Flags = _constant(self.view)
        #: Cases in which a metric can be held against people.
        self.usable = int((~self.few & ~self.level_all).sum())

    def against(self, statistic: Statistic, values: Floats) -> Floats:
        """The statistic of each case, NaN where it has none; a low rank is a good one."""
        found = statistic(np.where(self.common, values, np.nan), -self.view)
        return np.where(self.few | self._lacking(values).any(axis=1), np.nan, found)

    def persons(self) -> Floats:
        """Each annotator's rho with the mean of the others (annotators x cases)."""
        return np.where(self.few, np.nan, spearman_rows(self.ranks, self.others))

    def beyond_person(self, values: Floats, persons: Floats) -> Floats:
        """rho of the metric less that of a person, both with the mean of the other people.

        Averaged over the people of a case. Like with like: the metric has no part in what it is
        held against, and neither has the person.
        """
        shown = np.where(self.common, values, np.nan)
        gaps = spearman_rows(shown, -self.others) - persons
        return mean_known(np.where(self._lacking(values).any(axis=1), np.nan, gaps))

    def _lacking(self, values: Floats) -> Flags:
        return np.asarray(self.common & np.isnan(values))

    def missing(self, values: Floats, rho: Floats) -> str:
        """How many cases have no rho, and why."""
        gone = self.ranked & np.isnan(rho)
        if not gone.any():
            return ""
        lacking = self._lacking(values)
        lacks = gone & ~self.few & lacking.any(axis=1)
        level = gone & ~self.few & ~lacks & self.level_all
        flat = gone & ~self.few & ~lacks & ~level
        names = sorted(self.models[m] for m in np.flatnonzero(lacking[lacks].any(axis=0)))
        whom = " or ".join(names) if len(names) < 3 else "a ranked model"
        told = [
            (gone & self.few, f"fewer than {LEAST_MODELS} models that everybody ranked"),
            (lacks, f"it has no value for {whom}"),
            (flat, "it is the same for all models"),
            (level, "people tied all models"),
        ]
        parts = [f"{why} in {int(cases.sum())}" for cases, why in told if cases.any()]
        told_all = f"no rho in {int(gone.sum())} of {self.of} cases: {', '.join(parts)}"
        n = self.of - int(gone.sum())
        return told_all if not n or self.takes_part(n) else f"{told_all}; too few to be the best"

    def takes_part(self, n: int) -> bool:
        return n > 0 and n >= LEAST_SHARE * self.usable

    def means(self, columns: Sequence[Floats]) -> Floats:
        """Means over cases (resamples x columns); all columns share the draws.

        Only ranked cases are drawn from: what nobody has looked at is no evidence.
        """
        return resampled_means(
            np.column_stack(columns)[self.ranked],
            self.sources[self.ranked].tolist(),
            resamples=self.resamples,
            seed=self.seed,
        )

    def count_sources(self, column: Floats) -> int:
        return len(np.unique(self.sources[np.isfinite(column)]))

    def mean(self, column: Floats, bounds: Bounds) -> Mean | None:
        """Mean over the cases that have a value."""
        return mean(column, self.sources, bounds)

    def estimate(
        self, column: Floats, reason: str, bounds: Bounds = RHO, level: float | None = None
    ) -> Estimate:
        """Mean over cases with its interval, at the level of all intervals unless one is given."""
        found = self.mean(column, bounds)
        if found is None:
            return Estimate(None, None, 0, self.of, reason or "people ranked no case")
        if found.same:
            # Two that always agree may do so by construction: there is nothing to tell how sure.
            why = "; ".join(filter(None, [reason, found.reason or ALL_THE_SAME]))
            return Estimate(found.value, None, found.n, self.of, why)
        reasons = "; ".join(filter(None, [reason, found.reason]))
        return replace(estimate(found, self.of, level or self.level), reason=reasons)

    def one_person(self, persons: Floats) -> Estimate:
        """Mean of `persons` over people and cases.

        With two annotators this is their agreement, so the interval is of the same kind as there.
        """
        several = int(self.several.sum())
        if not several:
            return Estimate(None, None, 0, self.of, "no case was ranked by two annotators")
        rho = mean_known(persons)
        known = np.isfinite(rho)
        n = int(known.sum())
        parts = []
        if several < self.of:
            parts.append(f"{self.of - several} of {self.of} cases have one annotator")
        if n < several:
            few = f"fewer than {LEAST_MODELS} models that everybody ranked, or somebody tied all"
            parts.append(f"no rho in {several - n} of {several} cases: {few}")
        if not n:
            return Estimate(None, None, 0, self.of, "; ".join(parts))
        codes = np.unique(self.sources, return_inverse=True)[1]
        value, without = mean_without(rho[known], codes[known])
        interval = agreement_interval(value, without, level=self.level)
        if interval is None:
            parts.append(why_no_interval(without))
        return Estimate(value, interval, n, self.of, "; ".join(parts))


def _constant(values: Floats) -> Flags:
    low = np.where(np.isnan(values), np.inf, values).min(axis=1, initial=np.inf)
    high = np.where(np.isnan(values), -np.inf, values).max(axis=1, initial=-np.inf)
    return np.asarray(low >= high)
