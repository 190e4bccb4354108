"""`study new`: a folder with everything that is asked of people, and nothing that tells them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import medebench
from medebench.cases import CaseSet
from medebench.errors import InputError
from medebench.files import sha256, unwritable, whole_folder, write_text
from medebench.progress import Progress, silent
from medebench.runs.provenance import now
from medebench.runs.run import Run
from medebench.stamp import read_stamp, write_stamp
from medebench.study.assigning import Assigned, Pool, assign, share_out, strangers
from medebench.study.design import (
    FILE,
    PICTURES,
    Annotator,
    Design,
    Dimension,
    StudiedRun,
    Study,
    StudyCase,
    open_study,
)
from medebench.study.drawing import Work, draw_cases
from medebench.study.sampling import Candidate, sample, shared_cases

TITLE = "Ranking edited medical images"
LONGEST_NAME = 60
LONGEST_TITLE = 200


@dataclass(frozen=True)
class Made:
    """A new study, and what the person who made it wants to know."""

    study: Study
    #: Organ -> (taken, available).
    organs: dict[str, tuple[int, int]]
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
    dimensions: Sequence[str] = ("ea", "cp", "vq"),
    controls: int | None = None,
    repeats: int | None = None,
    title: str | None = None,
    largest: int = 1536,
    workers: int | None = None,
    progress: Progress = silent,
) -> Made:
    """Make the study folder `out`: people will rank output `k` of every one of `runs`.

    `per_organ` cases of every organ are drawn from those that all runs share; each goes to
    `overlap` of the annotators (to all, if not said). Every annotator also gets a trial, `controls`
    and `repeats` (5 % of the cases, at least 2 and 4, if not said). Runs, sample, assignment and
    orders come out the same for the same seed. Pictures are at most `largest` on the longer side.
    """
    out = Path(out).expanduser().absolute()
    names = _names(annotators)
    title = _title(title)
    asked = _dimensions(dimensions)
    if largest < 64:
        raise InputError(f"largest: expected 64 pixels or more, found {largest}")
    shared, lacks = shared_cases(runs, k)
    drawn = sample(shared, per_organ, seed)
    every = [*drawn.taken, *drawn.spare]
    pool = Pool(tuple(range(len(drawn.taken))), tuple(range(len(drawn.taken), len(every))))
    own = share_out(pool.sample, len(names), len(names) if overlap is None else overlap, seed)
    assigned = assign(own, pool, [run.name for run in runs], seed, controls, repeats)
    warnings = [*lacks, *drawn.warnings, *_doubts(own, assigned, controls, repeats)]
    warnings += _told(title, runs)
    try:
        _refuse(out, runs)
        work = _plan(runs, every, assigned, k, largest)
        made_from = _made_from(work, assigned, names, title, asked, seed, k, largest)
        if (stamp := read_stamp(out, made_from)) is None:
            with whole_folder(out) as folder:
                gallery = draw_cases(folder / PICTURES, work, workers, progress)
                design = _design(runs, assigned, names, gallery.cases, title, seed, k, asked)
                write_text(folder / FILE, design.model_dump_json(indent=1) + "\n")
                dark = list(gallery.dark)
                write_stamp(folder, made_from, dark)
    except OSError as error:
        raise unwritable(out, error) from error
    if stamp is not None:
        dark = stamp["result"]
    if dark:
        warnings.append(
            f"{len(dark)} of {len(work)} inputs look black on a screen (e.g. case "
            f"{dark[0]}): say in 'bits' how many bits their 16-bit files really use"
        )
    rankings = Counter(case for cases in own for case in cases)
    return Made(
        open_study(out),
        drawn.organs,
        len(drawn.taken),
        {name: len(tasks) for name, tasks in zip(names, assigned.tasks, strict=True)},
        assigned.controls,
        assigned.repeats,
        sum(count > 1 for count in rankings.values()),
        warnings,
        stamp is not None,
    )


def _refuse(out: Path, runs: Sequence[Run]) -> None:
    if any(out.resolve().is_relative_to(run.path.resolve()) for run in runs):
        raise InputError(f"{out}: lies inside a run; choose another --out")


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
        raise InputError(f"annotators: '{twice[0]}' is named twice")
    return names


def _name_problem(name: str) -> str | None:
    if not 1 <= len(name) <= LONGEST_NAME:
        return f"has {len(name)} characters; use 1 to {LONGEST_NAME}"
    if name.casefold() == "admin":
        return "is the administrator's; choose another name"
    if not name.isprintable() or name != name.strip():
        return "holds characters that do not show; use printable ones, no blanks at the ends"
    if "/" in name or "\\" in name or name in (".", ".."):
        return "cannot be part of an address; leave out '/' and '\\'"
    if not any(letter.isalpha() for letter in name):
        return "has no letter; say how many annotators there are, or their names"
    return None


def _title(title: str | None) -> str:
    text = TITLE if title is None else " ".join(title.split())
    if not 1 <= len(text) <= LONGEST_TITLE:
        raise InputError(f"title: expected 1 to {LONGEST_TITLE} characters, found {len(text)}")
    return text


def _dimensions(given: Sequence[str]) -> list[Dimension]:
    known: tuple[Dimension, ...] = get_args(Dimension)
    if unknown := [one for one in given if one not in known]:
        raise InputError(f"dimensions: no '{unknown[0]}'; there are {', '.join(known)}")
    if not given:
        raise InputError(f"dimensions: none given; choose from {', '.join(known)}")
    # In the order in which they were given; a second time says nothing new.
    return [one for name in dict.fromkeys(given) for one in known if one == name]


def _told(title: str, runs: Sequence[Run]) -> list[str]:
    return [
        f"the title names the run '{run.name}', and annotators read it"
        for run in runs
        if run.name.casefold() in title.casefold()
    ]


def _doubts(
    own: Sequence[Sequence[int]], assigned: Assigned, controls: int | None, repeats: int | None
) -> list[str]:
    """What the study will not be able to say, as far as that is known before it begins."""
    doubts = []
    apart, connected = strangers(own)
    if len(own) == 1:
        doubts.append("one annotator: nobody's agreement can be measured")
    elif not connected:
        doubts.append(
            "the annotators fall into groups that share no case, which cannot be compared; "
            "raise the overlap or take more cases"
        )
    elif apart:
        pairs = len(own) * (len(own) - 1) // 2
        doubts.append(f"{apart} of {pairs} pairs of annotators share no case")
    for name, wished, found in (
        ("controls", controls, assigned.controls),
        ("repeats", repeats, assigned.repeats),
    ):
        if found < (wished or 0):
            doubts.append(f"{name}: {found} instead of {wished}; there are too few cases")
        elif not found and wished is None:
            doubts.append(f"{name}: none; there are too few cases")
    counted = {case for cases in own for case in cases}
    tasks = [task for one in assigned.tasks for task in one]
    kinds = {task.kind for task in tasks if task.case in counted} & {"trial", "control"}
    if again := sorted(kinds):
        doubts.append(
            f"cases that count are also shown as {' and '.join(again)}, because no others are "
            "left; with a smaller per_organ some would be"
        )
    return doubts


def _plan(
    runs: Sequence[Run], every: Sequence[Candidate], assigned: Assigned, k: int, largest: int
) -> list[Work]:
    tasks = [task for one in assigned.tasks for task in one]
    ruined = {task.case for task in tasks if task.kind == "control"}
    source = _readable_cases(runs)
    work = []
    for number in sorted({task.case for task in tasks}):
        one = every[number]
        if one.id not in source:
            raise InputError(f"case {one.id}: is no longer in {source.source or source.name}")
        files = {run.name: run.output_path(one.id, k) for run in runs}
        work.append(Work(number, source[one.id], one, files, number in ruined, largest))
    return work


def _made_from(
    work: Sequence[Work],
    assigned: Assigned,
    names: Sequence[str],
    title: str,
    dimensions: Sequence[Dimension],
    seed: int,
    k: int,
    largest: int,
) -> dict[str, Any]:
    """All that the study's folder follows from."""
    pictures = [[one.case.id, one.candidate.digest, one.candidate.outputs] for one in work]
    tasks = [[task.model_dump() for task in tasks] for tasks in assigned.tasks]
    return {
        "runs": sorted({str(path.parent.parent) for one in work for path in one.files.values()}),
        "pictures": sha256(json.dumps(pictures, sort_keys=True).encode()),
        "annotators": list(names),
        "tasks": sha256(json.dumps(tasks).encode()),
        "title": title,
        "dimensions": list(dimensions),
        "seed": seed,
        "k": k,
        "largest": largest,
    }


def _readable_cases(runs: Sequence[Run]) -> CaseSet:
    """The cases, from the first run that still finds them: the others hold the same."""
    problem: InputError | None = None
    for run in runs:
        try:
            return run.cases
        except InputError as error:
            problem = problem or error
    assert problem is not None
    raise problem


def _design(
    runs: Sequence[Run],
    assigned: Assigned,
    names: Sequence[str],
    cases: dict[int, StudyCase],
    title: str,
    seed: int,
    k: int,
    dimensions: list[Dimension],
) -> Design:
    """The cases are numbered anew: only those that somebody sees are in the study."""
    numbers = {old: new for new, old in enumerate(sorted(cases))}
    return Design(
        title=title,
        created=now(),
        seed=seed,
        k=k,
        dimensions=dimensions,
        runs=[
            StudiedRun(
                name=run.name,
                editor=run.info.editor,
                control=run.info.control,
                path=str(run.path),
            )
            for run in runs
        ],
        cases=[cases[old] for old in sorted(cases)],
        annotators=[
            Annotator(
                name=name,
                tasks=[task.model_copy(update={"case": numbers[task.case]}) for task in tasks],
            )
            for name, tasks in zip(names, assigned.tasks, strict=True)
        ],
        version=medebench.__version__,
    )
