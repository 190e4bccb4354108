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

from medebench.metrics.metric import Undefined
from medebench.metrics.realism.paired_sets import Pair, Vectors, check

Matrix: TypeAlias = NDArray[np.float64]
#: What is less than this share of the covariances' traces is not a difference.
_ROUNDING = 1e-12


def fid(outputs: Vectors, references: Vectors) -> float:
    """The distance of two sets, a row a picture; sample covariances (divisor n - 1).

    >>> fid(np.array([[0.0], [2.0]]), np.array([[3.0], [5.0]]))
    9.0
    """
    check(outputs, references)
    (a, _, mean), (b, _, other_mean) = (_parts(one, axes=False) for one in (outputs, references))
    return _distance(mean - other_mean, a, b, np.linalg.svd(a @ b.T, compute_uv=False).sum())


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
        raise Undefined("one image has no covariance; at least 2 are needed")
    rows = np.asarray(vectors, np.float64)
    mean = rows.mean(axis=0)
    rows = (rows - mean) / np.sqrt(len(rows) - 1)
    nothing = np.zeros((0, 0))
    if len(rows) <= rows.shape[1]:
        return rows, np.eye(len(rows)) if axes else nothing, mean
    if not axes:
        return np.asarray(np.linalg.qr(rows, mode="r")), nothing, mean
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
    (a, _, mean), (b, _, other_mean) = (_parts(one, axes=False) for one in (outputs, references))
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
