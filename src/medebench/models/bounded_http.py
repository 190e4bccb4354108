"""Reading a server's response within limits on size, decompressed size and time.

Every answer of a model or an editor comes through here, whichever SDK asked for it;
`cases/hub_sets.py` reads those of the hub in the same way. The size of the headers is bounded by
httpx itself (100 kB).
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

from medebench.bounded_body import Damaged, Gathering, TooMuch
from medebench.models.fault import Fault

#: A model's words, and an answer that may hold pictures.
LARGEST_TEXT = 8_000_000
LARGEST_ANSWER = 100_000_000
#: An error is cut here, and not one of its own: its status says the most of it.
LARGEST_ERROR = 64_000
#: Values in JSON: each takes a hundred times the memory of the two bytes it can be written in.
MOST_VALUES = 200_000


def bounded_client(
    base: type[Any], largest: int, seconds: float | None = None, *, bare_pictures: bool = False
) -> type[Any]:
    """An asynchronous httpx client (or a compatible one) that reads within limits.

    `seconds` are for everything, from connecting to the last byte. With `bare_pictures` an answer
    that is called a picture is not read as JSON by the caller. Whatever is too much is a Fault.
    """

    _hide_queries()

    class BoundedClient(base):  # type: ignore[misc]
        async def send(self, request: Any, *, stream: bool = False, **given: Any) -> Any:
            request.headers["Accept-Encoding"] = "gzip"
            return await asyncio.wait_for(self._send(request, given), seconds)

        async def _send(self, request: Any, given: dict[str, Any]) -> Any:
            response = await super().send(request, stream=True, **given)
            try:
                data = await _read(response, largest, bare_pictures)
            finally:
                await response.aclose()
            return _unpacked(response, data)

    return cast(type[Any], BoundedClient)


async def _read(response: Any, largest: int, bare_pictures: bool) -> bytes:
    good = 200 <= response.status_code < 300
    data = bytearray()
    try:
        gathered = Gathering(response.headers, largest if good else LARGEST_ERROR)
        data = gathered.data
        if good:
            gathered.check_declared()
        async for piece in response.aiter_raw():
            gathered.add(piece)
    except (TooMuch, Damaged) as error:
        too_much = isinstance(error, TooMuch)
        if good:
            raise Fault("unusable" if too_much else "broken", str(error)) from None
        data = data if too_much else bytearray()
    if not good:
        # As much of an error as is shown.
        return bytes(data[:LARGEST_ERROR])
    kind = response.headers.get("content-type", "").strip().lower()
    # Whoever reads no bare pictures reads JSON, whatever the server calls it.
    is_json = not (bare_pictures and kind.startswith("image/"))
    if is_json and sum(data.count(mark) for mark in (b",", b"[", b"{")) > MOST_VALUES:
        raise Fault("unusable", f"the server's answer contains more than {MOST_VALUES:,} values")
    return bytes(data)


def _unpacked(response: Any, data: bytes) -> Any:
    """The same answer, read, with nothing left for the library to unpack."""
    gone = {"content-encoding", "content-length", "transfer-encoding"}
    kept = [one for one in response.headers.multi_items() if one[0].lower() not in gone]
    read = type(response)(
        response.status_code,
        headers=kept,
        content=data,
        request=response.request,
        extensions=response.extensions,
    )
    read.elapsed = response.elapsed
    return read


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
