"""A server that sends too much, too tightly packed or too slowly, and counts what it got rid of."""

from __future__ import annotations

import gzip
import json
import re
import socket
import threading
import zlib
from collections.abc import Iterator
from functools import cache

from tests.patience import PATIENCE

MEGABYTE = 1 << 20
#: What the bombs unpack to, and what the flood sends.
BOMB, FLOOD = 600, 200
#: Bytes of a drip, one every so many seconds: ends by itself if nobody hangs up.
DRIPS, PAUSE = 1500, 0.02
JSON = "application/json"


@cache
def bomb(layers: int) -> bytes:
    """600 MB of zeros in 0.6 MB (one layer of gzip) or a few kB (two layers)."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    zeros = bytes(MEGABYTE)
    # After a full flush nothing depends on what came before: each block is like the next.
    blocks = [packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2)]
    packed = gzip.compress(b"")[:10] + blocks[0] + blocks[1] * (BOMB - 1)
    return packed if layers == 1 else gzip.compress(packed)


class Flood:
    """`with Flood("drip") as server:` misbehaves so to every request; `sent` counts its bodies."""

    def __init__(self, behaviour: str = "ok") -> None:
        self.behaviour = behaviour
        self.sent = 0
        self.requests = 0

    def __enter__(self) -> Flood:
        self._ending = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(0.1)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ending.set()
        self._thread.join(PATIENCE)
        self._socket.close()

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def _serve(self) -> None:
        while not self._ending.is_set():
            try:
                connection, _ = self._socket.accept()
            except TimeoutError:
                continue
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(10)
        with connection:
            try:
                path = _receive(connection)
                self.requests += 1
                for piece in self._pieces(path):
                    connection.sendall(piece)
                    self.sent += len(piece)
            except OSError:
                pass

    def _pieces(self, path: str) -> Iterator[bytes]:
        """Behaviour by path, so that one process can meet them all: /drip/v1/chat/completions."""
        behaviour = next((name for name in KINDS if f"/{name}/" in path), self.behaviour)
        if behaviour in ("bomb", "bombs", "flate"):
            encoding = {"bomb": "gzip", "bombs": "gzip, gzip", "flate": "deflate"}[behaviour]
            data = bomb(2 if behaviour == "bombs" else 1)
            yield _head(len(data), f"Content-Encoding: {encoding}\r\n")
            yield data
        elif behaviour in ("br", "zstd"):
            yield _head(4, f"Content-Encoding: {behaviour}\r\n") + b"\1\2\3\4"
        elif behaviour in ("flood", "told_flood", "error_flood"):
            told = FLOOD * MEGABYTE if behaviour == "told_flood" else None
            yield _head(told, status=500 if behaviour == "error_flood" else 200)
            for _ in range(FLOOD * 16):
                yield b" " * (MEGABYTE // 16)
        elif behaviour in ("values", "called_picture"):
            # Three bytes a list: 7 MB that become a gigabyte of objects.
            data = b"[[]" + b",[]" * 2_300_000 + b"]"
            kind = "image/png" if behaviour == "called_picture" else JSON
            yield _head(len(data), kind=kind) + data
        elif behaviour == "drip":
            yield _head(10 * DRIPS)
            yield from self._slowly(b" " * DRIPS)
        elif behaviour == "slow_head":
            yield from self._slowly(b"HTTP/1.1 200 OK\r\nX: " + b"x" * DRIPS)
        elif behaviour == "headers":
            yield b"HTTP/1.1 200 OK\r\n"
            for number in range(FLOOD * 100):
                yield b"X-%d: %s\r\n" % (number, b"x" * 10_000)
        elif behaviour == "packed":
            data = gzip.compress(_answer(path))
            yield _head(len(data), "Content-Encoding: gzip\r\n") + data
        elif behaviour == "cut":
            data = gzip.compress(_answer(path))[:-20]
            yield _head(len(data), "Content-Encoding: gzip\r\n") + data
        else:
            data = _answer(path)
            yield _head(len(data)) + data

    def _slowly(self, data: bytes) -> Iterator[bytes]:
        for start in range(len(data)):
            yield data[start : start + 1]
            if self._ending.wait(PAUSE):
                return


KINDS = ("bombs", "bomb", "flate", "br", "zstd", "told_flood", "error_flood", "flood", "values")
KINDS += ("called_picture", "drip", "slow_head", "headers", "packed", "cut", "ok")


def _receive(connection: socket.socket) -> str:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    while length and len(body) < int(length[1]):
        body += connection.recv(65536)
    return head.split(b" ")[1].decode()


def _head(length: int | None, more: str = "", status: int = 200, kind: str = JSON) -> bytes:
    told = "" if length is None else f"Content-Length: {length}\r\n"
    first = f"Content-Type: {kind}\r\nConnection: close\r\n"
    return f"HTTP/1.1 {status} OK\r\n{first}{told}{more}\r\n".encode()


def _answer(path: str) -> bytes:
    """What each of the three protocols calls "fine"."""
    if "generateContent" in path:
        parts = {"parts": [{"text": "fine"}]}
        return json.dumps({"candidates": [{"content": parts, "finishReason": "STOP"}]}).encode()
    if "/messages" in path:
        content = [{"type": "text", "text": "fine"}]
        return json.dumps({"type": "message", "content": content}).encode()
    message = {"message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}
    return json.dumps({"choices": [message]}).encode()
