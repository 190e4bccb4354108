"""FID: the Fréchet distance of two normal distributions fitted to two sets of vectors.

    FID = |μ - ν|² + tr Σ + tr T - 2 tr (Σ T)^½

With Σ = AᵀA and T = BᵀB, where A and B are the centred vectors over √(n - 1) and √(m - 1), the last
trace is the sum of the singular values of A Bᵀ. So no root of a covariance is taken: with fewer
pictures than dimensions covariances are singular, and their roots lose half of all digits.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medebench.errors import InputError
from medebench.metrics.metric import Undefined
from medebench.metrics.realism.paired_sets import Pair, Vectors, check

Matrix: TypeAlias = NDArray[np.float64]
#: What is less than this share of the covariances' traces is not a difference.
_ROUNDING = 1e-12
_ALONE = "one image has no covariance; at least 2 are needed"


def fid(outputs: Vectors, references: Vectors) -> float:
    """The distance of two sets, a row a picture; sample covariances (divisor n - 1).

    >>> fid(np.array([[0.0], [2.0]]), np.array([[3.0], [5.0]]))
    9.0
    """
    check(outputs, references)
    return fid_of_moments(Moments(outputs), Moments(references))


class Moments:
    """Mean and covariance of vectors that come in batches, in any order; memory is bounded.

    Kept is not the covariance but rows whose products with themselves make it up: as many as
    vectors came, at most twice as many as these are long.
    """

    def __init__(self, vectors: Vectors | None = None) -> None:
        self.count = 0
        self._mean: Matrix = np.zeros(0)
        self._rows: list[Matrix] = []
        if vectors is not None:
            self.add(vectors)

    def add(self, vectors: Vectors) -> None:
        """A batch, a row a vector."""
        check(vectors)
        if len(vectors):
            rows = np.asarray(vectors, np.float64)
            mean = rows.mean(axis=0)
            self._join(len(rows), mean, [rows - mean])

    def merge(self, other: Moments) -> None:
        """All that the other one has seen."""
        if other.count:
            self._join(other.count, other._mean, list(other._rows))

    @property
    def mean(self) -> Matrix:
        return self._mean

    @property
    def covariance(self) -> Matrix:
        root = self.root()
        return np.asarray(root.T @ root)

    def root(self) -> Matrix:
        """R with RᵀR = covariance, of no more rows than needed."""
        if self.count < 2:
            raise Undefined(_ALONE)
        self._shorten(len(self._mean))
        return np.asarray(np.concatenate(self._rows) / np.sqrt(self.count - 1))

    def _join(self, count: int, mean: Matrix, rows: list[Matrix]) -> None:
        if not self.count:
            self._mean = np.zeros_like(mean)
        if mean.shape != self._mean.shape:
            raise InputError(f"features: {len(self._mean)} numbers per image, now {len(mean)}")
        total = self.count + count
        away = mean - self._mean
        self._rows += rows
        if self.count:
            # What the two means' distance adds to the covariance is one more row.
            self._rows.append(away[None] * np.sqrt(self.count * count / total))
        self._mean = self._mean + away * (count / total)
        self.count = total
        self._shorten(2 * len(mean))

    def _shorten(self, most: int) -> None:
        """Fewer rows with the same products, exact: the triangle of a QR decomposition."""
        if sum(map(len, self._rows)) > most:
            self._rows = [_triangle(np.concatenate(self._rows))]


def _triangle(rows: Matrix) -> Matrix:
    return np.asarray(np.linalg.qr(rows, mode="r"))


def fid_of_moments(first: Moments, second: Moments) -> float:
    a, b = first.root(), second.root()
    if a.shape[1] != b.shape[1]:
        raise InputError(f"features: {a.shape[1]} and {b.shape[1]} numbers per image")
    away = first.mean - second.mean
    shared = np.linalg.svd(a @ b.T, compute_uv=False).sum()
    return _distance(away, a, b, shared)


def _distance(away: Matrix, a: Matrix, b: Matrix, shared: Any) -> float:
    traces = (a * a).sum() + (b * b).sum()
    value = float(away @ away + traces - 2 * shared)
    # Of equal sets rounding leaves a little, of either sign.
    return value if value > _ROUNDING * traces else 0.0


def fid_with_error(both: Pair) -> tuple[float, float]:
    """FID, and its standard error over other source images, just as many.

    By the infinitesimal jackknife over groups. How the sum of singular values changes with the
    weight of a picture follows from the picture's share in the singular vectors, so one
    decomposition tells the influence of every group, and none has to be left out.
    """
    a, in_a, mean = _parts(both.outputs)
    b, in_b, other_mean = _parts(both.references)
    u, values, v = np.linalg.svd(a @ b.T, full_matrices=False)
    away, shared = mean - other_mean, values.sum()
    influences = np.concatenate(
        [
            _influence(both.outputs, mean, away, (in_a @ u) ** 2 @ values),
            _influence(both.references, other_mean, -away, (in_b @ v.T) ** 2 @ values),
        ]
    )
    numbers = np.concatenate([both.groups, both.reference_groups])
    by_group = np.bincount(numbers, influences, both.count)
    spread = both.count / (both.count - 1) * float((by_group**2).sum())
    value = _distance(away, a, b, shared)
    return value, float(np.sqrt(spread)) if value else 0.0


def _parts(vectors: Vectors, axes: bool = True) -> tuple[Matrix, Matrix, Matrix]:
    """R and Q with Q R = the centred vectors over √(n - 1), R of no more rows than columns; μ."""
    if len(vectors) < 2:
        raise Undefined(_ALONE)
    rows = np.asarray(vectors, np.float64)
    mean = rows.mean(axis=0)
    rows = (rows - mean) / np.sqrt(len(rows) - 1)
    nothing = np.zeros((0, 0))
    if len(rows) <= rows.shape[1]:
        return rows, np.eye(len(rows)) if axes else nothing, mean
    if not axes:
        return _triangle(rows), nothing, mean
    q, r = np.linalg.qr(rows)
    return r, q, mean


def _influence(vectors: Vectors, mean: Matrix, away: Matrix, shared: Matrix) -> Matrix:
    """What FID changes by, for each picture, when its weight does; their sum is 0."""
    rows = vectors - mean
    own = (rows * rows).sum(axis=1) / (len(rows) - 1) - shared
    return np.asarray(2 * rows @ away / len(rows) + own - own.mean())


def fid_floor(both: Pair, rounds: int, seed: int = 0) -> float:
    """What FID would be, at these sizes, if outputs and references came from one distribution.

    Which picture of a group is called output and which reference is left to chance; groups that
    are on one side only are exchanged whole. Mean over rounds.
    """
    generator = np.random.default_rng(seed)
    everything = np.concatenate([both.outputs, both.references])
    values = []
    for _ in range(rounds):
        chosen = relabelled(both, generator)
        values.append(_roughly(everything[chosen], everything[~chosen]))
    return float(np.mean(values))


def _roughly(outputs: Vectors, references: Vectors) -> float:
    """FID to about six digits in a third of the time: singular values as roots of eigenvalues."""
    a, _, mean = _parts(outputs, axes=False)
    b, _, other_mean = _parts(references, axes=False)
    product = a @ b.T if len(a) <= len(b) else b @ a.T
    squares = np.linalg.eigvalsh(product @ product.T)
    return _distance(mean - other_mean, a, b, np.sqrt(squares.clip(0)).sum())


def relabelled(both: Pair, generator: np.random.Generator) -> NDArray[np.bool_]:
    """Which of all pictures, outputs first, are called outputs this time."""
    numbers = np.concatenate([both.groups, both.reference_groups])
    outputs = np.bincount(both.groups, minlength=both.count)
    size = np.bincount(numbers, minlength=both.count)
    wanted = outputs.copy()
    # Whole groups in a random order, until there are as many outputs on one side as before.
    (alone,) = np.nonzero((outputs == 0) | (outputs == size))
    order = generator.permutation(alone)
    before = np.cumsum(size[order]) - size[order]
    wanted[order] = np.where(before < outputs[alone].sum(), size[order], 0)
    # Within each group a random order; its first `wanted` are the outputs.
    order = np.lexsort((generator.random(len(numbers)), numbers))
    start = np.cumsum(size) - size
    place = np.arange(len(numbers)) - start[numbers[order]]
    chosen = np.zeros(len(numbers), bool)
    chosen[order] = place < wanted[numbers[order]]
    return chosen
