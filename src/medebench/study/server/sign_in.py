"""Signing in with an invitation, and out."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from medebench.study.server.bodies import read_body
from medebench.study.server.people import ADMIN, SESSION_SECONDS
from medebench.study.server.security import Problem, session_of
from medebench.study.server.service import AService, Service

router = APIRouter(prefix="/api")


class Invitation(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    token: str = Field(max_length=200)


@router.post("/sign-in")
async def sign_in(request: Request, response: Response, service: AService) -> dict[str, str]:
    invitation = await read_body(request, Invitation)
    address = request.client.host if request.client else ""
    limit = service.sign_in_failures
    wait = limit.wait(address)
    if not wait:
        limit.failed(address)
    found = await run_in_threadpool(_find, service, invitation.token)
    if found is not None and not wait:
        limit.succeeded(address)
    # A link that works is never turned away: others may come from the same address.
    if found is None and wait:
        many = f"Too many links that do not work; wait {wait} s."
        raise Problem(429, many, retry_after=str(wait))
    if found is None:
        dead = "This link does not work (any more); ask whoever runs the study for a new one."
        raise Problem(401, dead)
    name, session = found
    attributes = _attributes(request, service)
    response.set_cookie(service.cookie, session, max_age=SESSION_SECONDS, **attributes)
    return {"role": "admin" if name == ADMIN else "annotator"}


@router.post("/sign-out", status_code=204)
async def sign_out(request: Request, response: Response, service: AService) -> None:
    session = session_of(request.headers, service.cookie)
    if session is not None:
        await run_in_threadpool(service.store.sign_out, session)
    response.delete_cookie(service.cookie, **_attributes(request, service))


def _find(service: Service, token: str) -> tuple[str, str] | None:
    # Looked for first, since signing in takes the lock of those who write.
    return service.store.sign_in(token) if service.store.is_invitation(token) else None


def _attributes(request: Request, service: Service) -> dict[str, Any]:
    https = request.url.scheme == "https" or (service.origin or "").startswith("https:")
    return {"path": "/", "httponly": True, "samesite": "strict", "secure": https}
