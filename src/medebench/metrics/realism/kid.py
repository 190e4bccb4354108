"""KID: the squared maximum mean discrepancy of two sets of vectors, without bias.

    KID = mean k(x, x') + mean k(y, y') - 2 mean k(x, y),      k(x, y) = (x·y / d + 1)³

over pairs of different groups. Where every picture is a group of its own this is the usual
unbiased estimator. Ours are not: the output of a case lies beside the reference of the same case,
and k of the two is no draw from two independent sets. Left out of all three means, such pairs
cannot flatter the output, and equal sets have a distance of exactly 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medebench.metrics.metric import Undefined
from medebench.metrics.realism.paired_sets import Groups, Pair, Vectors, interval, pair

#: Rows and columns of the kernel matrix that are in memory at a time.
_TILE = 1024
Sums: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Kid:
    value: float
    #: Standard error and 95 % interval; None with fewer than three groups.
    se: float | None
    interval: tuple[float, float] | None
    #: Outputs and references.
    n: int
    m: int


def kid(
    outputs: Vectors,
    references: Vectors,
    groups: NDArray[Any] | None = None,
    reference_groups: NDArray[Any] | None = None,
) -> Kid:
    """The distance of two sets, a row a picture; slightly negative where they are alike.

    Pictures with the same group come from the same source image. The standard error is that of
    leaving out one group after the other (jackknife).
    """
    return kid_of(pair(outputs, references, groups, reference_groups))


def kid_of(both: Pair) -> Kid:
    """The same of sets whose groups are numbered."""
    x, of_x = _sorted(both.outputs, both.groups)
    y, of_y = _sorted(both.references, both.reference_groups)
    count = both.count
    within_x, _ = _sums(x, x, of_x, of_x)
    if np.array_equal(x, y) and np.array_equal(of_x, of_y):
        # Summed once, so that nothing but 0 is left of their difference.
        within_y = across_x = across_y = within_x
    else:
        within_y, _ = _sums(y, y, of_y, of_y)
        across_x, across_y = _sums(x, y, of_x, of_y)
    in_x, in_y = np.bincount(of_x, minlength=count), np.bincount(of_y, minlength=count)
    n, m = len(x), len(y)

    def by_group(numbers: Groups, sums: Sums) -> Sums:
        return np.asarray(np.bincount(numbers, sums, count), np.float64)

    parts = [
        _Mean(by_group(of_x, within_x), in_x * (n - in_x)),
        _Mean(by_group(of_y, within_y), in_y * (m - in_y)),
        _Mean(
            by_group(of_x, across_x) + by_group(of_y, across_y),
            in_x * (m - in_y) + in_y * (n - in_x),
        ),
    ]
    if any(part.pairs.sum() == 0 for part in parts):
        raise Undefined("pictures of at least 2 different source images are needed")
    inside, beside, across = (part.all() for part in parts)
    value = inside + beside - 2 * across
    # A group may be all there is on one side but one; then there is no leaving it out.
    if any((part.pairs_without() == 0).any() for part in parts):
        return Kid(value, None, None, n, m)
    first, second, third = (part.without() for part in parts)
    replicates = first + second - 2 * third
    spread = (count - 1) / count * float(((replicates - replicates.mean()) ** 2).sum())
    error = float(np.sqrt(spread))
    return Kid(value, error, interval(value, error, count), n, m)


@dataclass(frozen=True)
class _Mean:
    """A mean over pairs: of each group the sum and the number of those it is one end of."""

    sums: Sums
    pairs: Groups

    def all(self) -> float:
        return float(self.sums.sum() / self.pairs.sum())

    def pairs_without(self) -> Groups:
        # Every pair has two ends and is counted at both.
        return np.asarray(self.pairs.sum() // 2 - self.pairs)

    def without(self) -> Sums:
        """For each group the mean over the pairs that it has no part in."""
        return np.asarray((self.sums.sum() / 2 - self.sums) / self.pairs_without())


def _sorted(vectors: Vectors, groups: Groups) -> tuple[Vectors, Groups]:
    """In the order of their groups, so that the order in which they came cannot matter."""
    order = np.argsort(groups, kind="stable")
    return vectors[order], groups[order]


def _sums(x: Vectors, y: Vectors, of_x: Groups, of_y: Groups) -> tuple[Sums, Sums]:
    """For each x the sum of k over the y of other groups, and for each y that over the x."""
    over_y, over_x = np.zeros(len(x)), np.zeros(len(y))
    for i in range(0, len(x), _TILE):
        rows = slice(i, i + _TILE)
        left = np.asarray(x[rows], np.float64)
        for j in range(0, len(y), _TILE):
            columns = slice(j, j + _TILE)
            tile = left @ np.asarray(y[columns], np.float64).T
            tile /= x.shape[1]
            tile += 1
            # numpy's power takes ten times as long.
            tile *= tile * tile
            tile[of_x[rows, None] == of_y[columns]] = 0
            over_y[rows] += tile.sum(axis=1)
            over_x[columns] += tile.sum(axis=0)
    return over_y, over_x
