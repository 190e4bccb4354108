"""Reading what a server sends: so many bytes, unpacked to so many, in so much time, and no more.

Every answer over HTTP in this package comes through here, whichever SDK asked for it. HTTP
libraries unpack before anybody can look, and 9 kB can hold 4 GB: the raw bytes are read instead.
The size of the headers is bounded by httpx itself (100 kB).
"""

from __future__ import annotations

import asyncio
import zlib
from typing import Any, cast

from medebench.clients.fault import Fault
from medebench.errors import one_line

#: A model's words, and an answer that may hold pictures.
LARGEST_TEXT = 8_000_000
LARGEST_ANSWER = 100_000_000
#: An error is cut here, and not one of its own: its status says the most of it.
LARGEST_ERROR = 64_000
#: Values in JSON: each takes a hundred times the memory of the two bytes it can be written in.
MOST_VALUES = 200_000
#: zlib finds out itself which of its two headers is there.
_PACKED = {"gzip", "x-gzip", "deflate"}
_EITHER_HEADER = zlib.MAX_WBITS | 32


def bounded_client(base: type[Any], largest: int, seconds: float | None = None) -> type[Any]:
    """An asynchronous client of httpx (or of a library made like it) that reads within bounds.

    `seconds` are for everything, from connecting to the last byte. Whatever is too much is a Fault.
    """

    class BoundedClient(base):  # type: ignore[misc]
        async def send(self, request: Any, *, stream: bool = False, **given: Any) -> Any:
            request.headers["Accept-Encoding"] = "gzip"
            return await asyncio.wait_for(self._send(request, given), seconds)

        async def _send(self, request: Any, given: dict[str, Any]) -> Any:
            response = await super().send(request, stream=True, **given)
            try:
                data = await _read(response, largest)
            finally:
                await response.aclose()
            return _unpacked(response, data)

    return cast(type[Any], BoundedClient)


async def _read(response: Any, largest: int) -> bytes:
    if not 200 <= response.status_code < 300:
        try:
            return bytes(await _pieces(response, LARGEST_ERROR, cut=True))
        except Fault:
            return b""
    data = await _pieces(response, largest)
    if not response.headers.get("content-type", "").strip().lower().startswith("image/"):
        _check_values(data)
    return bytes(data)


async def _pieces(response: Any, largest: int, cut: bool = False) -> bytearray:
    unpacker = _unpacker(response.headers.get("content-encoding", ""))
    declared = response.headers.get("content-length", "")
    if not cut and declared.isdecimal() and int(declared[:20]) > largest:
        raise _too_large(largest)
    data, received = bytearray(), 0
    async for piece in response.aiter_raw():
        received += len(piece)
        room = largest - len(data)
        # Never more than one byte beyond what is allowed, however tightly it is packed.
        data += _unpack(unpacker, piece, room + 1) if unpacker else piece[: room + 1]
        if len(data) > largest or received > largest:
            if cut:
                return data[:largest]
            raise _too_large(largest)
    return data


def _too_large(largest: int) -> Fault:
    return Fault("unusable", f"the server's answer has more than {largest:,} bytes")


def _unpacker(encoding: str) -> zlib._Decompress | None:
    layers = [one for one in encoding.lower().replace(" ", "").split(",") if one]
    layers = [one for one in layers if one != "identity"]
    if len(layers) > 1 or not set(layers) <= _PACKED:
        said = one_line(encoding, 80)
        raise Fault("unusable", f"the server's answer is packed as '{said}'; gzip alone is read")
    return zlib.decompressobj(_EITHER_HEADER) if layers else None


def _unpack(unpacker: zlib._Decompress, piece: bytes, most: int) -> bytes:
    try:
        return unpacker.decompress(piece, most)
    except zlib.error:
        raise Fault("broken", "the server's packed answer is damaged") from None


def _check_values(data: bytearray) -> None:
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) > MOST_VALUES:
        raise Fault("unusable", f"the server's answer holds more than {MOST_VALUES:,} values")


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
