"""Is a mean difference more than chance? A paired test by flipping signs, and Holm's correction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from medebench.analysis.clusters import Floats, chunks, finite_rows, sum_by

EXACT_CLUSTERS = 12
#: Sign patterns drawn where there are too many to enumerate.
FLIPS = 9999


def sign_flip_test(
    differences: ArrayLike,
    clusters: ArrayLike,
    *,
    resamples: int = FLIPS,
    seed: int = 0,
) -> float | None:
    """Two-sided p of a mean paired difference, flipping the signs of whole clusters.

    If two editors were alike, swapping their names on a picture would change nothing. With d_c the
    summed differences of cluster c, N the number of differences and e_c = +1 or -1 with equal odds,

        T = 1/N sum_c d_c,    T* = 1/N sum_c e_c d_c,    p = P(|T*| >= |T|).

    Up to 12 clusters all 2^C sign patterns are enumerated and p is exact. Beyond that, with b of m
    random patterns at least as extreme, p = (b + 1) / (m + 1), which is never zero and keeps the
    level (Phipson and Smyth 2010).

    Differences that are not finite are left out. None when none is left.

    >>> sign_flip_test([1.0, 2.0, 3.0], ["a", "b", "c"])
    0.25
    >>> sign_flip_test([1.0, 2.0, 3.0], ["a", "a", "a"])
    1.0
    """
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, not {resamples}")
    data, (codes,) = finite_rows(differences, clusters)
    if not len(data):
        return None
    sums = sum_by(codes, data)
    # Patterns that tie in exact arithmetic must tie here too.
    least = abs(sums.sum()) - 1e-12 * np.abs(sums).sum()
    exact = len(sums) <= EXACT_CLUSTERS
    flipped = _every_flip(sums) if exact else _flips(sums, resamples, seed)
    extreme = sum(int(np.count_nonzero(np.abs(one) >= least)) for one in flipped)
    return extreme / 2 ** len(sums) if exact else (extreme + 1) / (resamples + 1)


def least_p(clusters: int, flips: int = FLIPS) -> float:
    """The smallest p that `sign_flip_test` can be relied on to give for this many clusters.

    >>> least_p(6), least_p(100)
    (0.03125, 0.0001)
    """
    exact = min(1.0, 2.0 ** (1 - clusters))
    return exact if clusters <= EXACT_CLUSTERS else max(exact, 1 / (flips + 1))


def holm(pvalues: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment, which controls the chance of any false claim among m.

    With p_(1) <= ... <= p_(m),  adjusted p_(i) = max_{j <= i} min(1, (m - j + 1) p_(j)).
    The answer is in the order of the question.

    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    p = np.asarray(pvalues, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p-values must lie between 0 and 1: {list(pvalues)}")
    order = np.argsort(p, kind="stable")
    steps = np.minimum(1.0, p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(steps)
    return [float(value) for value in adjusted]


def _every_flip(sums: Floats) -> Iterator[Floats]:
    """The total of `sums` with each of the 2^n patterns of signs."""
    bits = (np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums))) & 1
    yield 2 * (bits @ sums) - sums.sum()


def _flips(sums: Floats, resamples: int, seed: int) -> Iterator[Floats]:
    """The total with random signs, in chunks.

    A byte of randomness gives the signs of eight clusters, and picks one of their 256 totals.
    """
    rng = np.random.default_rng(seed)
    eights = np.pad(sums, (0, -len(sums) % 8)).reshape(-1, 8)
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    totals, places = bits @ eights.T, np.arange(len(eights))
    for part in chunks(resamples, len(eights)):
        size = (part.stop - part.start, len(eights))
        picked = rng.integers(0, 256, size=size, dtype=np.uint8)
        yield 2 * totals[picked, places].sum(axis=1) - sums.sum()
