"""How far repeated judgements of the same output agree with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Reliability:
    """What repeats of the same judgement say about a single one."""

    #: Outputs with at least two values, and the values they have together.
    outputs: int
    values: int
    #: Mean over the outputs of the standard deviation of their values (n - 1 in the denominator).
    sd: float
    #: Mean over the outputs of the standard error of the mean of their values: sd / sqrt(n).
    se: float
    #: ICC(1,1); None with fewer than two outputs, or where all values are the same.
    icc: float | None


def reliability(repeats: Sequence[Sequence[float]]) -> Reliability | None:
    """Mean spread within an output, and ICC(1,1) of a one-way random-effects model.

    With m outputs, n_i values x_ij of output i, N = sum_i n_i, and the mean squares

        MSB = sum_i n_i (mean_i - mean)^2 / (m - 1),
        MSW = sum_ij (x_ij - mean_i)^2 / (N - m),
        n0  = (N - sum_i n_i^2 / N) / (m - 1)          the number of repeats where all have the same

    ICC(1,1) = (MSB - MSW) / (MSB + (n0 - 1) MSW) is the share of the variance of a single
    judgement that lies between outputs (Shrout and Fleiss 1979): 1 when repeats agree, about 0,
    or below, when they differ as much as outputs do.

    Outputs with fewer than two values say nothing about repeats and are left out; None when none
    is left.

    >>> reliability([[0.5, 0.75], [0.25, 0.25], [0.9]]).icc
    0.8
    """
    groups = [np.asarray(one, dtype=np.float64) for one in repeats]
    groups = [one[np.isfinite(one)] for one in groups]
    groups = [one for one in groups if len(one) > 1]
    if not groups:
        return None
    sizes = np.array([len(one) for one in groups], dtype=np.float64)
    total, m = float(sizes.sum()), len(groups)
    sd = float(np.mean([one.std(ddof=1) for one in groups]))
    se = float(np.mean([one.std(ddof=1) / np.sqrt(len(one)) for one in groups]))
    if m < 2:
        return Reliability(m, int(total), sd, se, None)
    means = np.array([one.mean() for one in groups])
    grand = float((sizes * means).sum() / total)
    between = float((sizes * (means - grand) ** 2).sum()) / (m - 1)
    within = float(sum(((one - one.mean()) ** 2).sum() for one in groups)) / (total - m)
    usual = (total - float((sizes**2).sum()) / total) / (m - 1)
    bottom = between + (usual - 1) * within
    icc = (between - within) / bottom if bottom > 1e-18 else None
    return Reliability(m, int(total), sd, se, icc)
