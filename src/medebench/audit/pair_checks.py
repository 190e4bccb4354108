"""Whether reference and image are one photograph, and whether the mask marks what changed.

Both are asked of the same small views: the mean colour difference (CIE76, softened as for the
intended change) inside and outside the ROI, and how well the surroundings agree in place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from medebench.audit.alignment import FITS, UNRELATED, Alignment, compare
from medebench.audit.audit_finding import Finding, examples
from medebench.audit.file_facts import VIEW, View
from medebench.cases.case import Case
from medebench.metrics.colour import lengths
from medebench.metrics.intended import OTHER_PHOTOGRAPH

#: A picture of which less lies outside its region is compared as a whole.
ENOUGH = 0.10
#: A pair was moved if it fits elsewhere, better by this much.
BETTER = 0.1
#: How much more a mask's share of the frame's edge says than the change: a region that touches the
#: whole edge is as suspicious as one in which e times less changed than around it.
EDGE = 2.0
#: How much the change can say for and against: however plain, it does not make a mask inverted
#: that keeps to the inside, but it does explain one that takes the whole edge.
MOST_FOR, MOST_AGAINST = 0.85, 1.2
#: Evidence from which on a mask is called inverted, and without a reference to compare with.
INVERTED, UNSEEN = -0.1, 0.8
#: If that many masks of a set look inverted, all are; fewer masks than `FEW` make no set.
WHOLE_SET = 0.7
FEW = 5
#: What a mask leaves free is its true region only if it is more than a strip at the frame's edge.
_STRIP = 0.6
_MARGIN = 4

Cover = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Pair:
    """Image and reference under a mask."""

    alignment: Alignment | None
    #: Mean colour difference inside and outside the ROI, and outside once moved back.
    inside: float
    outside: float
    moved: float
    has_roi: bool

    @property
    def code(self) -> str | None:
        found = self.alignment
        differs = self.has_roi and self.outside >= OTHER_PHOTOGRAPH
        if found is None or not (differs or found.here < UNRELATED or found.displaced):
            return None
        fits = found.best >= max(FITS, found.here + BETTER) and self.moved < OTHER_PHOTOGRAPH
        return "misaligned-pair" if fits else "other-photograph"

    def __str__(self) -> str:
        found = self.alignment
        assert found is not None
        text = f"difference {self.outside:.0f}, correlation {found.here:.2f}"
        if self.code == "misaligned-pair":
            across, down = found.shift
            text += f"; {self.moved:.0f} and {found.best:.2f} at an offset of "
            text += f"{across:+.0%} of the width and {down:+.0%} of the height"
        return text


@dataclass(frozen=True, slots=True)
class PairFacts:
    """A pair under its mask as it is and, where that looks inverted, under the other one."""

    pair: Pair | None
    #: Evidence that the mask is inverted (above `INVERTED`: it is); None without a mask.
    inverted: float | None = None
    flipped: Pair | None = None


NO_PAIR = PairFacts(None)


class Examined(Protocol):
    @property
    def case(self) -> Case: ...
    @property
    def facts(self) -> PairFacts: ...


def pair_facts(previous: View | None, reference: View | None, cover: Cover | None) -> PairFacts:
    if previous is None or reference is None:
        pair, score = None, None if cover is None else _edge_evidence(cover) - UNSEEN + INVERTED
        return PairFacts(pair, score)
    pair = compare_views(previous, reference, cover)
    if cover is None:
        return PairFacts(pair)
    # By the change itself, as far as there is one.
    change = math.log((pair.inside + 1) / (pair.outside + 1))
    # Of two photographs both sides differ, and which one more is an accident.
    least = 0.0 if min(pair.inside, pair.outside) >= OTHER_PHOTOGRAPH else -MOST_FOR
    score = _edge_evidence(cover) - min(max(change, least), MOST_AGAINST)
    flipped = compare_views(previous, reference, 1 - cover) if score > INVERTED else None
    return PairFacts(pair, score, flipped)


def compare_views(previous: View, reference: View, cover: Cover | None) -> Pair:
    covered = np.zeros((VIEW, VIEW), np.float32) if cover is None else cover
    off = lengths(reference.lab - previous.lab)
    inside, outside = _mean(off, covered), _mean(off, 1 - covered)
    differs = cover is not None and outside >= OTHER_PHOTOGRAPH
    free = covered == 0
    if free.mean() < ENOUGH:
        free = np.ones_like(free)
    found = compare(previous.grey, reference.grey, free, search=differs)
    moved = outside if found is None else _moved(previous, reference, free, found.shift)
    return Pair(found, inside, outside, moved, cover is not None)


def pair_findings(seen: Sequence[Examined]) -> Iterator[Finding]:
    """Inverted masks first: the pairs behind them are looked at through the right mask."""
    scores = {one.case.id: one.facts.inverted for one in seen if one.facts.inverted is not None}
    turned = {case_id for case_id, score in scores.items() if score > INVERTED}
    if turned:
        lines = [f"{len(turned):,} of {len(scores):,} masks"]
        if len(scores) >= FEW and len(turned) >= WHOLE_SET * len(scores):
            lines = [f"the whole set: {len(turned):,} of {len(scores):,} masks by themselves"]
            turned = set(scores)
        ids = tuple(case_id for case_id in scores if case_id in turned)
        yield Finding("inverted-mask", ids, examples(lines))
    pairs = {
        one.case.id: (one.facts.flipped if one.case.id in turned else None) or one.facts.pair
        for one in seen
    }
    order: dict[str, Callable[[Pair], float]] = {
        "misaligned-pair": lambda pair: pair.alignment.here if pair.alignment else 0,
        "other-photograph": lambda pair: -pair.outside,
    }
    for code, key in order.items():
        hit = [(case_id, pair) for case_id, pair in pairs.items() if pair and pair.code == code]
        if hit:
            worst = sorted(hit, key=lambda item: key(item[1]))
            lines = [f"case {case_id}: {pair}" for case_id, pair in worst]
            yield Finding(code, tuple(case_id for case_id, _ in hit), examples(lines))


def _edge_evidence(cover: Cover) -> float:
    """How much of the frame's edge the mask takes, from -1 to 1; a region lies in the frame."""
    edge = np.concatenate([cover[0], cover[-1], cover[1:-1, 0], cover[1:-1, -1]])
    left, inner = 1 - cover, slice(_MARGIN, -_MARGIN)
    if left.sum() == 0 or left[inner, inner].sum() < (1 - _STRIP) * left.sum():
        return -EDGE
    return EDGE * (float(edge.mean()) - 0.5)


def _mean(values: NDArray[np.float32], weights: NDArray[np.float32]) -> float:
    total = float(weights.sum())
    return float((values * weights).sum()) / total if total else 0.0


def _moved(
    previous: View, reference: View, free: NDArray[np.bool_], shift: tuple[float, float]
) -> float:
    """The difference where both show surroundings once the reference is moved back by `shift`."""
    across, down = (round(one * VIEW) for one in shift)
    here = np.s_[max(0, -down) : VIEW - max(0, down), max(0, -across) : VIEW - max(0, across)]
    there = np.s_[max(0, down) : VIEW + min(0, down), max(0, across) : VIEW + min(0, across)]
    off = lengths(reference.lab[there] - previous.lab[here])
    both = free[here] & free[there]
    return float(off[both].mean()) if both.any() else math.inf
