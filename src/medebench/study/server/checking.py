"""Whether a design can be served, before anybody is let in."""

from __future__ import annotations

from medebench.errors import InputError
from medebench.study.design import FILE, LETTERS, Study
from medebench.study.server.people import ADMIN
from medebench.study.server.pictures import check_pictures


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
                    f"{where}: its order names an output twice or one that the case does not "
                    "have; make the study again"
                )
    check_pictures(study)
