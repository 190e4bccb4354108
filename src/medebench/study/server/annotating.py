"""What an annotator's panel asks for and sends."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from medebench.files import sha256
from medebench.study.design import LETTERS, StudyCase, Task
from medebench.study.server.answers import Answer, Closed, Conflict, Ranks, Save, SignedOut
from medebench.study.server.bodies import Saving, check_saving, read_body
from medebench.study.server.pictures import picture_of, read_picture
from medebench.study.server.security import Problem, log
from medebench.study.server.service import SIGN_IN, AnAnnotator, ASaver, AService, Service
from medebench.study.server.wording import dimensions

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
        "dimensions": dimensions(design.dimensions),
        "tasks": [
            {
                "place": place,
                "trial": task.kind == "trial",
                "state": states.get(place, "open"),
            }
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
    wish = Save(
        annotator=me.name,
        place=number,
        base=saving.version,
        key=saving.key,
        state=saving.state,
        ranks=saving.ranks,
        reason=saving.reason.strip(),
        seconds=saving.seconds,
        session=me.session,
    )
    outcome = await asyncio.wrap_future(service.writer.submit(wish))
    if isinstance(outcome, SignedOut):
        service.seen.pop(me.session, None)
        raise Problem(401, SIGN_IN)
    if isinstance(outcome, Closed):
        raise Problem(423, "The study is closed; answers are not taken any more.")
    if isinstance(outcome, Conflict):
        versions = await run_in_threadpool(service.store.versions, me.name, number, HISTORY + 1)
        return JSONResponse(
            {
                "problem": "This case was changed in another tab or on another device.",
                "current": _show(service, me.name, number, versions),
            },
            409,
        )
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
        raise Problem(404, "There is no such picture.")
    # The same address is another picture for the next person at this device, so the browser has
    # to ask every time. The tag differs for each showing: equal tags would tell a repeated case.
    shown = f"{service.study.fingerprint} {me.name} {number} {file}"
    tag = f'"{sha256(shown.encode("utf-8", "surrogatepass"))[:32]}"'
    headers = {"cache-control": "private, no-cache", "etag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    try:
        data = read_picture(service.study.pictures, file)
    except OSError as error:
        log.error("picture %s: %s", file, error)
        raise Problem(404, "This picture cannot be read; tell whoever runs the study.") from error
    return Response(data, media_type="image/png", headers=headers)


def _tasks(service: Service, name: str) -> list[Task]:
    found = service.study.design.annotator(name)
    return found.tasks if found else []


def _own(service: Service, name: str) -> str:
    """What a person's pages ask for pictures with; no secret."""
    text = f"{service.study.fingerprint} {name}"
    return sha256(text.encode("utf-8", "surrogatepass"))[:16]


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
    last = versions[-1] if versions else None
    nothing: Ranks = {key: [] for key in service.study.design.dimensions}
    return {
        "place": number,
        "trial": asked.kind == "trial",
        "organ": case.organ,
        "instruction": case.instruction,
        "description": case.description,
        "letters": list(LETTERS[: len(asked.order)]),
        "width": case.width,
        "height": case.height,
        "reference": case.reference is not None,
        "outline": case.outline is not None,
        "version": last.version if last else 0,
        "state": last.state if last else "open",
        "ranks": last.ranks if last else nothing,
        "reason": last.reason if last else "",
        "seconds": last.seconds if last else 0.0,
        "history": _steps(versions, nothing),
    }


def _steps(versions: list[Answer], nothing: Ranks) -> list[Ranks]:
    """What the ranks were before, each different from the next: every step back shows."""
    if not versions:
        return []
    all_ranks = [one.ranks for one in versions]
    if versions[0].version == 1:
        all_ranks.insert(0, nothing)
    return [before for before, after in pairwise(all_ranks) if before != after][-HISTORY:]
