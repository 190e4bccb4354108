"""How arms, tasks and numbers of an experiment are called and drawn: in tables, figures, words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from medebench.analysis.estimate import Estimate
from medebench.page.number import NONE, between, number
from medebench.page.palette import INK, MUTED, Colour, run_colours
from medebench.page.score_columns import Score, describe, dimensions
from medebench.page.table import Cell
from medebench.settings import in_words
from medebench.tuning.tuning_answers import ALL, CurvePoint, TuningAnswers
from medebench.tuning.tuning_design import Arm, Training, TuningDesign, Untrained
from medebench.tuning.tuning_outcome import TuningOutcome

EVERY_TASK = "All tasks"


@dataclass(frozen=True)
class ArmLook:
    """What an arm is called in a table and at a line, and how the line is drawn."""

    label: str
    short: str
    colour: Colour
    mark: str = ""
    #: Whether it is there to be compared with, not to be hoped for.
    control: bool = False
    line: str | tuple[int, tuple[float, ...]] = "-"


_OWN, _SAME, _SHOWN = run_colours(3, 0)
_SHUFFLED, _OTHER = run_colours(0, 2)
#: In the order of every table and legend.
ARMS: dict[Arm | Untrained, ArmLook] = {
    "untouched": ArmLook("untouched model", "untouched", INK, "D", True, (0, (6, 2))),
    "per-sample": ArmLook("own pairs, steps per sample", "steps per sample", _OWN, "o"),
    "same-steps": ArmLook("own pairs, same steps", "same steps", _SAME, "s"),
    "in-context": ArmLook("shown in context", "in context", _SHOWN, "^"),
    "shuffled": ArmLook("shuffled pairs", "shuffled", _SHUFFLED, "X", True),
    "other-task": ArmLook("another task’s pairs", "other task", _OTHER, "P", True),
    "blank": ArmLook("no instruction", "no instruction", MUTED, "", True, (0, (4, 1.5, 1, 1.5))),
    "copy": ArmLook("input returned", "copy", MUTED, "", True, (0, (1, 1.6))),
    "reference": ArmLook("reference returned", "reference", MUTED, "", True, (0, (3, 1.5))),
}
#: Arms that are trained, in that order.
TRAINED: tuple[Arm, ...] = ("per-sample", "same-steps", "shuffled", "other-task")
QUESTIONS = {
    "own-pairs": "Real pairs less shuffled ones",
    "own-task": "Own task’s pairs less another task’s",
    "beats-copy": "Trained less the input returned",
    "beats-blank": "Trained less the untouched model without an instruction",
    "more-pairs": "Most pairs less fewest, at the same number of steps",
    "shown": "Trained less shown the same pairs in context",
}


def task_label(task: str) -> str:
    return EVERY_TASK if task == ALL else task


def tasks_of(outcome: TuningOutcome) -> list[str]:
    return list(dict.fromkeys(fold.task for fold in outcome.folds))


def rows_of(outcome: TuningOutcome, found: Iterable[str]) -> list[str]:
    """Of these tasks the known ones in the order of the experiment, then all together."""
    there = set(found)
    return [task for task in (*tasks_of(outcome), ALL) if task in there]


def scores_of(outcome: TuningOutcome, answers: TuningAnswers) -> dict[str, Score]:
    """Every metric that has a point, as a column: the primary first, then the usual order."""
    details = outcome.facts.get("metrics")
    known = details if isinstance(details, dict) else {}
    names = dict.fromkeys(point.metric for point in answers.points)
    found = sorted(describe(names, known), key=lambda score: score.name != answers.primary)
    return {score.name: score for score in found}


def lead_scores(outcome: TuningOutcome, answers: TuningAnswers, most: int = 3) -> list[Score]:
    """The scores of a table in the paper's form: EA, CP, VQ if there are, else the first ones."""
    every = scores_of(outcome, answers)
    usual = [one for one in dimensions(every.values(), "cp_published") if one.dimension]
    first = [one for one in every.values() if one.name == answers.primary]
    rest = usual if first and first[0] in usual else [*first, *usual]
    return [*rest, *(one for one in every.values() if one not in rest)][: max(most, len(usual))]


def point_of(
    outcome: TuningOutcome,
    answers: TuningAnswers,
    where: tuple[str, Arm | Untrained, str],
    samples: int,
) -> CurvePoint | None:
    """The point of (task, arm, metric); of another arm where that was the same training.

    Every trained arm begins at the untouched model, and where both of the arms with their own pairs
    take as many steps, one training is of both.
    """
    task, arm, metric = where
    found = answers.point(task, arm, metric, samples)
    if found is not None or arm not in ("per-sample", "same-steps"):
        return found
    if samples == 0:
        return answers.point(task, "untouched", metric, 0)
    design = outcome.design
    if design.steps_of("per-sample", samples) != design.steps_of("same-steps", samples):
        return None
    other: Arm = "same-steps" if arm == "per-sample" else "per-sample"
    return answers.point(task, other, metric, samples)


def arm_text(arm: str, samples: int | None = None) -> str:
    """ "own pairs, same steps, 16 pairs" """
    look = next((look for name, look in ARMS.items() if name == arm), None)
    label = look.label if look else arm
    if samples is None or (not samples and arm != "in-context"):
        return label
    return f"{label}, {samples} pair{'' if samples == 1 else 's'}"


def arm_title(arm: Arm, design: TuningDesign) -> str:
    """An arm with the steps that it takes."""
    counts = [design.steps_of(arm, n) for n in design.samples if n]
    if len(set(counts)) > 1:
        return f"{ARMS[arm].label} ({design.steps_per_sample} for each pair)"
    return f"{ARMS[arm].label} ({counts[0]:,} at every point)" if counts else ARMS[arm].label


#: What a number in bold says, and the level it is meant at.
BOLD, LEVEL = "Bold: below 0.05 after Holm’s correction.", 0.05


def change_cell(one: Estimate, decimals: int, p_holm: float | None = None) -> Cell:
    """A difference with its sign; bold where it is one after all corrections."""
    if one.value is None:
        return Cell(NONE, reason=one.reason)
    sure = p_holm is not None and p_holm < LEVEL
    part = "" if one.n == one.of else f"{one.n}/{one.of}"
    ends = between(one.interval, decimals, signed=True)
    text = number(one.value, decimals, signed=True)
    return Cell(text, ends, part, sure, value=one.value, reason=one.reason)


def p_cell(p: float | None) -> Cell:
    if p is None:
        return Cell(NONE)
    text = "< 0.001" if p < 0.001 else number(p, 3)
    return Cell(text, value=p)


def number_cell(value: float | None, decimals: int) -> Cell:
    return Cell(number(value, decimals), value=value)


def settings_text(design: TuningDesign) -> str:
    return in_words(design.train.model_dump())


def training_text(training: Training) -> str:
    return f"{task_label(training.task)}, {training.name}"
