"""Pictures of a study, handed out by what they show and never by a path."""

from __future__ import annotations

import stat
from pathlib import Path

from medebench.errors import InputError
from medebench.files import open_file
from medebench.study.design import LETTERS, Study, StudyCase, Task


def check_pictures(study: Study) -> None:
    """That all pictures of the design are plain files of the study's folder."""
    folder = study.pictures
    if folder.is_symlink():
        raise InputError(f"{folder}: is a link; a study keeps its pictures in its own folder")
    for case in study.design.cases:
        for name in _names(case):
            if not _is_plain(name):
                raise InputError(
                    f"{study.path / 'study.json'}: case {case.id}: the picture {name!r} is not a "
                    "plain file name; make the study again"
                )
            try:
                mode = (folder / name).lstat().st_mode
            except OSError as error:
                raise InputError(
                    f"{folder / name}: a picture of case {case.id} cannot be read "
                    f"({error.strerror}); bring it back or make the study again"
                ) from error
            if not stat.S_ISREG(mode):
                raise InputError(f"{folder / name}: is a link or no file; make the study again")


def picture_of(case: StudyCase, task: Task, shown: str) -> str | None:
    """File name of what the page calls `shown` ("previous", "A", ...), if the task has it."""
    if shown in ("previous", "reference", "outline"):
        name: str | None = getattr(case, shown)
        return name
    place = LETTERS.find(shown) if len(shown) == 1 else -1
    return case.outputs[task.order[place]].picture if 0 <= place < len(task.order) else None


def read_picture(folder: Path, name: str) -> bytes:
    """The file's bytes; a link that took its place after the start is not followed."""
    if not _is_plain(name):
        raise OSError(f"{name!r} is no file name")
    with open_file(folder / name, links=False) as file:
        return file.read()


def _names(case: StudyCase) -> list[str]:
    names = [case.previous, case.reference, case.outline]
    names += [output.picture for output in case.outputs.values()]
    return [name for name in names if name is not None]


def _is_plain(name: str) -> bool:
    return bool(name) and not name.startswith(".") and not set(name) & set("/\\:\0")
