"""What a server sends, gathered piece by piece: so many bytes, unpacked to so many, and no more.

HTTP libraries unpack before anybody can look, and 9 kB can hold 4 GB: whoever reads an answer gives
the raw bytes to a `Gathering` instead.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from medebench.errors import one_line

#: zlib finds out itself which of its two headers is there.
_PACKED = {"gzip", "x-gzip", "deflate"}
_EITHER_HEADER = zlib.MAX_WBITS | 32


class TooMuch(Exception):
    """More than was allowed, or packed in a way that is not read."""


class Damaged(Exception):
    """What cannot be unpacked."""


class Gathering:
    """The body of one answer: `add` what comes over the wire, `data` is what it holds."""

    def __init__(self, headers: Mapping[str, str], largest: int) -> None:
        self.data = bytearray()
        self._largest, self._received = largest, 0
        self._declared = headers.get("content-length", "")
        self._unpacker = _unpacker(headers.get("content-encoding", ""))

    def check_declared(self) -> None:
        """Refuse before reading what says itself that it is too large."""
        if self._declared.isdecimal() and int(self._declared[:20]) > self._largest:
            raise self._too_large()

    def add(self, piece: bytes) -> None:
        """`data` never has more than one byte beyond what is allowed, however tightly packed."""
        self._received += len(piece)
        most = self._largest + 1 - len(self.data)
        self.data += self._unpack(piece, most) if self._unpacker else piece[:most]
        if max(self._received, len(self.data)) > self._largest:
            raise self._too_large()

    def _unpack(self, piece: bytes, most: int) -> bytes:
        assert self._unpacker is not None
        try:
            return self._unpacker.decompress(piece, most)
        except zlib.error:
            raise Damaged("the server's packed answer is damaged") from None

    def _too_large(self) -> TooMuch:
        return TooMuch(f"the server's answer has more than {self._largest:,} bytes")


def _unpacker(encoding: str) -> zlib._Decompress | None:
    layers = [one for one in encoding.lower().replace(" ", "").split(",") if one]
    layers = [one for one in layers if one != "identity"]
    if len(layers) > 1 or not set(layers) <= _PACKED:
        said = one_line(encoding, 80)
        raise TooMuch(f"the server's answer is packed as '{said}'; gzip alone is read")
    return zlib.decompressobj(_EITHER_HEADER) if layers else None
