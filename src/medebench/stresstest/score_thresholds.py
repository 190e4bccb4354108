"""What a stress test would have found with another threshold of the edit score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from medebench.analysis.estimate import Estimate
from medebench.stresstest.predictor_comparison import Answers, compare
from medebench.stresstest.sample import StressSet
from medebench.stresstest.stress_outcome import AtThreshold, EditOutcome
from medebench.stresstest.stress_verdict import Ruling, groups_of, ruling, settled

#: Every edit that has a score: a cosine is never below.
NONE = -1.0
THRESHOLDS = (NONE, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


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
    return score is not None and (score >= threshold or threshold <= NONE)
