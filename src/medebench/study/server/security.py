"""What every request passes and every answer carries, whatever route it is for.

A route that is added later is guarded without doing anything for it.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import secrets
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from medebench.errors import InputError, MedebenchError

log = logging.getLogger("medebench.study")

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
#: Nobody is signed in yet who could be tricked; the origin is checked all the same.
WITHOUT_SESSION = ("/api/sign-in",)
FORGERY_HEADER = "x-medebench-token"
LARGEST_BODY = 64 * 1024
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


class Problem(Exception):
    """A request that is refused, with the status and a sentence for a person."""

    def __init__(self, status: int, words: str, **headers: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def read_origin(given: str) -> str:
    """`--origin` as browsers write it: scheme, host and, unless it is the usual one, port."""
    try:
        parts = urlsplit(given)
        usual = {"http": 80, "https": 443}[parts.scheme]
        host, port = parts.hostname, parts.port
        if not host or parts.path not in ("", "/") or parts.query or parts.fragment or "@" in given:
            raise ValueError
    except (ValueError, KeyError):
        raise InputError(
            f"--origin {given}: write it as https://study.example.org, without a path"
        ) from None
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}" + ("" if port in (None, usual) else f":{port}")


class Guard:
    """The outermost layer of the application."""

    def __init__(
        self, app: ASGIApp, *, cookie: str, bound: str = "127.0.0.1", origin: str | None = None
    ) -> None:
        self._app, self._cookie, self._origin = app, cookie, origin
        hosts = {"localhost", "127.0.0.1", "::1", bound}
        if origin:
            hosts.add(urlsplit(origin).hostname or "")
        self._hosts: Collection[str] = hosts
        # Bound to all addresses, the machine is called by any of them. A page elsewhere can make
        # its own name point here, but not a number.
        self._any_number = bound in ("0.0.0.0", "::", "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def tell(problem: Problem) -> None:
            body = {"problem": problem.words}
            response = JSONResponse(body, problem.status, headers=problem.headers)
            await response(scope, receive, answer)

        async def answer(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            headers = Headers(scope=scope)
            self._check_host(headers)
            if scope["method"] not in SAFE_METHODS:
                self._check_origin(scope, headers)
                self._check_forgery(scope, headers)
                body = await _whole_body(headers, receive)
                receive = _once(body, receive)
            elif FORGERY_HEADER in headers:
                # A page that asks for its own session must not be shown what is another's: the
                # next person may have signed in beside it.
                self._check_forgery(scope, headers)
            await self._app(scope, receive, answer)
        except Problem as problem:
            await tell(problem)
        except MedebenchError as error:
            log.error("%s %s: %s", scope["method"], scope["path"], error)
            if begun:
                raise
            await tell(Problem(503, "The database does not respond; try again."))
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if begun:
                raise
            await tell(Problem(500, "Something went wrong on the server; try again."))

    def _check_host(self, headers: Headers) -> None:
        given = headers.get("host", "")
        try:
            name = urlsplit(f"//{given}").hostname or ""
        except ValueError:
            name = ""
        if name not in self._hosts and not (self._any_number and _is_number(name)):
            unknown = "This server is not known by that name; whoever runs it can set --origin."
            raise Problem(421, unknown)

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        origin = headers.get("origin")
        own = f"{scope['scheme']}://{headers.get('host', '')}".lower()
        if origin is not None and origin.lower() not in (own, self._origin):
            raise Problem(403, "This request came from another site.")
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise Problem(403, "This request came from another site.")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Problem(403, "Requests that change anything must be sent as application/json.")

    def _check_forgery(self, scope: Scope, headers: Headers) -> None:
        session = session_of(headers, self._cookie)
        if scope["path"] in WITHOUT_SESSION or session is None:
            return  # without a session there is nothing to misuse: the route says "sign in"
        if not same(headers.get(FORGERY_HEADER, ""), forgery_token(session)):
            raise Problem(403, "This page belongs to another sign-in; reload it.")


def session_of(headers: Headers, cookie: str) -> str | None:
    return cookie_parser(headers.get("cookie", "")).get(cookie) or None


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def _whole_body(headers: Headers, receive: Receive) -> bytes:
    too_large = Problem(413, "More than 64 KB at once is not accepted.", connection="close")
    length = headers.get("content-length", "")
    if length.isdecimal() and (len(length) > 9 or int(length) > LARGEST_BODY):
        raise too_large
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "The request was cut off.")
        part: bytes = message.get("body", b"")
        body += part
        if len(body) > LARGEST_BODY:
            raise too_large
        if not message.get("more_body", False):
            return body


def _once(body: bytes, receive: Receive) -> Receive:
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def new_token() -> str:
    """256 random bits: cannot be guessed, so a plain hash of it cannot be reversed either."""
    return secrets.token_urlsafe(32)


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(*(each.encode("utf-8", "surrogatepass") for each in (one, other)))


def forgery_token(session: str) -> str:
    """What a page must send along to show that it could read what the session may read.

    It follows from the session's secret, so it needs no storing, ends with the session and tells
    nothing about it.
    """
    key = session.encode("utf-8", "surrogatepass")
    return hmac.new(key, b"medebench: not forged", hashlib.sha256).hexdigest()
