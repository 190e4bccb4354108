"""Rank statistics of many short rows at once: a row is a case, its columns are the models."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from medebench.analysis.clusters import Floats, chunks
from medebench.analysis.ranked import midranks


def spearman_rows(x: ArrayLike, y: ArrayLike) -> Floats:
    """Spearman's rho of each row of `x` with the same row of `y`, ties and gaps allowed.

    The correlation of midranks, which without ties is 1 - 6 sum d^2 / (m (m^2 - 1)). A model that
    is NaN on either side is left out of both before ranks are taken. NaN where fewer than two
    models are left, and where either side ties all of them. With two models left it can only be
    1 or -1. Leading axes are broadcast: (annotators, cases, models) with (cases, models) works.

    >>> spearman_rows([[1, 2, 3], [1, 2, 3], [1, 1, 1]], [[10, 20, 30], [3, 2, 1], [1, 2, 3]])
    array([ 1., -1., nan])
    """
    return _by_row(_spearman, x, y)


def kendall_rows(x: ArrayLike, y: ArrayLike) -> Floats:
    """Kendall's tau-b of each row of `x` with the same row of `y`; gaps as in `spearman_rows`.

    Of the pairs of models, with C in the same order, D in opposite order, and X and Y not tied by
    x and by y: (C - D) / sqrt(X Y). NaN where `spearman_rows` is NaN.

    >>> kendall_rows([[1, 2, 3], [1, 1, 2]], [[1, 3, 2], [1, 1, 2]])
    array([0.33333333, 1.        ])
    """
    return _by_row(_kendall, x, y)


def same_order_rows(x: ArrayLike, y: ArrayLike) -> Floats:
    """Share of the pairs of models that both rows put in the same order; a tie only matches a tie.

    NaN only where fewer than two models are left: two people who both tie everything agree.

    >>> same_order_rows([[1, 2, 3], [1, 1, 1]], [[1, 3, 2], [2, 2, np.nan]])
    array([0.66666667, 1.        ])
    """
    return _by_row(_same_order, x, y)


def common_rows(x: ArrayLike, y: ArrayLike) -> Floats:
    """How many models have a value on both sides, for each row.

    >>> common_rows([[1, 2, np.nan]], [[1, np.nan, np.nan]])
    array([1.])
    """
    return _by_row(_common, x, y)


def _by_row(statistic: Callable[[Floats, Floats], Floats], x: ArrayLike, y: ArrayLike) -> Floats:
    """`statistic` of rows with common gaps, so few at a time that their pairs fit into memory."""
    a, b = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
    *shape, width = a.shape
    rows = math.prod(shape)
    gaps = np.isnan(a) | np.isnan(b)
    first, second = (np.where(gaps, np.nan, one).reshape(rows, width) for one in (a, b))
    found = np.empty(rows)
    for part in chunks(rows, width * width):
        found[part] = statistic(first[part], second[part])
    return found.reshape(shape)


def _spearman(x: Floats, y: Floats) -> Floats:
    known = ~np.isnan(x)
    count = known.sum(axis=1, keepdims=True)
    # Twice the midrank less twice their mean is a whole number: sums are exact, and so is +-1.
    a, b = (np.where(known, 2 * midranks(one) - (count + 1), 0.0) for one in (x, y))
    return _divide((a * b).sum(axis=1), (a * a).sum(axis=1), (b * b).sum(axis=1))


def _kendall(x: Floats, y: Floats) -> Floats:
    a, b = _signs(x), _signs(y)
    a, b = np.nan_to_num(a), np.nan_to_num(b)
    return _divide((a * b).sum(axis=1), (a * a).sum(axis=1), (b * b).sum(axis=1))


def _same_order(x: Floats, y: Floats) -> Floats:
    a, b = _signs(x), _signs(y)
    pairs = (~np.isnan(a)).sum(axis=1)
    share: Floats = (a == b).sum(axis=1) / np.maximum(pairs, 1)
    return np.where(pairs > 0, share, np.nan)


def _common(x: Floats, y: Floats) -> Floats:
    return np.asarray((~np.isnan(x)).sum(axis=1), np.float64)


def _signs(x: Floats) -> Floats:
    """1, 0 or -1 for each pair of columns: the first is larger, tied, smaller; NaN at gaps."""
    first, second = np.triu_indices(x.shape[1], 1)
    a, b = x[:, first], x[:, second]
    # Compared, not subtracted: inf - inf would be a gap that is none.
    return np.where(np.isnan(a) | np.isnan(b), np.nan, 1.0 * (a > b) - 1.0 * (a < b))


def _divide(top: Floats, left: Floats, right: Floats) -> Floats:
    spread = np.sqrt(left * right)
    found = np.where(spread > 0, top / np.where(spread > 0, spread, 1.0), np.nan)
    return np.clip(found, -1.0, 1.0)
