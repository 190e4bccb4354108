"""What the administrator's page asks for and does."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request

from medebench.study.server.security import Problem
from medebench.study.server.service import AnAdministrator, AService, administrator

#: The dependency is the router's, so that no route here can be without it.
router = APIRouter(prefix="/api/admin", dependencies=[Depends(administrator)])


@router.get("")
def overview(me: AnAdministrator, service: AService) -> dict[str, Any]:
    return service.overview.show() | {"csrf": me.forgery_token}


@router.post("/close")
def close(service: AService) -> dict[str, str]:
    return {"closed": service.store.close_study()}


@router.post("/reopen")
def reopen(service: AService) -> dict[str, None]:
    service.store.reopen_study()
    return {"closed": None}


@router.post("/people/{name}/invite")
def invite(name: str, request: Request, service: AService) -> dict[str, str]:
    _must_be_annotator(service, name)
    own = f"{request.url.scheme}://{request.headers['host']}"
    return {"link": f"{service.origin or own}/join#{service.store.invite(name)}"}


@router.post("/people/{name}/revoke", status_code=204)
def revoke(name: str, service: AService) -> None:
    _must_be_annotator(service, name)
    service.store.revoke(name)


def _must_be_annotator(service: AService, name: str) -> None:
    # Not the administrator: who ends their own invitation here could not undo it here.
    if service.study.design.annotator(name) is None:
        raise Problem(404, "There is no annotator of that name.")
