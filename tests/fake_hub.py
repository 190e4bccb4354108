"""A dataset repository on 127.0.0.1 that speaks as much of the hub's HTTP as `get_cases` uses.

It can misbehave on purpose: `hub.on(pattern, behaviour, times=1)` for request paths that match.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from tests.patience import PATIENCE

COMMIT = "0123456789abcdef0123456789abcdef01234567"
Behaviour = Callable[["Answer"], None]


@dataclass
class Answer:
    """What is about to be sent; a behaviour changes it."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    #: How much of the body is really sent, and how long nothing is sent before.
    cut: int | None = None
    hang: float = 0.0
    #: More of the same body, until nobody listens or this much was sent.
    endless: int = 0
    #: Seconds after each byte.
    drip: float = 0.0


def refuse(status: int, **headers: str) -> Behaviour:
    def change(answer: Answer) -> None:
        answer.status, answer.body = status, b'{"error": "on purpose"}'
        answer.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    return change


def replace(body: bytes) -> Behaviour:
    def change(answer: Answer) -> None:
        answer.body = body

    return change


def hang(seconds: float = PATIENCE) -> Behaviour:
    def change(answer: Answer) -> None:
        answer.hang = seconds

    return change


def flood(size: int) -> Behaviour:
    """Without a stated length, so that only counting can tell."""

    def change(answer: Answer) -> None:
        answer.body, answer.endless = b" " * 65536, size

    return change


def packed(body: bytes, encoding: str) -> Behaviour:
    def change(answer: Answer) -> None:
        answer.body, answer.headers["Content-Encoding"] = body, encoding

    return change


def drip(seconds: float) -> Behaviour:
    def change(answer: Answer) -> None:
        answer.drip = seconds

    return change


def redirect(address: str) -> Behaviour:
    def change(answer: Answer) -> None:
        answer.status, answer.body, answer.headers["Location"] = 302, b"", address

    return change


def half(answer: Answer) -> None:
    answer.cut = len(answer.body) // 2


@dataclass
class FakeHub:
    files: dict[str, bytes]
    repo: str = "LIUMinghao/MedEBench"
    #: These are stated as large files: by SHA-256 instead of git's blob hash.
    lfs: frozenset[str] = frozenset()
    endpoint: str = ""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    rules: list[list] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    #: Bytes of bodies that left.
    sent: int = 0
    #: Whether a download may go on in the middle.
    ranges: bool = True

    def on(self, pattern: str, behaviour: Behaviour, times: int = 10**6) -> None:
        self.rules.append([re.compile(pattern), behaviour, times])

    def downloads(self) -> list[str]:
        """The files asked for so far, in order."""
        prefix = f"/datasets/{self.repo}/resolve/{COMMIT}/"
        paths = [urlsplit(path).path for path, _ in self.requests]
        return [unquote(path.removeprefix(prefix)) for path in paths if path.startswith(prefix)]

    def answer(self, path: str) -> Answer:
        api = f"/api/datasets/{self.repo}/revision/"
        plain, _, query = path.partition("?")
        if plain.startswith(api):
            facts: dict = {"_id": "1", "id": self.repo, "sha": COMMIT}
            if "blobs=" in query:
                facts["siblings"] = [self._sibling(name) for name in self.files]
            answer = Answer(json.dumps(facts).encode())
            if unquote(plain.removeprefix(api)) not in ("main", "v1", COMMIT):
                refuse(404, X_Error_Code="RevisionNotFound")(answer)
        else:
            prefix = rf"/cdn/|/datasets/{re.escape(self.repo)}/resolve/{COMMIT}/"
            name = unquote(re.sub(f"^({prefix})", "", plain))
            answer = Answer(self.files.get(name, b""))
            if name not in self.files:
                refuse(404, X_Error_Code="RepoNotFound")(answer)
        # The real one sends this to everybody without a token; nobody shall see it.
        answer.headers["X-HF-Warning"] = "unauthenticated; please log in"
        for rule in self.rules:
            if rule[0].search(unquote(plain)) and rule[2] > 0:
                rule[2] -= 1
                rule[1](answer)
                break
        return answer

    def _sibling(self, name: str) -> dict:
        body = self.files[name]
        blob = hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()
        entry: dict = {"rfilename": name, "size": len(body), "blobId": blob}
        if name in self.lfs:
            digest = hashlib.sha256(body).hexdigest()
            # Git holds only a pointer to a large file, so its blob hash is that of the pointer.
            entry["blobId"] = hashlib.sha1(digest.encode()).hexdigest()
            entry["lfs"] = {"sha256": digest, "size": len(body), "pointerSize": 130}
        return entry

    @contextmanager
    def serve(self, lifetime: float = 2 * PATIENCE) -> Iterator[FakeHub]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        # Should a test forget itself, its server does not stay.
        guard = threading.Timer(lifetime, server.shutdown)
        guard.daemon = True
        guard.start()
        try:
            yield self
        finally:
            self.closing.set()
            guard.cancel()
            server.shutdown()
            server.server_close()


def _handler(hub: FakeHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
            answer = hub.answer(self.path)
            begin = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            if begin and hub.ranges and answer.status == 200:
                size = len(answer.body)
                answer.status, answer.body = 206, answer.body[int(begin[1]) :]
                answer.headers["Content-Range"] = f"bytes {begin[1]}-{size - 1}/{size}"
            if answer.hang:
                hub.closing.wait(answer.hang)
            try:
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                if not answer.endless:
                    self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                for piece in _pieces(answer):
                    self.wfile.write(piece)
                    hub.sent += len(piece)
                    if answer.drip and hub.closing.wait(answer.drip):
                        break
            except OSError:
                pass  # the other side has given up waiting
            self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

    return Handler


def _pieces(answer: Answer) -> Iterator[bytes]:
    body = answer.body[: answer.cut]
    if answer.drip:
        yield from (body[i : i + 1] for i in range(len(body)))
    else:
        yield body
    for _ in range(answer.endless // max(1, len(body))):
        yield body


_TAKEN: list[object] = []


def closed_port() -> int:
    """A port of this machine where nobody listens, nor will: it is taken until the tests end."""
    import socket

    taken = socket.socket()
    _TAKEN.append(taken)
    taken.bind(("127.0.0.1", 0))
    return int(taken.getsockname()[1])
