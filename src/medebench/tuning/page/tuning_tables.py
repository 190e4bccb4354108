"""All tables of an experiment but those of the paper's form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

from medebench.page.number import NONE, counted, number, percent
from medebench.page.private_paths import without_any_folder
from medebench.page.score_columns import Score
from medebench.page.table import Cell, Column, Group, Row, Table, cell
from medebench.tuning.page.tuning_formats import (
    ARMS,
    BOLD,
    QUESTIONS,
    TRAINED,
    arm_text,
    change_cell,
    number_cell,
    p_cell,
    rows_of,
    task_label,
)
from medebench.tuning.tuning_answers import ALL, CurvePoint, TuningAnswers
from medebench.tuning.tuning_design import TuningDesign
from medebench.tuning.tuning_outcome import TrainingFacts, TuningOutcome

_TEST = (Column("p"), Column("p (Holm)"), Column("Detectable"))
_DETECTABLE = (
    "Detectable: the smallest true difference that this design would have found in 80 of 100 "
    "repetitions."
)


def changes_table(outcome: TuningOutcome, answers: TuningAnswers, score: Score) -> Table:
    """Every point of one score, and its paired change from the untouched model."""
    points = [point for point in answers.points if point.metric == score.name]
    groups = []
    for task in rows_of(outcome, {point.task for point in points}):
        mine = sorted((point for point in points if point.task == task), key=_place)
        rows = [_change(point, score) for point in mine]
        groups.append(Group(rows, task_label(task)))
    heads = (Column(score.label, better=score.better), Column("Change"), *_TEST)
    notes = (
        "Change: less the untouched model on the same test cases; of what is shown in context, "
        f"less the same system shown nothing. {BOLD}",
        _DETECTABLE,
    )
    title = f"{score.label}: change from the untouched model"
    return Table([Column("Arm", "left"), *heads], groups, title, "", notes, "tab:changes")


def _place(point: CurvePoint) -> tuple[int, int]:
    return list(ARMS).index(point.arm), point.samples


def _change(point: CurvePoint, score: Score) -> Row:
    look = ARMS[point.arm]
    # What others are compared with.
    own = point.samples == 0 and point.arm in ("untouched", "in-context")
    return Row(
        arm_text(point.arm, point.samples),
        [
            cell(point.mean, score.decimals),
            Cell(NONE) if own else change_cell(point.change, score.decimals, point.p_holm),
            p_cell(point.p),
            p_cell(point.p_holm),
            Cell(NONE) if own else number_cell(point.detectable, score.decimals),
        ],
        colour=look.colour.variable,
        control=look.control,
    )


def contrasts_table(outcome: TuningOutcome, answers: TuningAnswers, score: Score) -> Table | None:
    """Arms side by side, a group a question."""
    found = [one for one in answers.contrasts if one.metric == score.name]
    groups = []
    for question, title in QUESTIONS.items():
        mine = [one for one in found if one.question == question]
        rows = []
        for task in rows_of(outcome, {one.task for one in mine}):
            for one in (one for one in mine if one.task == task):
                cells = [
                    Cell(arm_text(*one.left)),
                    Cell(arm_text(*one.right)),
                    change_cell(one.difference, score.decimals, one.p_holm),
                    p_cell(one.p),
                    p_cell(one.p_holm),
                    number_cell(one.detectable, score.decimals),
                ]
                rows.append(Row(task_label(task), cells, aside=task == ALL))
        if rows:
            groups.append(Group(rows, title))
    if not groups:
        return None
    heads = (Column("First", "left"), Column("Second", "left"), Column("First less second"), *_TEST)
    notes = (f"On the same test cases. {BOLD}", _DETECTABLE)
    title = f"{score.label}: arms side by side"
    return Table([Column("Task", "left"), *heads], groups, title, "", notes, "tab:contrasts")


def trend_table(
    outcome: TuningOutcome, answers: TuningAnswers, scores: Sequence[Score]
) -> Table | None:
    groups = []
    for score in scores:
        found = [one for one in answers.trends if one.metric == score.name]
        rows = []
        for task in rows_of(outcome, {one.task for one in found}):
            mine = [one for one in found if one.task == task]
            for one in sorted(mine, key=lambda one: list(ARMS).index(one.arm)):
                cells = [
                    Cell(ARMS[one.arm].label),
                    change_cell(one.slope, score.decimals, one.p_holm),
                    p_cell(one.p),
                    p_cell(one.p_holm),
                    number_cell(one.detectable, score.decimals),
                ]
                rows.append(Row(task_label(task), cells, aside=task == ALL))
        if rows:
            groups.append(Group(rows, score.label))
    if not groups:
        return None
    heads = (Column("Arm", "left"), Column("For each doubling"), *_TEST)
    notes = (
        "Change of the score for each doubling of the pairs, above 0 pairs; with steps per sample "
        f"the steps double with them. {BOLD}",
    )
    columns = [Column("Task", "left"), *heads]
    return Table(columns, groups, "Trend", "", (*notes, _DETECTABLE), "tab:trend")


def forgetting_table(
    outcome: TuningOutcome, answers: TuningAnswers, scores: Sequence[Score]
) -> Table | None:
    """Rows are what was learned, columns the scores on cases of other tasks."""
    shown = [one for one in scores if any(f.metric == one.name for f in answers.forgetting)]
    if not shown:
        return None
    found = {(f.task, f.arm, f.samples, f.metric): f for f in answers.forgetting}
    groups = []
    for task in rows_of(outcome, {key[0] for key in found}):
        rows = []
        for arm in TRAINED:
            for samples in sorted({n for (t, a, n, _) in found if (t, a) == (task, arm)}):
                cells = []
                for score in shown:
                    one = found.get((task, arm, samples, score.name))
                    cells += [
                        Cell(NONE)
                        if one is None
                        else change_cell(one.change, score.decimals, one.p_holm),
                        p_cell(None if one is None else one.p_holm),
                    ]
                look = ARMS[arm]
                name = arm_text(arm, samples)
                rows.append(Row(name, cells, colour=look.colour.variable, control=look.control))
        groups.append(Group(rows, f"learned: {task_label(task)}"))
    heads = [
        head
        for score in shown
        for head in (Column(score.label, better=score.better), Column(f"p (Holm), {score.label}"))
    ]
    notes = (
        "Scores on cases of other tasks after learning this one, less the untouched model’s. "
        + BOLD,
    )
    columns = [Column("Arm", "left"), *heads]
    return Table(columns, groups, "Forgetting", "", notes, "tab:forgetting")


def memory_table(outcome: TuningOutcome, answers: TuningAnswers) -> Table | None:
    groups = []
    for task in rows_of(outcome, {one.task for one in answers.memory}):
        mine = [one for one in answers.memory if one.task == task]
        mine.sort(key=lambda one: (TRAINED.index(one.arm), one.samples))
        rows = []
        for one in mine:
            nearer = one.nearer
            share = Cell(NONE, reason=nearer.reason)
            if nearer.value is not None:
                ends = ""
                if nearer.interval is not None:
                    low, high = (round(100 * end) for end in nearer.interval)
                    ends = f"{low}–{high} %"
                share = Cell(percent(nearer.value), ends, value=nearer.value)
            look = ARMS[one.arm]
            rows.append(
                Row(
                    arm_text(one.arm, one.samples),
                    [cell(one.to_training, 3), cell(one.to_other, 3), share],
                    colour=look.colour.variable,
                    control=look.control,
                )
            )
        groups.append(Group(rows, task_label(task)))
    if not groups:
        return None
    heads = ("To the nearest target learned from", "To the nearest not learned from", "Nearer")
    notes = (
        "Distance of each output to the nearest target of its training, and to the nearest of as "
        "many targets that it did not learn from. Nearer: share of outputs that are nearer to the "
        "former; 50 % by chance, more is a sign of memorisation.",
    )
    columns = [Column("Arm", "left"), *map(Column, heads)]
    return Table(columns, groups, "Memorisation", "", notes, "tab:memory")


def splits_table(outcome: TuningOutcome) -> Table:
    rows = []
    for fold in outcome.folds:
        drawn = sorted({len(draw) for draw in fold.draws})
        sizes = "–".join(dict.fromkeys([str(drawn[0]), str(drawn[-1])])) if drawn else "0"
        several = sum(other.task == fold.task for other in outcome.folds) > 1
        name = task_label(fold.task) + (f", fold {fold.fold}" if several else "")
        cells = [len(fold.test), fold.pool, len(fold.draws)]
        rows.append(Row(name, [*(Cell(f"{n:,}", value=n) for n in cells), Cell(sizes)]))
    heads = ("Test cases", "Pairs to draw from", "Draws", "Pairs in a draw")
    notes = (
        "Test cases and pairs share no source image and no near-duplicate. Fewer pairs are the "
        "first of a draw of more. Several folds of a task: each is tested on what the others may "
        "learn from.",
    )
    columns = [Column("Task", "left"), *map(Column, heads)]
    return Table(columns, [Group(rows)], "Splits", "", notes, "tab:splits")


def trainings_table(outcome: TuningOutcome) -> Table | None:
    """What was trained, a row for each task, arm and number of pairs."""
    by_task: dict[str, dict[tuple[int, int], list[TrainingFacts]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one in outcome.trainings:
        training = one.training
        by_task[training.task][TRAINED.index(training.arm), training.samples].append(one)
    groups = []
    for task in rows_of(outcome, by_task):
        rows = []
        for (arm, samples), found in sorted(by_task[task].items()):
            steps = sorted({one.training.steps for one in found})
            losses = (
                _mean([getattr(one, at) for one in found]) for at in ("first_loss", "last_loss")
            )
            look = ARMS[TRAINED[arm]]
            cells = [
                Cell(f"{len(found)}", value=len(found)),
                Cell("–".join(f"{n:,}" for n in dict.fromkeys((steps[0], steps[-1])))),
                *(Cell(number(loss, 4), value=loss) for loss in losses),
                Cell(duration(_mean([one.seconds for one in found]))),
            ]
            name = arm_text(TRAINED[arm], samples)
            rows.append(Row(name, cells, colour=look.colour.variable, control=look.control))
        groups.append(Group(rows, task_label(task)))
    if not groups:
        return None
    heads = ("Trainings", "Steps", "First loss", "Last loss", "Time each")
    notes = ("Losses: means of the first and of the last twentieth of the steps.",)
    columns = [Column("Arm", "left"), *map(Column, heads)]
    return Table(columns, groups, "Trainings", "", notes, "tab:trainings")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def duration(seconds: float) -> str:
    """ "40 s", "12 min", "3 h 5 min" """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")


def missing(outcome: TuningOutcome) -> list[tuple[str, list[str]]]:
    """Trainings that were not done, by reason."""
    told = ((name, without_any_folder(why)) for name, why in outcome.open.items())
    named = sorted(told, key=lambda one: (one[1], one[0]))
    return [(reason, [name for name, _ in some]) for reason, some in groupby(named, lambda o: o[1])]


def done_text(outcome: TuningOutcome) -> str:
    done, every = len(outcome.trainings), len(outcome.trainings) + len(outcome.open)
    return counted(done, "training") if done == every else f"{done:,} of {every:,} trainings"


def design_facts(design: TuningDesign) -> list[tuple[str, str]]:
    """The design as a list of names and texts."""
    counts = ", ".join(map(str, design.samples))
    controls = ", ".join(map(str, design.controls_at)) or "the most"
    rows = [
        ("pairs", counts),
        ("draws of the pairs", f"{design.draws}, nested: fewer pairs are the first of more"),
        ("seeds", str(design.seeds)),
        ("steps for each pair", f"{design.steps_per_sample:,}"),
        ("steps at every point", f"{design.steps_of('same-steps', max(design.samples)):,}"),
        ("arms", "; ".join(ARMS[arm].label for arm in design.arms)),
        ("controls trained at", f"{controls} pairs"),
        ("test cases of a task", f"up to {design.test}"),
        ("cases of other tasks", f"{design.elsewhere}, for forgetting"),
        ("checkpoint", "the last step, fixed beforehand"),
        ("in context", design.in_context and f"{design.in_context}: "
         + ", ".join(map(str, design.demonstrations)) + " demonstrations"),
        ("judge", design.judge),
        ("seed of the draws", str(design.seed)),
    ]  # fmt: skip
    return [(name, text) for name, text in rows if text]
