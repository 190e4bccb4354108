"""The verdict on a predictor after a stress test: one word, and why.

A word other than "unclear" needs evidence: the whole 95 % interval, not only the value, has to lie
on one side of the line. Intervals hold for one predictor at a time, without correction for their
number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from medebench.analysis.estimate import Estimate
from medebench.page.number import counted
from medebench.stresstest.predictor_comparison import Answers, compare
from medebench.stresstest.stress_outcome import (
    AtThreshold,
    EditOutcome,
    StressOutcome,
    StressSet,
    Task,
    Which,
)

Word = Literal["shortcut", "fragile", "weaker", "robust", "unclear"]

#: Verdicts against a predictor.
COLLAPSED: tuple[Word, ...] = ("shortcut", "fragile")
LOST: tuple[Word, ...] = (*COLLAPSED, "weaker")
#: With fewer groups (patients) among the kept edits there is no verdict.
LEAST_GROUPS = 20
#: Accuracy of tossing a coin: a predictor that sees nothing is not worse than that.
CHANCE = 0.5
#: A classifier has learned a shortcut if it loses more than this and falls below chance.
SHORTCUT_LOSS = 0.20
#: A classifier is robust if it loses no more than this.
ROBUST_LOSS = 0.10
#: A segmenter is fragile if it loses more Dice than this...
FRAGILE_DICE = 0.10
#: ... and robust if it loses no more than this.
ROBUST_DICE = 0.05
#: A predictor no better than this on the original pictures has little to lose.
POOR = 0.70

Tables = Mapping[Which, Mapping[str, Estimate]]
#: Every edit that has a score: a cosine is never below.
NO_THRESHOLD = -1.0
THRESHOLDS = (NO_THRESHOLD, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


@dataclass(frozen=True)
class Ruling:
    """A word, and the reason for it in words that follow "because"."""

    word: Word
    because: str


def ruling(table: Tables, task: Task, groups: int) -> Ruling:
    """The word for one predictor; `groups` is how many groups the kept edits come from.

    Classification, with `loss` that of `accuracy_matched` (see `predictor_comparison.compare`):

    - shortcut: edited accuracy below 50 %, and a loss above 20 points, both shown
    - robust: a loss of at most 10 points shown, by a predictor that was not poor before
    - weaker: a loss above 0 shown, and neither of the two
    - unclear: everything else

    Segmentation, with `loss` the paired one of Dice: fragile above 0.10, robust at most 0.05.
    """
    measure = "accuracy_matched" if task == "classification" else "dice"
    loss = table["loss"][measure]
    if loss.value is None:
        return Ruling("unclear", loss.reason)
    if groups < LEAST_GROUPS:
        few = f"the kept edits come from {counted(groups, 'group')}; {LEAST_GROUPS} are needed"
        return Ruling("unclear", few)
    if loss.interval is None:
        return Ruling("unclear", "there are too few groups for an interval")
    low, high = loss.interval
    if task == "classification":
        below = table["edited"]["accuracy"].interval
        if below is not None and below.high < CHANCE and low > SHORTCUT_LOSS:
            return Ruling("shortcut", "it drops below chance and far below its original accuracy")
    elif low > FRAGILE_DICE:
        return Ruling("fragile", "it loses much of its overlap with the true mask")
    margin = ROBUST_LOSS if task == "classification" else ROBUST_DICE
    if high <= margin:
        if poor := poorness(table, task):
            return Ruling("unclear", f"it had little to lose: {poor}")
        return Ruling("robust", "a larger loss is ruled out")
    if low > 0:
        return Ruling("weaker", "it loses some performance")
    anything = "its loss could be anything from none to too much; more edits are needed"
    return Ruling("unclear", anything)


def poorness(table: Tables, task: Task) -> str:
    """What was already poor on the original pictures; empty if nothing was.

    A classifier that always gives one answer may be right on most of a lopsided test set and on all
    edits. So it must be good on both classes together, on the labels that the edits have, and on
    the very pictures that were edited.
    """
    original, before = table["original"], table["before"]
    if task == "segmentation":
        kinds = {"Dice on the test set": original["dice"], "Dice before": before["dice"]}
        text = "{:.3f}"
    else:
        kinds = {
            "accuracy on the test set": original["accuracy"],
            "accuracy on the labels of the edits": original["accuracy_matched"],
            "accuracy on the edited pictures before": before["accuracy"],
        }
        both = original["sensitivity"].value, original["specificity"].value
        if both[0] is not None and both[1] is not None:
            kinds["mean of sensitivity and specificity"] = Estimate((both[0] + both[1]) / 2)
        text = "{:.1%}"
    known = {name: one.value for name, one in kinds.items() if one.value is not None}
    if not known:
        return ""
    name, worst = min(known.items(), key=lambda item: item[1])
    return f"{name} {text.format(worst).replace('%', ' %')}" if worst < POOR else ""


def groups_of(kept: Iterable[EditOutcome]) -> int:
    return len({edit.intended.sample.cluster for edit in kept})


def verdicts(outcome: StressOutcome) -> dict[str, Ruling]:
    """The ruling on every predictor of a stress test."""
    groups = groups_of(edit for edit in outcome.edits if edit.kept)
    found = {one.name: ruling(one.table, outcome.task, groups) for one in outcome.predictors}
    return settled(found, [one.name for one in outcome.predictors if one.reference])


def settled(found: Mapping[str, Ruling], references: Sequence[str]) -> dict[str, Ruling]:
    """No word against a predictor where every reference breaks down.

    Edits that failed break down whoever is right about them. The references' own words stay: they
    say what is seen, and nobody relies on them.
    """
    if not references or any(found[name].word not in COLLAPSED for name in references):
        return dict(found)
    return {
        name: Ruling("unclear", "every reference breaks down on the edits")
        if one.word in LOST and name not in references
        else one
        for name, one in found.items()
    }


def keep_at(edits: Sequence[EditOutcome], threshold: float) -> list[EditOutcome]:
    """The same edits, kept if their score reaches `threshold`; never without a score."""
    return [replace(edit, kept=_reaches(edit.score, threshold)) for edit in edits]


def at_thresholds(
    stress: StressSet,
    edits: Sequence[EditOutcome],
    answers: Sequence[Answers],
    chosen: float,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    seed: int = 0,
) -> list[AtThreshold]:
    """Headline and verdict of every predictor at each threshold, the chosen one among them.

    Empty if no edit has a score. `thrown` counts edits with a score below the threshold.
    """
    scored = sum(edit.score is not None for edit in edits)
    if not scored:
        return []
    found = []
    for threshold in sorted({*thresholds, chosen}):
        then = keep_at(edits, threshold)
        kept = [edit for edit in then if edit.kept]
        edited: dict[str, Estimate] = {}
        rulings: dict[str, Ruling] = {}
        for one in answers:
            headline = _headline(stress, then, one, groups_of(kept), seed)
            edited[one.name], rulings[one.name] = headline
        last = settled(rulings, [one.name for one in answers if one.reference])
        words = {name: one.word for name, one in last.items()}
        found.append(AtThreshold(threshold, len(kept), scored - len(kept), edited, words))
    return found


def _headline(
    stress: StressSet, edits: Sequence[EditOutcome], answers: Answers, groups: int, seed: int
) -> tuple[Estimate, Ruling]:
    unknown = sum(edit.kept and edit.intended.id not in answers.edits for edit in edits)
    if unknown:
        reason = f"no answer for {unknown} of the edits that would be kept"
        return Estimate(None, reason=reason), Ruling("unclear", reason)
    table = compare(stress, edits, answers, seed=seed, brief=True).table
    headline = "accuracy" if stress.task == "classification" else "dice"
    return table["edited"][headline], ruling(table, stress.task, groups)


def _reaches(score: float | None, threshold: float) -> bool:
    # Rounding may leave a cosine a hair below -1.
    return score is not None and (score >= threshold or threshold <= NO_THRESHOLD)
