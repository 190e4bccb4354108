"""Krippendorff's alpha for ordinal values: any number of raters, ties and gaps allowed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from medebench.analysis.clusters import Floats


def alpha(values: ArrayLike, weights: ArrayLike | None = None) -> float | None:
    """Alpha of `values` (raters x units, NaN = not rated); a unit of weight w counts as w units.

    With n_u ratings in unit u, n_uc of them of value c, the coincidences are

        o_ck = sum_u n_uc (n_uk - [c = k]) / (n_u - 1)        n_c = sum_k o_ck        n = sum_c n_c

    and the ordinal difference of two values is the number of ratings between them, their own
    counted half: d_ck = p_k - p_c with p_c = n_1 + ... + n_c - n_c / 2. Then

        alpha = 1 - (n - 1) sum_ck o_ck d_ck^2 / sum_ck n_c n_k d_ck^2.

    1 is full agreement, 0 is what chance alone gives (Krippendorff 2011, "Computing Krippendorff's
    alpha-reliability"). Units with fewer than two ratings say nothing and are left out. None where
    no unit is left, and where all ratings that are left have the same value: nothing can then
    disagree, not even by chance.

    >>> alpha([[1, 2, 3, 4], [1, 2, 3, 4]])
    1.0
    >>> round(alpha([[1, 2, 3, 4, np.nan], [1, 2, 4, 3, 5]]), 4)
    0.825
    >>> alpha([[1, 1], [1, 1]]) is None
    True
    """
    x = np.asarray(values, np.float64)
    each = np.ones(x.shape[1]) if weights is None else np.asarray(weights, np.float64)
    if each.shape != x.shape[1:] or not (np.isfinite(each) & (each >= 0)).all():
        raise ValueError("weights must be one number for each unit, finite and not negative")
    found = float(ordinal_alpha(_weighted(*_counts(x), each)))
    return None if np.isnan(found) else found


def coincidences(values: ArrayLike, groups: NDArray[np.intp], size: int) -> Floats:
    """The coincidences of each group 0, 1, ..., size - 1 of units, (size, values, values).

    They add up: those of a resample of groups are the sum of what was drawn.

    >>> coincidences([[1, 2], [1, 1]], np.array([0, 1]), 2).tolist()
    [[[2.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]]
    """
    counts, totals = _counts(np.asarray(values, np.float64))
    found = np.zeros((size, counts.shape[1], counts.shape[1]))
    order = np.argsort(groups, kind="stable")
    ends = np.searchsorted(groups[order], np.arange(size + 1))
    for group in range(size):
        units = order[ends[group] : ends[group + 1]]
        found[group] = _weighted(counts[units], totals[units], np.ones(len(units)))
    return found


def ordinal_alpha(coincident: Floats) -> Floats:
    """Alpha of coincidences (..., values, values), values ascending; NaN where there is none."""
    size = coincident.sum(axis=-1)
    total = size.sum(axis=-1)
    place = np.cumsum(size, axis=-1) - size / 2
    apart = (place[..., :, None] - place[..., None, :]) ** 2
    observed = (coincident * apart).sum(axis=(-2, -1))
    expected = (size * (apart @ size[..., None])[..., 0]).sum(axis=-1)
    # Not "> 0": what is left of a value after its only source was subtracted may be rounding.
    present = size > 1e-9 * total[..., None]
    defined = present.sum(axis=-1) > 1
    return np.where(defined, 1 - (total - 1) * observed / np.where(defined, expected, 1.0), np.nan)


def _counts(values: Floats) -> tuple[Floats, Floats]:
    """How often each unit has each value that occurs, and how many ratings it has.

    A unit with one rating counts as empty.
    """
    known = ~np.isnan(values)
    known &= known.sum(axis=0) > 1
    domain, codes = np.unique(values[known], return_inverse=True)
    units = np.nonzero(known)[1]
    shape = (values.shape[1], len(domain))
    counts = np.bincount(units * shape[1] + codes, minlength=shape[0] * shape[1])
    return counts.reshape(shape).astype(np.float64), known.sum(axis=0).astype(np.float64)


def _weighted(counts: Floats, totals: Floats, weights: Floats) -> Floats:
    """Coincidences of units with these weights."""
    each = (weights / np.maximum(totals - 1, 1))[:, None]
    found: Floats = counts.T @ (counts * each)
    # On the diagonal a rating is not paired with itself; so written it is exactly 0 without pairs.
    np.fill_diagonal(found, (counts * (counts - 1) * each).sum(axis=0))
    return found
