"""All that people see of the cases, drawn on all cores, under names that tell nothing."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom

from medebench.cases import Case, OpenCase, open_case
from medebench.cases.caseset import case_digest
from medebench.cases.image import read_file, read_picture
from medebench.errors import ImageError, InputError
from medebench.files import sha256
from medebench.parallel import in_parallel
from medebench.progress import Progress
from medebench.study.design import RUINED, Output, StudyCase
from medebench.study.pictures import Bytes, outline, png, ruin, shown
from medebench.study.sampling import Candidate

#: A picture that is nowhere brighter than this looks black.
_BLACK = 24


@dataclass(frozen=True)
class Work:
    """One case to be drawn."""

    number: int
    case: Case
    candidate: Candidate
    #: Run name -> its output.
    files: dict[str, Path]
    ruined: bool
    largest: int


@dataclass(frozen=True)
class Gallery:
    """The cases by number, and the ids of those whose deep pictures look black on a screen."""

    cases: dict[int, StudyCase]
    dark: list[str]


def draw_cases(
    folder: Path, work: Sequence[Work], workers: int | None, progress: Progress
) -> Gallery:
    """Threads draw, this one writes: after Ctrl-C none puts a file where all was removed."""
    folder.mkdir()
    moment = int(time.time())
    cases: dict[int, StudyCase] = {}
    dark: list[str] = []
    progress(0, len(work))
    with closing(in_parallel(_draw, work, workers)) as results:
        for done, drawn in enumerate(results, start=1):
            for name, data in drawn.pictures.items():
                (folder / name).write_bytes(data)
                os.utime(folder / name, (moment, moment))
            cases[drawn.number] = drawn.case
            if drawn.dark:
                dark.append(drawn.case.id)
            progress(done, len(work))
    return Gallery(cases, sorted(dark))


@dataclass
class _Drawn:
    number: int
    case: StudyCase
    dark: bool
    #: File name -> PNG.
    pictures: dict[str, bytes] = field(default_factory=dict)

    def add(self, picture: Bytes) -> str:
        name = f"{secrets.token_hex(8)}.png"
        self.pictures[name] = png(picture)
        return name


def _draw(work: Work) -> _Drawn:
    opened = open_case(work.case)
    with _remedy("repair the case, or make the runs without it"):
        previous = shown(opened.previous, opened.data_range, work.largest)
        drawn = _Drawn(
            work.number,
            _described(work, *previous.shape[1::-1]),
            dark=opened.previous.dtype != previous.dtype and int(previous.max()) < _BLACK,
        )
        _draw_case(drawn, opened, previous, work.largest)
    if case_digest(work.case) != work.candidate.digest:
        raise InputError(
            f"{work.case.previous}: case {work.case.id} has changed since the runs were made; "
            "edit it again"
        )
    names = [*work.files, RUINED] if work.ruined else [*work.files]
    found: dict[str, Output] = {}
    # In no order, so that not even the place on the disk is the same for all cases.
    for name in SystemRandom().sample(names, len(names)):
        if name == RUINED:
            picture = drawn.add(ruin(previous, work.candidate.digest))
            found[name] = Output(picture=picture)
        else:
            picture = drawn.add(_output(work, opened, name))
            found[name] = Output(picture=picture, sha256=work.candidate.outputs[name])
    drawn.case.outputs = {name: found[name] for name in names}
    return drawn


def _described(work: Work, width: int, height: int) -> StudyCase:
    case = work.case
    return StudyCase(
        id=case.id,
        organ=case.organ,
        task=case.task,
        modality=case.modality,
        source=work.candidate.source,
        instruction=case.prompt,
        description=case.description,
        width=width,
        height=height,
        previous="",
        outputs={},
    )


def _draw_case(drawn: _Drawn, opened: OpenCase, previous: Bytes, largest: int) -> None:
    drawn.case.previous = drawn.add(previous)
    if opened.case.reference is not None:
        reference = shown(opened.reference, opened.data_range, largest)
        drawn.case.reference = drawn.add(reference)
    if opened.case.roi is not None:
        line = outline(opened.roi, drawn.case.width, drawn.case.height)
        drawn.case.outline = None if line is None else drawn.add(line)


def _output(work: Work, opened: OpenCase, name: str) -> Bytes:
    path = work.files[name]
    with _remedy("make this output again, or leave the run out"):
        data = read_file(path)
        if sha256(data) != work.candidate.outputs[name]:
            raise ImageError(f"{path}: is not the picture that the ledger of its run knows")
        return shown(opened.fit(read_picture(path, data)), opened.data_range, work.largest)


@contextmanager
def _remedy(words: str) -> Iterator[None]:
    try:
        yield
    except ImageError as error:
        raise ImageError(f"{error}; {words}") from error
