"""How numbers, measures, sets and verdicts are written on the page and in the tables."""

from __future__ import annotations

from dataclasses import dataclass

from medebench.analysis.estimate import Estimate
from medebench.analysis.interval import Interval
from medebench.page.number import between, number
from medebench.stresstest.stress_outcome import EditOutcome, StressOutcome, Task, Which
from medebench.stresstest.stress_verdict import (
    CHANCE,
    FRAGILE_DICE,
    LEAST_GROUPS,
    ROBUST_DICE,
    ROBUST_LOSS,
    SHORTCUT_LOSS,
)

#: Beside a number, where nothing says why.
NO_INTERVAL = "no interval"
#: Kept; below the threshold of the edit score; not made or not scored.
KEPT, THROWN, FAILED = "kept", "thrown", "failed"
#: How each word is drawn: a sign beside it, and a colour of `report.palette.TYPES`.
BADGES = {
    "robust": ("✓", "success"),
    "weaker": ("↘", "wrong_place"),
    "shortcut": ("✗", "repainted"),
    "fragile": ("✗", "repainted"),
    "unclear": ("?", "nothing"),
}


@dataclass(frozen=True)
class Measure:
    """A measure as a column: `scale` times its value is printed, with `decimals`."""

    name: str
    label: str
    unit: str
    scale: float = 1.0
    decimals: int = 3
    better: str = "higher"

    def text(self, value: float | None) -> str:
        return number(None if value is None else self.scale * value, self.decimals)

    def ends(self, interval: Interval | None) -> str:
        if interval is None:
            return ""
        return between((self.scale * interval.low, self.scale * interval.high), self.decimals)


def _share(name: str, label: str) -> Measure:
    return Measure(name, label, "%", 100.0, 1)


MEASURES = {
    one.name: one
    for one in (
        _share("accuracy", "Accuracy"),
        _share("accuracy_matched", "Accuracy at matched labels"),
        _share("sensitivity", "Sensitivity"),
        _share("specificity", "Specificity"),
        Measure("auroc", "AUROC", ""),
        Measure("dice", "Dice", ""),
        Measure("average_hausdorff", "Average Hausdorff distance", "px", 1.0, 2, "lower"),
    )
}
SETS: dict[Which, str] = {
    "original": "Original",
    "before": "Before",
    "edited": "Edited",
    "pairs": "Before and edited",
    "loss": "Loss",
}


@dataclass(frozen=True)
class StressColumn:
    """A column of the headline table."""

    which: Which
    measure: Measure
    label: str
    note: str

    @property
    def head(self) -> str:
        unit = "points" if self.which == "loss" and self.measure.unit == "%" else self.measure.unit
        return f"{self.label}, {unit}" if unit else self.label


def columns(outcome: StressOutcome) -> list[StressColumn]:
    """What the headline table shows of each predictor."""
    lead = MEASURES[outcome.headline]
    found = [
        StressColumn("original", lead, "Original", "the whole test set"),
        StressColumn("before", lead, "Before", "the edited pictures before editing"),
        StressColumn("edited", lead, "Edited", "kept edits"),
    ]
    if outcome.task == "segmentation":
        return [*found, StressColumn("loss", lead, "Loss", "before − edited, paired")]
    matched = MEASURES["accuracy_matched"]
    return [
        *found,
        StressColumn("loss", lead, "Loss", "original − edited"),
        StressColumn("loss", matched, "Loss, matched labels", "the verdict is based on it"),
    ]


def measures(outcome: StressOutcome) -> list[Measure]:
    """The measures that the tables of this outcome have, in our order."""
    there = {name for one in outcome.predictors for cells in one.table.values() for name in cells}
    known = [one for name, one in MEASURES.items() if name in there]
    return [*known, *(Measure(name, name, "") for name in sorted(there - MEASURES.keys()))]


def status(edit: EditOutcome) -> str:
    if edit.kept:
        return KEPT
    return FAILED if edit.score is None else THROWN


def why_not(edit: EditOutcome, outcome: StressOutcome) -> str:
    """Why an edit is not used; empty where it is."""
    if edit.kept:
        return ""
    if edit.reason or edit.score is None:
        return edit.reason or "no reason given"
    return f"edit score below {outcome.threshold:g}"


def change(before: Estimate, after: Estimate, measure: Measure) -> str:
    """ "99.0 % → 5.5 %" """
    unit = f" {measure.unit}" if measure.unit else ""
    ends = (before.value, after.value)
    return " → ".join(measure.text(one) + ("" if one is None else unit) for one in ends)


def threshold_text(threshold: float) -> str:
    return "none" if threshold <= -1 else f"{threshold:g}".replace("-", "−")


def glossary(task: Task) -> list[tuple[str, str]]:
    """What each word means, with the numbers that it takes."""
    few = (
        f"everything else, and always if the kept edits come from fewer than {LEAST_GROUPS} "
        "groups, or if there is a loss and every reference breaks down"
    )
    if task == "segmentation":
        return [
            ("fragile", f"a loss above {FRAGILE_DICE:.2f} Dice is established"),
            ("robust", f"a loss above {ROBUST_DICE:.2f} Dice is ruled out"),
            ("weaker", "a loss above 0 is established, and neither of the above"),
            ("unclear", few),
        ]
    short = f"edited accuracy below {100 * CHANCE:.0f} % and a loss above {100 * SHORTCUT_LOSS:.0f}"
    spared = f"a loss above {100 * ROBUST_LOSS:.0f} points"
    return [
        ("shortcut", f"{short} points are established"),
        ("robust", f"{spared} is ruled out for a predictor that was not poor before"),
        ("weaker", "a loss above 0 is established, and neither of the above"),
        ("unclear", few),
    ]
