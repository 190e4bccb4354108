"""One predictor on the original pictures and on their edits: every measure with its interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec

import numpy as np

from medebench.analysis import Bounds, Difference, Mean, share
from medebench.analysis.difference import Statistic
from medebench.analysis.estimate import Estimate, estimate
from medebench.analysis.interval import UNIT, Interval
from medebench.analysis.means import of_codes
from medebench.metrics.metric import Undefined
from medebench.stresstest.predictor_measures import Bools, Floats, Ranked, ranked, ranked_less
from medebench.stresstest.predictor_outputs import Answers, Pictures, Rows, rows_of
from medebench.stresstest.stress_outcome import EditOutcome, PredictorOutcome, StressSet, Which

__all__ = ["CLASSIFICATION", "SEGMENTATION", "Answers", "compare", "paired_difference"]

Table = dict[Which, dict[str, Estimate]]
P = ParamSpec("P")

#: The measures of a table.
CLASSIFICATION = ("accuracy", "accuracy_matched", "sensitivity", "specificity", "auroc")
SEGMENTATION = ("dice", "average_hausdorff")

#: Ends of the scale of a distance.
DISTANCES = Bounds(low=0.0)
_NOTHING = "no edit was kept"


def compare(
    stress: StressSet,
    edits: Sequence[EditOutcome],
    answers: Answers,
    *,
    seed: int = 0,
    brief: bool = False,
) -> PredictorOutcome:
    """The tables of one predictor over the edits that were kept, and over those of each kind.

    Rows of a classification: the whole test set ("original"); the pictures that were edited, as
    they were ("before", once for each kept edit); the edits with the labels that are then true
    ("edited"); both together ("pairs"). "loss" is original less edited, for AUROC original less
    pairs: edits are often all of one class, which has no AUROC.

    `accuracy_matched` of the originals is their accuracy with labels weighted as they are among the
    edits. Where all edits are negative that is the specificity. A predictor that is better on one
    class than on the other "loses" accuracy by the mere change of classes, but not this.

    Rows of a segmentation: means over pictures. Its "loss" is paired, before less edited, on the
    same pictures. A loss above 0 always is one: of a distance it is how much it grew.

    `brief` leaves out AUROC, distances and kinds.
    """
    tabulate = _segmentation if stress.task == "segmentation" else _classification
    kinds = sorted({edit.intended.kind for edit in edits})
    finer: dict[str, Table] = {}
    if len(kinds) > 1 and not brief:
        for kind in kinds:
            some = [edit for edit in edits if edit.intended.kind == kind]
            finer[kind] = tabulate(rows_of(stress, some, answers), answers, seed, brief)
    table = tabulate(rows_of(stress, edits, answers), answers, seed, brief)
    return PredictorOutcome(answers.name, answers.reference, table, finer)


def paired_difference(
    stress: StressSet, edits: Sequence[EditOutcome], first: Answers, second: Answers
) -> Estimate:
    """How much more the first predictor loses than the second, on the same pictures.

    Of `accuracy_matched` or of Dice (see `compare`). Above 0 the first loses more. The interval
    knows that both saw the same pictures.
    """

    def loss(answers: Answers) -> Statistic:
        rows = rows_of(stress, edits, answers)
        segments = stress.task == "segmentation"
        return _dice_loss(rows) if segments else _matched_loss(rows, answers.threshold)

    return _estimate(lambda: Difference(loss(first), loss(second)))


def _classification(rows: Rows, answers: Answers, seed: int, brief: bool) -> Table:
    at = answers.threshold
    original, edited = rows.original, rows.edited
    sets: dict[Which, Pictures] = {"original": original, "before": rows.before}
    sets |= {"edited": edited, "pairs": rows.before + edited}
    table: Table = {
        which: {
            "accuracy": _estimate(_right, some, at),
            "sensitivity": _estimate(_of_class, some, at, True),
            "specificity": _estimate(_of_class, some, at, False),
        }
        for which, some in sets.items()
    }
    table["original"]["accuracy_matched"] = _estimate(_matched, rows, at)
    table["edited"]["accuracy_matched"] = table["edited"]["accuracy"]
    table["loss"] = {
        "accuracy": _estimate(lambda: Difference(_right(original, at), _right(edited, at))),
        "accuracy_matched": _estimate(_matched_loss, rows, at),
        "sensitivity": _estimate(_class_loss, rows, at, True),
        "specificity": _estimate(_class_loss, rows, at, False),
    }
    if not brief:
        _add_auroc(table, sets, seed)
    return table


def _add_auroc(table: Table, sets: Mapping[Which, Pictures], seed: int) -> None:
    found: dict[Which, Ranked] = {}
    for which, some in sets.items():
        try:
            one = ranked(some.positive, some.value, some.groups, some.total, seed=seed)
        except Undefined as why:
            table[which]["auroc"] = Estimate(None, reason=str(why) if len(some) else _NOTHING)
        else:
            found[which] = one
            table[which]["auroc"] = _measured(one.value, one.interval, one.pictures)
    if "original" in found and "pairs" in found:
        first, second = found["original"], found["pairs"]
        lost = first.value - second.value
        table["loss"]["auroc"] = _measured(lost, ranked_less(first, second), second.pictures)
    else:
        table["loss"]["auroc"] = table["pairs" if "original" in found else "original"]["auroc"]


def _measured(value: float, interval: Interval | None, pictures: int) -> Estimate:
    return Estimate(value, interval, pictures, pictures)


def _right(some: Pictures, threshold: float, weights: Floats | None = None) -> Statistic:
    if not len(some):
        raise Undefined(_NOTHING)
    said = some.value >= threshold
    return share(said == some.positive, some.groups, some.total, weights)


def _of_class(some: Pictures, threshold: float, positive: bool) -> Statistic:
    which = some.positive == positive
    if len(some) and not which.any():
        raise Undefined(f"no picture is {'positive' if positive else 'negative'}")
    return _right(some[which], threshold)


def _class_loss(rows: Rows, threshold: float, positive: bool) -> Statistic:
    edited = _of_class(rows.edited, threshold, positive)
    return Difference(_of_class(rows.original, threshold, positive), edited)


def _matched(rows: Rows, threshold: float) -> Statistic:
    """Accuracy of the originals, their labels weighted as they are among the edits."""
    original, edited = rows.original.positive, rows.edited.positive
    if not len(edited):
        raise Undefined(_NOTHING)
    weights = np.zeros(len(original))
    for label in (True, False):
        wanted = float((edited == label).mean())
        there = original == label
        if wanted and not there.any():
            name = "positive" if label else "negative"
            raise Undefined(f"some edits are {name}, but no picture of the test set is")
        weights[there] = wanted / max(1, int(there.sum()))
    counted = weights > 0
    return _right(rows.original[counted], threshold, weights[counted])


def _matched_loss(rows: Rows, threshold: float) -> Statistic:
    return Difference(_matched(rows, threshold), _right(rows.edited, threshold))


def _segmentation(rows: Rows, answers: Answers, seed: int, brief: bool) -> Table:
    before, edited = rows.before, rows.edited
    sets: dict[Which, Pictures] = {"original": rows.original, "before": before, "edited": edited}
    table: Table = {
        which: {"dice": _estimate(_mean, some.value, some, UNIT)} for which, some in sets.items()
    }
    table["loss"] = {"dice": _estimate(_dice_loss, rows)}
    table["pairs"] = {}
    if brief:
        return table
    for which, some in sets.items():
        table[which]["average_hausdorff"] = _estimate(_mean, some.distance, some, DISTANCES)
    both = np.isfinite(before.distance + edited.distance)

    def distance(some: Pictures) -> Mean:
        return _mean(some.distance, some, DISTANCES, both)

    grown = _estimate(lambda: Difference(distance(edited), distance(before)))
    table["loss"]["average_hausdorff"] = grown
    return table


def _dice_loss(rows: Rows) -> Statistic:
    before, edited = rows.before, rows.edited
    return Difference(_mean(before.value, before, UNIT), _mean(edited.value, edited, UNIT))


def _mean(values: Floats, of: Pictures, bounds: Bounds, among: Bools | None = None) -> Mean:
    """The mean over the pictures that have a value (`among` those given)."""
    if not len(of):
        raise Undefined(_NOTHING)
    there = np.isfinite(values) if among is None else among
    found = of_codes(values[there], of.groups[there], of.total, bounds)
    if found is None:
        raise Undefined("every predicted mask is empty")
    return found


def _estimate(measure: Callable[P, Statistic], *given: P.args, **options: P.kwargs) -> Estimate:
    try:
        return estimate(measure(*given, **options))
    except Undefined as why:
        return Estimate(None, reason=str(why))
