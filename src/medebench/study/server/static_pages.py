"""The pages and what they load: a fixed list of files of the package, read at the start."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from medebench.files import sha256
from medebench.page.document import render
from medebench.page.document import static as read_static
from medebench.study.server.people import ADMIN
from medebench.study.server.security import Problem
from medebench.study.server.service import visitor

router = APIRouter()
#: Scripts of all pages that this one loads too.
_SHARED = ("dom.js",)
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@cache
def static_files() -> dict[str, tuple[bytes, str, str]]:
    """Name -> bytes, content type, tag."""
    found = {}
    own = [one.name for one in files(__package__).joinpath("static").iterdir() if one.is_file()]
    for name in (*own, *_SHARED):
        suffix = "." + name.rpartition(".")[2]
        if suffix in _TYPES:
            data = read_static(__package__, name).encode()
            found[name] = (data, _TYPES[suffix], f'"{sha256(data)[:24]}"')
    return found


@cache
def page(name: str) -> str:
    return render(__package__, f"{name}.html")


def load() -> None:
    """Read everything now: an incomplete package is noticed before anybody comes."""
    static_files()
    for name in ("welcome", "join", "panel", "admin"):
        page(name)


def _show(name: str, status: int = 200) -> Response:
    return Response(page(name), status, media_type="text/html")


@router.get("/")
async def start(request: Request) -> Response:
    who = await visitor(request)
    if who is None:
        return _show("welcome")
    return RedirectResponse("/admin", 303) if who.name == ADMIN else _show("panel")


@router.get("/join")
async def join() -> Response:
    return _show("join")


@router.get("/admin")
async def admin(request: Request) -> Response:
    who = await visitor(request)
    return _show("admin") if who and who.name == ADMIN else _show("welcome", 403)


@router.get("/static/{name}")
async def static(name: str, request: Request) -> Response:
    found = static_files().get(name)
    if found is None:
        raise Problem(404, "There is no such file.")
    data, kind, tag = found
    # Asked for every time and answered from the tag: a new version of the package shows at once.
    headers = {"cache-control": "no-cache", "etag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(data, media_type=kind, headers=headers)
