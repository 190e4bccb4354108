"""`study new`: a folder with everything that is asked of people, and nothing that tells them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import medebench
from medebench.errors import InputError
from medebench.files import sha256, unwritable, whole_folder, write_text
from medebench.progress import Progress, silent
from medebench.runs.provenance import now
from medebench.runs.run_folder import Run
from medebench.stamp import read_stamp, write_stamp
from medebench.study.assignment import Assigned, Pool, assign, share_out, strangers
from medebench.study.case_drawings import Work, draw_cases
from medebench.study.design import (
    EDITING,
    FILE,
    OVERALL,
    PICTURES,
    Annotator,
    Design,
    StudiedRun,
    Study,
    choose_questions,
    open_study,
)
from medebench.study.study_sample import Candidate, check_runs, readable_cases, sample, shared_cases
from medebench.tasks import Task, find_task

LONGEST_NAME = 60
LONGEST_TITLE = 200


@dataclass(frozen=True)
class NewStudy:
    """A new study, and what the person who made it wants to know."""

    study: Study
    #: Group -> (taken, available); organs, or what else the task groups its cases by.
    groups: dict[str, tuple[int, int]]
    #: Cases of the sample; trial and controls are not counted.
    cases: int
    #: Annotator -> number of tasks.
    tasks: dict[str, int]
    #: Of every annotator.
    controls: int
    repeats: int
    #: Cases that two or more annotators rank.
    shared: int
    warnings: list[str]
    #: The same call had made it before, and nothing is missing.
    already_complete: bool = False


def new_study(
    runs: Sequence[Run],
    out: str | Path,
    *,
    per_organ: int = 20,
    annotators: int | Sequence[str] = 2,
    overlap: int | None = None,
    seed: int = 0,
    k: int = 0,
    dimensions: Sequence[str] | None = None,
    controls: int | None = None,
    repeats: int | None = None,
    title: str | None = None,
    largest: int = 1536,
    workers: int | None = None,
    progress: Progress = silent,
) -> NewStudy:
    """Make a study: people will rank the outputs of several runs without knowing whose they are.

    Sample, assignment and orders come out the same for the same seed.

    Args:
        runs: the runs whose outputs are ranked.
        out: folder of the study.
        per_organ: cases of every organ (or whatever group leads in the runs' task), drawn from
            those that all runs share.
        annotators: how many, or their names.
        overlap: annotators for each case; by default all of them.
        seed: random seed for sampling and ordering.
        k: which output of each case.
        dimensions: what outputs are ranked by; by default what the task asks.
        controls: cases with a ruined output for each annotator; by default 5 %, at least 2.
        repeats: cases shown twice to each annotator; by default 5 %, at least 4.
        title: what annotators see above the panel.
        largest: longer side of the images shown, at most.
        workers: threads; all cores by default.
        progress: called with (done, total).

    Returns:
        The study, and what the person who made it wants to know about it.

    >>> runs = [mb.edit("phantoms:count=4", name, tmp / name) for name in ("identity", "noise")]
    >>> mb.new_study(runs, tmp / "study", controls=0, repeats=0).cases
    4
    """
    out = Path(out).expanduser().absolute()
    names = _names(annotators)
    check_runs(runs)
    task = find_task(runs[0].info.task)
    title = _title(title, task)
    grouping = task.groups[0] if task.groups else "task"
    if largest < 64:
        raise InputError(f"largest: expected 64 pixels or more, found {largest}")
    shared, lacks = shared_cases(runs, k, grouping)
    drawn = sample(shared, per_organ, seed, grouping)
    every = [*drawn.taken, *drawn.spare]
    source = readable_cases(runs)
    kinds = {task.of(source[one.id]).gives for one in every if one.id in source}
    # A question about images and texts cannot be asked where some outputs are texts alone.
    asked = choose_questions(
        task, dimensions, [p for p in task.gives if all(p in k for k in kinds)]
    )
    pool = Pool(tuple(range(len(drawn.taken))), tuple(range(len(drawn.taken), len(every))))
    own = share_out(pool.sample, len(names), len(names) if overlap is None else overlap, seed)
    assigned = assign(own, pool, [run.name for run in runs], seed, controls, repeats)
    warnings = [*lacks, *drawn.warnings, *_doubts(own, assigned, controls, repeats)]
    warnings += [
        f"the title contains the run name '{run.name}', which annotators will see"
        for run in runs
        if run.name.casefold() in title.casefold()
    ]
    try:
        if any(out.resolve().is_relative_to(run.path.resolve()) for run in runs):
            raise InputError(f"{out}: is inside a run; choose another --out")
        work = _plan(runs, task, every, assigned, k, largest)
        keys = [one.key for one in asked]
        made_from = _made_from(work, assigned) | {"annotators": names, "title": title}
        made_from |= {"dimensions": keys, "seed": seed, "k": k, "largest": largest}
        if (stamp := read_stamp(out, made_from)) is None:
            with whole_folder(out) as folder:
                cases, dark = draw_cases(folder / PICTURES, work, workers, progress)
                # Numbered anew: only the cases that somebody sees are in the study.
                numbers = {old: new for new, old in enumerate(sorted(cases))}
                numbered = [
                    [task.model_copy(update={"case": numbers[task.case]}) for task in tasks]
                    for tasks in assigned.tasks
                ]
                design = Design(
                    title=title,
                    created=now(),
                    seed=seed,
                    k=k,
                    task=task.name,
                    gives=[part for part in task.gives if any(part in k for k in kinds)],
                    grouping=grouping,
                    dimensions=keys,
                    # Those that a reader of the design could not know.
                    questions=[one for one in asked if one not in (*EDITING.values(), OVERALL)],
                    runs=[_studied(run) for run in runs],
                    version=medebench.__version__,
                    cases=[cases[old] for old in sorted(cases)],
                    annotators=[
                        Annotator(name=name, tasks=tasks)
                        for name, tasks in zip(names, numbered, strict=True)
                    ],
                )
                write_text(folder / FILE, design.model_dump_json(indent=1) + "\n")
                write_stamp(folder, made_from, dark)
    except OSError as error:
        raise unwritable(out, error) from error
    if stamp is not None:
        dark = stamp["result"]
    if dark:
        warnings.append(
            f"{len(dark)} of {len(work)} inputs look black on a screen (e.g. case "
            f"{dark[0]}): set 'bits' to the number of bits their 16-bit files really use"
        )
    rankings = Counter(case for cases in own for case in cases)
    return NewStudy(
        open_study(out),
        drawn.groups,
        len(drawn.taken),
        {name: len(tasks) for name, tasks in zip(names, assigned.tasks, strict=True)},
        assigned.controls,
        assigned.repeats,
        sum(count > 1 for count in rankings.values()),
        warnings,
        stamp is not None,
    )


def _names(annotators: int | Sequence[str]) -> list[str]:
    if isinstance(annotators, str):
        raise InputError("annotators: expected a number or a list of names")
    if isinstance(annotators, int):
        if annotators < 1:
            raise InputError(f"annotators: expected 1 or more, found {annotators}")
        return [f"annotator-{number}" for number in range(1, annotators + 1)]
    names = list(annotators)
    if not names:
        raise InputError("annotators: no name given; a study needs at least one")
    for name in names:
        if problem := _name_problem(name):
            raise InputError(f"annotators: '{name}' {problem}")
    counts = Counter(name.casefold() for name in names)
    if twice := [name for name in names if counts[name.casefold()] > 1]:
        raise InputError(f"annotators: '{twice[0]}' appears twice")
    return names


def _name_problem(name: str) -> str | None:
    if not 1 <= len(name) <= LONGEST_NAME:
        return f"has {len(name)} characters; use 1 to {LONGEST_NAME}"
    if name.casefold() == "admin":
        return "is reserved for the administrator; choose another name"
    if not name.isprintable() or name != name.strip():
        remedy = "use printable ones without blanks at the ends"
        return f"contains characters that cannot be seen; {remedy}"
    if "/" in name or "\\" in name or name in (".", ".."):
        return "cannot be part of an address; leave out '/' and '\\'"
    if not any(letter.isalpha() for letter in name):
        return "has no letter; give the number of annotators, or their names"
    return None


def _title(title: str | None, task: Task) -> str:
    what = "edited medical images" if task.name == "editing" else f"{task.noun}s"
    text = f"Ranking {what}" if title is None else " ".join(title.split())
    if not 1 <= len(text) <= LONGEST_TITLE:
        raise InputError(f"title: expected 1 to {LONGEST_TITLE} characters, found {len(text)}")
    return text


def _doubts(
    own: Sequence[Sequence[int]], assigned: Assigned, controls: int | None, repeats: int | None
) -> list[str]:
    """What the study will not be able to say, as far as that is known before it begins."""
    doubts = []
    apart, connected = strangers(own)
    if len(own) == 1:
        doubts.append("one annotator: agreement cannot be measured")
    elif not connected:
        doubts.append(
            "the annotators fall into groups that share no case and cannot be compared; "
            "raise the overlap or take more cases"
        )
    elif apart:
        pairs = len(own) * (len(own) - 1) // 2
        doubts.append(f"{apart} of {pairs} pairs of annotators share no case")
    added = ("controls", controls, assigned.controls), ("repeats", repeats, assigned.repeats)
    for name, wished, found in added:
        if found < (wished or 0):
            doubts.append(f"{name}: {found} instead of {wished}; there are too few cases")
        elif not found and wished is None:
            doubts.append(f"{name}: none; there are too few cases")
    counted = {case for cases in own for case in cases}
    tasks = [task for one in assigned.tasks for task in one]
    kinds = {task.kind for task in tasks if task.case in counted} & {"trial", "control"}
    if again := sorted(kinds):
        doubts.append(
            f"cases of the sample are also shown as {' and '.join(again)}, because no others "
            "are left; a smaller per_organ would leave some"
        )
    return doubts


def _plan(
    runs: Sequence[Run],
    task: Task,
    every: Sequence[Candidate],
    assigned: Assigned,
    k: int,
    largest: int,
) -> list[Work]:
    tasks = [task for one in assigned.tasks for task in one]
    ruined = {task.case for task in tasks if task.kind == "control"}
    source = readable_cases(runs)
    work = []
    for number in sorted({task.case for task in tasks}):
        one = every[number]
        if one.id not in source:
            raise InputError(f"case {one.id}: is no longer in {source.source or source.name}")
        files = {run.name: run.output_files(one.id, k) for run in runs}
        work.append(Work(number, source[one.id], task, one, files, number in ruined, largest))
    return work


def _made_from(work: Sequence[Work], assigned: Assigned) -> dict[str, Any]:
    """What the study's folder follows from, beside the wishes of who makes it."""
    pictures = [[one.case.id, one.candidate.digest, one.candidate.outputs] for one in work]
    tasks = [[task.model_dump() for task in tasks] for tasks in assigned.tasks]
    return {
        "runs": sorted({str(o.stem.parent.parent) for one in work for o in one.files.values()}),
        "pictures": sha256(json.dumps(pictures, sort_keys=True).encode()),
        "tasks": sha256(json.dumps(tasks).encode()),
    }


def _studied(run: Run) -> StudiedRun:
    info = run.info
    return StudiedRun(name=run.name, editor=info.editor, control=info.control, path=str(run.path))
