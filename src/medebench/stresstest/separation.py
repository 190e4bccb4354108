"""Does the edit score tell good edits from failed ones, where somebody knows which are which?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medebench.analysis import share
from medebench.analysis.estimate import Estimate, estimate
from medebench.errors import InputError
from medebench.metrics.metric import Undefined
from medebench.stresstest.predictor_measures import ranked
from medebench.stresstest.stress_verdict import THRESHOLDS

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class SeparatedAt:
    """What a threshold does: the share of good edits it keeps, of failed ones it throws away."""

    threshold: float
    kept: int
    thrown: int
    good_kept: Estimate
    failed_thrown: Estimate
    #: The share of good ones among those kept.
    good_of_kept: Estimate


def separation(
    scores: Sequence[float],
    good: Sequence[bool],
    groups: Sequence[str] | None = None,
    *,
    seed: int = 0,
) -> Estimate:
    """AUROC of the edit score: how often a good edit scores above a failed one; ties count half.

    `groups` names the pictures or patients the edits come from, where they share some.

    >>> separation([0.9, 0.8, 0.1, 0.3], [True, True, False, False]).value
    1.0
    """
    values, true, codes = _checked(scores, good, groups)
    try:
        one = ranked(true, values, codes, int(codes.max(initial=-1)) + 1, seed=seed)
    except Undefined:
        only = f"all edits {'are good' if true.all() else 'failed'}"
        return Estimate(None, reason=only if len(values) else "there is no edit")
    return Estimate(one.value, one.interval, one.pictures, one.pictures)


def separated_at(
    scores: Sequence[float],
    good: Sequence[bool],
    groups: Sequence[str] | None = None,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
) -> list[SeparatedAt]:
    """What each threshold keeps of the good edits and throws away of the failed ones.

    >>> [one] = separated_at([0.9, 0.1, 0.3], [True, True, False], thresholds=[0.2])
    >>> one.good_kept.value, one.failed_thrown.value, one.good_of_kept.value
    (0.5, 0.0, 0.5)
    """
    values, true, codes = _checked(scores, good, groups)
    found = []
    for threshold in thresholds:
        kept = values >= threshold
        found.append(
            SeparatedAt(
                threshold,
                int(kept.sum()),
                int((~kept).sum()),
                _part(kept, codes, true, "no edit is good"),
                _part(~kept, codes, ~true, "no edit failed"),
                _part(true, codes, kept, "no edit is kept"),
            )
        )
    return found


def _part(what: Bools, codes: NDArray[np.intp], among: Bools, none: str) -> Estimate:
    if not among.any():
        return Estimate(None, reason=none)
    return estimate(share(what[among], codes[among], int(codes.max()) + 1))


def _checked(
    scores: Sequence[float], good: Sequence[bool], groups: Sequence[str] | None
) -> tuple[NDArray[np.float64], Bools, NDArray[np.intp]]:
    names = [str(place) for place in range(len(scores))] if groups is None else list(groups)
    if not len(scores) == len(good) == len(names):
        raise InputError(f"{len(scores)} scores, {len(good)} verdicts, {len(names)} groups")
    values = np.asarray(scores, np.float64)
    if not np.isfinite(values).all():
        raise InputError("an edit score is not a finite number; leave such edits out")
    codes = np.unique(np.asarray(names, dtype=str), return_inverse=True)[1]
    return values, np.asarray(good, np.bool_), codes
