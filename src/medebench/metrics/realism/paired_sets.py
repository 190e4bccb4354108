"""Two sets of vectors whose members may belong together: checked, and with their groups numbered.

Pictures of one group come from the same source image and are not independent: the output and the
reference of a case, several outputs of it, several cases of one photograph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medebench.errors import InputError
from medebench.metrics.metric import Undefined

Vectors: TypeAlias = NDArray[Any]
Groups: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Pair:
    """Outputs and references, one a row, with the number of each one's group, from 0 on."""

    outputs: Vectors
    references: Vectors
    groups: Groups
    reference_groups: Groups
    #: Of both sets together.
    count: int


def pair(
    outputs: Vectors,
    references: Vectors,
    groups: NDArray[Any] | None = None,
    reference_groups: NDArray[Any] | None = None,
) -> Pair:
    """Without groups every picture is one of its own. Undefined where a number is not finite."""
    check(outputs, references)
    n, m = len(outputs), len(references)
    if (groups is None) != (reference_groups is None):
        raise InputError("groups: give those of the outputs and of the references, or neither")
    if groups is None or reference_groups is None:
        return Pair(outputs, references, np.arange(n), np.arange(n, n + m), n + m)
    if np.shape(groups) != (n,) or np.shape(reference_groups) != (m,):
        raise InputError(f"groups: expected one for each of {n} outputs and {m} references")
    names, numbers = np.unique(np.concatenate([groups, reference_groups]), return_inverse=True)
    numbers = numbers.astype(np.int64)
    return Pair(outputs, references, numbers[:n], numbers[n:], len(names))


def check(*sets: Vectors) -> None:
    if any(np.ndim(one) != 2 for one in sets) or len({np.shape(one)[1] for one in sets}) > 1:
        shapes = " and ".join(str(np.shape(one)) for one in sets)
        raise InputError(f"features: expected one row of equal length per image; found {shapes}")
    if not all(np.isfinite(one).all() for one in sets):
        raise Undefined("a feature is not a finite number")


def interval(value: float, error: float, count: int) -> tuple[float, float]:
    """95 %, after Student with one degree of freedom less than there are groups."""
    from scipy.special import stdtrit

    half = float(stdtrit(count - 1, 0.975)) * error
    return value - half, value + half
