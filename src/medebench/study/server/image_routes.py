"""What a study shows: checked before anybody is let in, handed out and never by a path."""

from __future__ import annotations

import stat
from pathlib import Path

from medebench.errors import InputError
from medebench.files import open_file
from medebench.study.design import FILE, LETTERS, Study, StudyCase, Task
from medebench.study.server.people import ADMIN


def check_study(study: Study) -> None:
    """Raises InputError where the file was changed by hand and makes no sense any more."""
    file = study.path / FILE
    design = study.design
    names = [one.name for one in design.annotators]
    if ADMIN in names:
        raise InputError(f"{file}: an annotator cannot be called {ADMIN!r}; choose another name")
    if len(set(names)) < len(names):
        raise InputError(f"{file}: two annotators have the same name; make the study again")
    for annotator in design.annotators:
        for place, task in enumerate(annotator.tasks):
            where = f"{file}: annotators: {annotator.name}: task {place}"
            if not 0 <= task.case < len(design.cases):
                raise InputError(f"{where}: there is no case {task.case}; make the study again")
            known = design.cases[task.case].outputs
            once = len(set(task.order)) == len(task.order) <= len(LETTERS)
            if not once or not set(task.order) <= set(known):
                raise InputError(
                    f"{where}: its order lists an output twice, or one that the case does not "
                    "have; make the study again"
                )
    _check_pictures(study)


def _check_pictures(study: Study) -> None:
    """That all files of the design are plain files of the study's folder."""
    folder = study.pictures
    if folder.is_symlink():
        raise InputError(f"{folder}: is a link; a study keeps its pictures in its own folder")
    for case in study.design.cases:
        for name in case.files:
            if not _is_plain(name):
                raise InputError(
                    f"{study.path / FILE}: case {case.id}: the picture {name!r} is not a "
                    "plain file name; make the study again"
                )
            try:
                mode = (folder / name).lstat().st_mode
            except OSError as error:
                raise InputError(
                    f"{folder / name}: a file of case {case.id} cannot be read "
                    f"({error.strerror}); restore it or make the study again"
                ) from error
            if not stat.S_ISREG(mode):
                raise InputError(f"{folder / name}: is a link or no file; make the study again")


def picture_of(case: StudyCase, task: Task, shown: str) -> str | None:
    """File name of what the page calls `shown` ("previous", "A", ...), if the task has it."""
    place = LETTERS.find(shown) if len(shown) == 1 else -1
    if 0 <= place < len(task.order):
        return case.outputs[task.order[place]].picture
    images = {one.name: one.picture for one in case.images}
    return (images | {f"{one.name}-outline": one.outline for one in case.images}).get(shown)


def read_picture(folder: Path, name: str) -> bytes:
    """The file's bytes; a link that took its place after the start is not followed."""
    if not _is_plain(name):
        raise OSError(f"{name!r} is not a file name")
    with open_file(folder / name, links=False) as file:
        return file.read()


def _is_plain(name: str) -> bool:
    return bool(name) and not name.startswith(".") and not set(name) & set("/\\:\0")
