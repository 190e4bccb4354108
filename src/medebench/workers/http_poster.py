"""Posting JSON and reading what comes back: bounded in time and size, without redirects."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

from medebench.models.bounded_http import LARGEST_ANSWER, bounded_client
from medebench.models.endpoint import Endpoint
from medebench.models.event_loop import LoopThread
from medebench.models.fault import Fault, StatusError, find_fault
from medebench.workers.line_protocol import parse

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

        self._url, self._timeout = endpoint.url, timeout
        self._room = threading.Semaphore(at_once)
        bounded = bounded_client(httpx.AsyncClient, LARGEST_ANSWER, timeout, bare_pictures=True)
        self._client = bounded(
            headers={**headers, "Accept": "image/*, application/json, text/plain"},
            params=endpoint.parameters() or None,
            timeout=httpx.Timeout(timeout, connect=min(_CONNECT, timeout), pool=None),
            limits=httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once),
            # The token would go along.
            follow_redirects=False,
            # A proxy is for far hosts.
            trust_env=not endpoint.is_local,
        )
        self._thread = LoopThread(self._client.aclose)

    def post(self, body: dict[str, Any]) -> Answer:
        """The answer, or a Fault whose text may still hold secrets."""
        import httpx

        try:
            # Time spent waiting for others is not the server's.
            with self._room:
                return self._posted(body)
        except Fault:
            raise
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            fault = Fault("connection", f"no connection to {self._url} ({_words(error)})")
        except (httpx.TimeoutException, asyncio.TimeoutError, TimeoutError):
            fault = Fault("timeout", f"no answer in {self._timeout:g} s")
        except CancelledError:
            fault = Fault("stopped", "the connection was closed")
        except Exception as error:
            fault = find_fault(error)
        # Outside the handler: the library's exception holds the request, and with it the token.
        raise fault

    def close(self) -> None:
        self._thread.close()

    def _posted(self, body: dict[str, Any]) -> Answer:
        under_way = self._thread.start(self._post(body))
        try:
            return under_way.result()
        finally:
            # For a Ctrl-C in between.
            under_way.cancel()

    async def _post(self, body: dict[str, Any]) -> Answer:
        response = await self._client.post(self._url, json=body)
        if response.status_code != 200:
            raise _fault(response.status_code, dict(response.headers), response.content)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        return Answer(kind, response.content)


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
    return find_fault(StatusError(status, headers, body))


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
