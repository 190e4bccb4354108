"""`http:`: a server edits or answers, one request a case."""

from __future__ import annotations

import base64
import binascii
import os
import random
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field, field_serializer, field_validator

from medebench.errors import InputError, one_line
from medebench.models.endpoint import Endpoint, read_endpoint
from medebench.models.fault import Fault, shown
from medebench.models.retry import pause
from medebench.models.secret import Scrubber, Secret
from medebench.outputs import Output, Part
from medebench.systems.external import edit_protocol
from medebench.systems.external.external_settings import ExternalSettings
from medebench.systems.request import NotTried, Refused, Request
from medebench.systems.system import Editor
from medebench.workers.http_poster import Answer, Poster
from medebench.workers.line_protocol import parse

TOKEN = "MEDEBENCH_HTTP_TOKEN"
#: A server that asks for a longer wait is not waited for.
LONGEST_WAIT = 180.0
#: Not the case's fault: nothing is written about it.
NOT_THE_CASE = {"connection", "busy", "denied", "missing", "quota"}
#: After so many cases in a row that failed for such a reason, the rest is not tried.
HOPELESS = 3
#: What of an answer can reach the ledger.
_KEPT = ("name", "identity", "refused", "detail", "text")
_LIKE = "expected something like http://gpu-box:8000/edit"


class HttpSettings(ExternalSettings):
    runtime_only = ExternalSettings.runtime_only | {"attempts", "at_once"}

    url: str = Field(description="where cases are posted to", repr=False)
    attempts: int = Field(4, ge=1, le=20, description="requests for one case, if some fail")
    at_once: int = Field(1, ge=1, le=256, description="requests at a time")

    @field_validator("url")
    @classmethod
    def _is_address(cls, given: str) -> str:
        try:
            _endpoint(given)
        except InputError:
            raise ValueError(_LIKE) from None
        return given

    @field_serializer("url")
    def _without_secrets(self, given: str) -> str:
        """User, password and query may be secrets: they do not go into `run.json`."""
        return _endpoint(given).url


class HttpEditor(Editor):
    """Posts picture and instruction, and takes the picture that comes back."""

    summary = "a server of your own that edits or answers"
    Settings = HttpSettings
    rest = "url"
    needs = "a server (docs/workers.md)"
    example = "http:timeout=60,http://gpu-box:8000/edit"
    gives: tuple[Part, ...] = ("image", "text")

    def __init__(self, settings: HttpSettings) -> None:
        super().__init__(settings)
        self.gives = settings.parts
        self.at_once = settings.at_once
        self.demonstrations = settings.demonstrations
        self._endpoint = _endpoint(settings.url)
        token = os.environ.get(TOKEN, "").strip()
        self._token = Secret(token) if token else None
        self._scrub = Scrubber([*([self._token] if self._token else []), *self._endpoint.secrets])
        self._chance = random.Random()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._poster: Poster | None = None
        self._in_a_row: tuple[str, int] = ("", 0)
        self._stopped: str | None = None

    def problems(self) -> list[str]:
        from importlib.util import find_spec

        found = []
        if find_spec("httpx") is None:
            found.append("httpx is not installed; run: pip install httpx")
        token = self._token.reveal() if self._token else "-"
        # Anything else would fail inside the HTTP library, with the value in its message.
        if not token.isascii() or not token.isprintable() or " " in token:
            found.append(f"{TOKEN}: holds characters that no token has; set it again")
        return found

    def close(self) -> None:
        self._closing.set()
        with self._lock:
            poster, self._poster = self._poster, None
            self._stopped, self._in_a_row = None, ("", 0)
        if poster is not None:
            poster.close()
        self._closing = threading.Event()

    def edit(self, request: Request) -> Output:
        if self._stopped is not None:
            raise NotTried(f"not asked, since others failed: {self._stopped}")
        edit_protocol.require_given(request, self.gives)
        body = _body(request, self.settings.options)
        try:
            answer = self._ask(body)
        except Fault as fault:
            failed = fault
        else:
            self._note("")
            return self._made(answer, request)
        text = one_line(shown(self._scrub(failed.text)))
        self._note(failed.kind, text)
        raise NotTried(text) if failed.kind in NOT_THE_CASE else Refused(text)

    def _ask(self, body: dict[str, Any]) -> Answer:
        attempts, closing = self.settings.attempts, self._closing
        attempt = 0
        while True:
            try:
                return self._connected().post(body)
            except Fault as error:
                fault = error
            attempt += 1
            if closing.is_set():
                raise NotTried("ended before the server answered")
            # A server that is still at work would only get more of it.
            if not fault.can_be_repeated or fault.kind == "timeout":
                raise fault
            said = f"{fault.text} (attempts: {attempt})"
            wait = pause(attempt - 1, fault.wait, self._chance)
            if attempt >= attempts or wait > LONGEST_WAIT:
                raise Fault(fault.kind, said, fault.status)
            if closing.wait(wait):
                raise NotTried("ended before the server answered")

    def _connected(self) -> Poster:
        with self._lock:
            if self._poster is None:
                self._poster = Poster(
                    self._endpoint, self._headers(), self.settings.timeout, self.settings.at_once
                )
            return self._poster

    def _headers(self) -> dict[str, str]:
        """The login of the URL, which is said for this server, before the token."""
        if self._endpoint.login is None and self._token is not None:
            return {"Authorization": f"Bearer {self._token.reveal()}"}
        return self._endpoint.headers()

    def _note(self, kind: str, text: str = "") -> None:
        with self._lock:
            before, count = self._in_a_row
            self._in_a_row = (kind, count + 1 if kind == before else 1)
            if kind in NOT_THE_CASE and self._in_a_row[1] >= HOPELESS:
                self._stopped = text

    def _made(self, answer: Answer, request: Request) -> Output:
        if answer.kind.startswith("image/"):
            return edit_protocol.made(answer.data, request, {}, {})
        if answer.kind == "text/plain" and tuple(request.gives) == ("text",):
            text = self._scrub(answer.data.decode("utf-8", "replace"))
            return edit_protocol.made(None, request, {"text": text}, {})
        said = parse(answer.data)
        if said is None:
            start = self._scrub(answer.data[:80].decode("utf-8", "replace"))
            raise Refused(one_line(f"the server's answer is neither JSON nor a picture: {start!r}"))
        said |= {name: self._clean(said[name]) for name in _KEPT if name in said}
        more = edit_protocol.introduced(said)
        edit_protocol.refuse_if_told(said, more)
        if str(said.get("id", request.case.case.id)) != request.case.case.id:
            raise Refused("the server's answer is for another case")
        wanted = "image" in request.gives
        data = _picture(said.get("image")) if wanted else None
        return edit_protocol.made(data, request, said, more)

    def _clean(self, said: Any) -> Any:
        """A server may tell what it was called with, key and all."""
        if isinstance(said, dict):
            return {self._scrub(name): self._clean(one) for name, one in said.items()}
        if isinstance(said, list):
            return [self._clean(one) for one in said]
        return self._scrub(said) if isinstance(said, str) else said


def _endpoint(url: str) -> Endpoint:
    found = read_endpoint(url)
    # Only here a slash at the end is part of the address.
    path = url.partition("#")[0].partition("?")[0]
    return replace(found, url=f"{found.url}/") if path.endswith("/") else found


def _body(request: Request, options: Mapping[str, Any]) -> dict[str, Any]:
    version = edit_protocol.version_for(request)
    images = [
        {"role": role, "image_png": _text(data)} for role, data in edit_protocol.pictures(request)
    ]
    body = {
        **edit_protocol.describe(request, request.instruction, options, version),
        "image_png": images[0]["image_png"] if images else None,
        "demonstrations": [
            {"before_png": _text(before), "after_png": _text(after), "instruction": instruction}
            for before, after, instruction in edit_protocol.demonstrated(request)
        ],
    }
    return body if version == edit_protocol.VERSIONS[0] else body | {"images": images}


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _picture(given: Any) -> bytes:
    if not isinstance(given, str):
        raise Refused("the server's answer holds neither image nor refused")
    text = given.partition(",")[2] if given.startswith("data:") else given
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise Refused("the server's image is not base64") from None
