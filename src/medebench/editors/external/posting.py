"""Posting JSON and reading what comes back: bounded in time and size, without redirects."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from typing import Any

from medebench.clients.endpoint import Endpoint
from medebench.clients.fault import Fault, find_fault
from medebench.editors.external.protocol import parse

LARGEST_ANSWER = 100_000_000
_LARGEST_ERROR = 10_000
_CONNECT = 20.0


@dataclass(frozen=True)
class Answer:
    kind: str
    data: bytes


class Poster:
    """Connections to one server; `post` may be called from several threads."""

    def __init__(
        self, endpoint: Endpoint, headers: dict[str, str], timeout: float, at_once: int
    ) -> None:
        import httpx

        _hide_queries()
        self._url, self._timeout = endpoint.url, timeout
        self._room = threading.Semaphore(at_once)
        self._client = httpx.Client(
            headers={**headers, "Accept": "image/*, application/json"},
            params=endpoint.parameters() or None,
            timeout=httpx.Timeout(timeout, connect=min(_CONNECT, timeout), pool=None),
            limits=httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once),
            # The token would go along.
            follow_redirects=False,
            # A proxy is for far hosts.
            trust_env=not endpoint.is_local,
        )

    def post(self, body: dict[str, Any]) -> Answer:
        """The answer, or a Fault whose text may still hold secrets."""
        import httpx

        try:
            # Time spent waiting for others is not the server's.
            with self._room:
                return self._post(body)
        except Fault:
            raise
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            fault = Fault("connection", f"no connection to {self._url} ({_words(error)})")
        except httpx.TimeoutException:
            fault = self._too_late()
        except Exception as error:
            fault = find_fault(error)
        # Outside the handler: the library's exception holds the request, and with it the token.
        raise fault

    def close(self) -> None:
        self._client.close()

    def _post(self, body: dict[str, Any]) -> Answer:
        deadline = time.monotonic() + self._timeout
        with self._client.stream("POST", self._url, json=body) as response:
            status = response.status_code
            most = LARGEST_ANSWER if status == 200 else _LARGEST_ERROR
            data = bytearray()
            for piece in response.iter_bytes():
                data += piece
                if time.monotonic() > deadline:
                    raise self._too_late()
                if len(data) > most:
                    break
            if status != 200:
                raise _fault(status, dict(response.headers), bytes(data[:most]))
            if len(data) > most:
                raise Fault("rejected", f"the server's answer has more than {most:,} bytes")
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            return Answer(kind, bytes(data))

    def _too_late(self) -> Fault:
        return Fault("timeout", f"no answer in {self._timeout:g} s")


class _Status(Exception):
    """A status that is no success, in the form `find_fault` knows."""

    def __init__(self, status: int, headers: dict[str, str], body: Any) -> None:
        super().__init__(f"HTTP {status}")
        self.status_code, self.body = status, body
        self.response = self
        self.headers = headers


def _fault(status: int, headers: dict[str, str], data: bytes) -> Fault:
    if 300 <= status < 400:
        return Fault("rejected", f"HTTP {status}: the server has moved; give its new address")
    if status < 300:
        return Fault("rejected", f"HTTP {status}: expected 200 and a picture")
    body = parse(data) or data.decode("utf-8", "replace")
    if isinstance(body, dict):
        # The second as FastAPI says it.
        told = [body.get(name) for name in ("refused", "detail")]
        body = next((one for one in told if isinstance(one, str)), body)
    return find_fault(_Status(status, headers, body))


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


class _NoQueries(logging.Filter):
    """httpx logs each request's address, and a query may hold a key."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                str(one).partition("?")[0] if type(one).__name__ == "URL" else one
                for one in record.args
            )
        return True


def _hide_queries() -> None:
    logger = logging.getLogger("httpx")
    if not any(isinstance(one, _NoQueries) for one in logger.filters):
        logger.addFilter(_NoQueries())
