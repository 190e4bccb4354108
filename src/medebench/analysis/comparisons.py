"""People's ranks as comparisons of two models, ready to be summed over cases and resampled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medebench.analysis.clusters import Floats
from medebench.analysis.davidson import pairs_of
from medebench.analysis.interval import Interval, few_sources
from medebench.analysis.ranked import Ranked, midranks
from medebench.analysis.resampled import expanded_interval, resampled_sums

Flags = NDArray[np.bool_]


class Comparisons:
    """Ranks as comparisons: one row a case, in columns what is summed over cases."""

    def __init__(self, ranked: Ranked, resamples: int, seed: int) -> None:
        self.models, self.seed = ranked.models, seed
        rows = sorted(range(len(ranked.cases)), key=lambda c: (ranked.sources[c], ranked.cases[c]))
        ranks = midranks(ranked.ranks[:, rows])
        # A ranking of a single model compares nothing.
        alone = np.sum(~np.isnan(ranks), axis=2, keepdims=True) < 2
        self.ranks = np.where(alone, np.nan, ranks)
        self.sources = [ranked.sources[c] for c in rows]
        self.seen: Flags = (~np.isnan(self.ranks)).any(axis=0).reshape(len(rows), len(self.models))
        self.of = int(self.seen.any(axis=1).sum())
        self.first, self.second = pairs_of(len(self.models))
        pairs = len(self.first)
        self.wins, self.losses, self.ties = (slice(k * pairs, (k + 1) * pairs) for k in range(3))

        a, b = self.ranks[..., self.first], self.ranks[..., self.second]
        both = np.sum(~np.isnan(a) & ~np.isnan(b), axis=0)
        self.both = both > 0
        shares = [np.sum(one, axis=0) / np.maximum(both, 1) for one in (a < b, a > b, a == b)]
        self.mean = mean_known(self.ranks)
        self.columns = np.hstack(shares)
        self.sums = self.columns.sum(axis=0, keepdims=True)
        self.drawn = resampled_sums(self.columns, self.sources, resamples=resamples, seed=seed)

    def counts(self, sums: Floats) -> tuple[Floats, Floats, Floats]:
        return sums[:, self.wins], sums[:, self.losses], sums[:, self.ties]

    def square(self, above: Floats, below: Floats) -> Floats:
        """Values of pairs, and of the same pairs turned round, as (tables, models, models)."""
        size = len(self.models)
        found = np.zeros((len(above), size, size))
        found[:, self.first, self.second] = above
        found[:, self.second, self.first] = below
        return found

    def compared(self, sums: Floats) -> Floats:
        times = sum(self.counts(sums))
        return self.square(np.asarray(times), np.asarray(times))

    def chance(self, sums: Floats) -> Floats:
        """The share of comparisons with each other model that went to this one; NaN if none did."""
        times = self.compared(sums)
        return np.where(times > 0, self.won(sums) / np.where(times > 0, times, 1.0), np.nan)

    def won(self, sums: Floats) -> Floats:
        """How many comparisons with each other model went to this one; a tie counts half."""
        wins, losses, ties = self.counts(sums)
        return self.square(wins + ties / 2, losses + ties / 2)

    def ranked_in(self, m: int) -> Flags:
        return np.asarray(self.seen[:, m])

    def n_sources(self, cases: Flags) -> int:
        return len({source for source, one in zip(self.sources, cases, strict=True) if one})

    def interval(self, found: Floats, cases: Flags, level: float) -> Interval | None:
        return expanded_interval(found, level, self.n_sources(cases))

    def few(self, cases: Flags) -> str:
        """Why there is no interval, where that is for want of sources."""
        return few_sources(self.n_sources(cases))


def connected(compared: Floats) -> Flags:
    return np.asarray(reach(compared > 0).all(axis=(1, 2)))


def reach(edges: Flags) -> Flags:
    """Whether there is a way from each node to each other, for many graphs."""
    size = edges.shape[-1]
    ways = (edges | np.eye(size, dtype=bool)).astype(np.float32)
    for _ in range(max(1, int(size - 1).bit_length())):
        ways = (ways @ ways > 0).astype(np.float32)
    return np.asarray(ways > 0)


def mean_known(values: Floats) -> Floats:
    """Mean over annotators of what is known; NaN where nothing is."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
