"""What an annotator's panel asks for and sends."""

from __future__ import annotations

import asyncio
import stat
from itertools import pairwise
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from medebench.errors import InputError
from medebench.files import open_file
from medebench.study.design import FILE, LETTERS, Study, StudyCase, Task
from medebench.study.rankings import Answer, Ranks
from medebench.study.server.bodies import Saving, check_saving, read_body
from medebench.study.server.people import ADMIN
from medebench.study.server.security import Problem, hashed, log
from medebench.study.server.service import SIGN_IN, AnAnnotator, ASaver, AService, Service
from medebench.study.server.stored_answers import Closed, Conflict, Save, SignedOut

router = APIRouter()
#: How many steps back the page can take after a reload.
HISTORY = 100


@router.get("/api/study")
def study(me: AnAnnotator, service: AService) -> dict[str, Any]:
    design = service.study.design
    states = service.store.states(me.name)
    return {
        "title": design.title,
        "annotator": me.name,
        "csrf": me.forgery_token,
        "pictures": _own(service, me.name),
        "closed": service.store.closed() is not None,
        "dimensions": [one.model_dump() for one in design.asked],
        "gives": design.gives,
        "images": any(one.width for one in design.cases),
        "flicker": any(one.comparable for one in design.cases),
        "outline": any(image.outline for one in design.cases for image in one.images),
        "tasks": [
            {"place": place, "trial": task.kind == "trial", "state": states.get(place, "open")}
            for place, task in enumerate(_tasks(service, me.name))
        ],
    }


@router.get("/api/tasks/{place}")
def task(place: str, me: AnAnnotator, service: AService) -> dict[str, Any]:
    number, _, _ = _find(service, me.name, place)
    return _show(service, me.name, number, service.store.versions(me.name, number, HISTORY + 1))


@router.put("/api/tasks/{place}")
async def save(place: str, request: Request, me: ASaver, service: AService) -> Response:
    number, _, asked = _find(service, me.name, place)
    saving = await read_body(request, Saving)
    check_saving(saving, service.study.design.dimensions, LETTERS[: len(asked.order)])
    said = saving.model_dump(exclude={"version"}) | {"reason": saving.reason.strip()}
    wish = Save(me.name, number, saving.version, **said, session=me.session)
    outcome = await asyncio.wrap_future(service.writer.submit(wish))
    if isinstance(outcome, SignedOut):
        service.seen.pop(me.session, None)
        raise Problem(401, SIGN_IN)
    if isinstance(outcome, Closed):
        raise Problem(423, "The study is closed; answers are no longer accepted.")
    if isinstance(outcome, Conflict):
        versions = await run_in_threadpool(service.store.versions, me.name, number, HISTORY + 1)
        problem = "This case was changed in another tab or on another device."
        current = _show(service, me.name, number, versions)
        return JSONResponse({"problem": problem, "current": current}, 409)
    return JSONResponse({"version": outcome.version, "savedAt": outcome.saved_at})


@router.get("/pictures/{place}/{name}.png")
def picture(
    place: str, name: str, request: Request, me: AnAnnotator, service: AService
) -> Response:
    # Pictures are asked for without the page's token, and the letters of the next person at this
    # device mean other models.
    if request.query_params.get("of", _own(service, me.name)) != _own(service, me.name):
        raise Problem(403, "This page belongs to another sign-in; reload it.")
    number, case, asked = _find(service, me.name, place)
    file = picture_of(case, asked, name)
    if file is None:
        raise Problem(404, "There is no such image.")
    # The same address is another picture for the next person at this device, so the browser has
    # to ask every time. The tag differs for each showing: equal tags would tell a repeated case.
    shown = hashed(f"{service.study.fingerprint} {me.name} {number} {file}")
    tag = f'"{shown[:32]}"'
    headers = {"cache-control": "private, no-cache", "etag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    try:
        data = read_picture(service.study.pictures, file)
    except OSError as error:
        log.error("picture %s: %s", file, error)
        unread = "This image cannot be read; please tell whoever runs the study."
        raise Problem(404, unread) from error
    return Response(data, media_type="image/png", headers=headers)


def _tasks(service: Service, name: str) -> list[Task]:
    found = service.study.design.annotator(name)
    return found.tasks if found else []


def _own(service: Service, name: str) -> str:
    """What a person's pages ask for pictures with; no secret."""
    return hashed(f"{service.study.fingerprint} {name}")[:16]


def _find(service: Service, name: str, place: str) -> tuple[int, StudyCase, Task]:
    tasks = _tasks(service, name)
    number = int(place) if place.isascii() and place.isdecimal() and len(place) < 7 else -1
    if not 0 <= number < len(tasks):
        raise Problem(404, "There is no such case.")
    return number, service.study.design.cases[tasks[number].case], tasks[number]


def _show(service: Service, name: str, number: int, versions: list[Answer]) -> dict[str, Any]:
    """A task as the page sees it: without anything that tells which model is which."""
    asked = _tasks(service, name)[number]
    case = service.study.design.cases[asked.case]
    nothing: Ranks = {key: [] for key in service.study.design.dimensions}
    said = {"version": 0, "state": "open", "ranks": nothing, "reason": "", "seconds": 0.0}
    if versions:
        said = {name: getattr(versions[-1], name) for name in said}
    return {
        "place": number,
        "trial": asked.kind == "trial",
        "group": case.group,
        "texts": [one.model_dump() for one in case.texts],
        "images": [
            one.model_dump(include={"name", "label", "side"}) | {"outline": one.outline is not None}
            for one in case.images
        ],
        "letters": list(LETTERS[: len(asked.order)]),
        "outputs": {
            letter: {"image": one.picture is not None, "text": _text(service, one.text)}
            for letter, key in zip(LETTERS, asked.order, strict=False)
            for one in [case.outputs[key]]
        },
        "flicker": case.comparable,
        "gives": case.gives or service.study.design.gives,
        "width": case.width,
        "height": case.height,
        **said,
        "history": _steps(versions, nothing),
    }


def _text(service: Service, file: str | None) -> str | None:
    if file is None:
        return None
    try:
        return read_picture(service.study.pictures, file).decode("utf-8", "replace")
    except OSError as error:
        log.error("text %s: %s", file, error)
        raise Problem(404, "A text cannot be read; please tell whoever runs the study.") from error


def _steps(versions: list[Answer], nothing: Ranks) -> list[Ranks]:
    """What the ranks were before, each different from the next: every step back shows."""
    if not versions:
        return []
    all_ranks = [one.ranks for one in versions]
    if versions[0].version == 1:
        all_ranks.insert(0, nothing)
    return [before for before, after in pairwise(all_ranks) if before != after][-HISTORY:]


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
