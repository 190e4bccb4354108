"""A model repository on 127.0.0.1 that speaks as much of the hub's HTTP as fetching needs."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.fake_hub import COMMIT, Answer, Behaviour, refuse


@dataclass
class ModelHub:
    files: dict[str, bytes]
    repo: str = "owner/name"
    #: These are stated by SHA-256, as large files are.
    large: frozenset[str] = frozenset()
    endpoint: str = ""
    #: "GET /path", in order.
    requests: list[str] = field(default_factory=list)
    #: What happens to answers whose path ends so.
    behaviours: dict[str, Behaviour] = field(default_factory=dict)

    def downloads(self) -> set[str]:
        start = f"GET /{self.repo}/resolve/{COMMIT}/"
        return {one.removeprefix(start) for one in self.requests if one.startswith(start)}

    def answer(self, path: str) -> Answer:
        plain = unquote(urlsplit(path).path)
        answer = self._plain_answer(plain)
        for end, change in self.behaviours.items():
            if plain.endswith(end):
                change(answer)
        return answer

    def _plain_answer(self, plain: str) -> Answer:
        api, tree = f"/api/models/{self.repo}", f"/api/models/{self.repo}/tree/{COMMIT}"
        if plain == tree:
            return Answer(json.dumps([self._entry(name) for name in self.files]).encode())
        if plain in (api, f"{api}/revision/main", f"{api}/revision/{COMMIT}"):
            facts: dict[str, Any] = {"_id": "1", "id": self.repo, "sha": COMMIT}
            facts["siblings"] = [self._sibling(name) for name in self.files]
            return Answer(json.dumps(facts).encode())
        name = plain.removeprefix(f"/{self.repo}/resolve/{COMMIT}/")
        if name not in self.files:
            missing = Answer(b"")
            refuse(404, X_Error_Code="RepoNotFound")(missing)
            return missing
        headers = {"ETag": f'"{self._etag(name)}"', "X-Repo-Commit": COMMIT}
        return Answer(self.files[name], headers=headers | {"Accept-Ranges": "bytes"})

    def _etag(self, name: str) -> str:
        body = self.files[name]
        if name in self.large:
            return hashlib.sha256(body).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()

    def _entry(self, name: str) -> dict[str, Any]:
        size = len(self.files[name])
        entry: dict[str, Any] = {"type": "file", "path": name, "size": size, "oid": "0" * 40}
        if name in self.large:
            entry["lfs"] = {"oid": self._etag(name), "size": size, "pointerSize": 130}
        return entry

    def _sibling(self, name: str) -> dict[str, Any]:
        size = len(self.files[name])
        entry: dict[str, Any] = {"rfilename": name, "size": size, "blobId": "0" * 40}
        if name in self.large:
            entry["lfs"] = {"sha256": self._etag(name), "size": size, "pointerSize": 130}
        return entry

    @contextmanager
    def serve(self) -> Iterator[ModelHub]:
        with serving(lambda path, method: self._note(path, method)) as endpoint:
            self.endpoint = endpoint
            yield self

    def _note(self, path: str, method: str) -> Answer:
        self.requests.append(f"{method} {unquote(urlsplit(path).path)}")
        return self.answer(path)


@contextmanager
def serving(answer: Any) -> Iterator[str]:
    """A server whose answers a function (path, method) makes; its address."""
    closing = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send("GET")

        def do_HEAD(self) -> None:
            self._send("HEAD")

        def _send(self, method: str) -> None:
            made: Answer = answer(self.path, method)
            if made.hang and method == "GET":
                closing.wait(made.hang)
            body, status = made.body, made.status
            start = 0
            if (asked := self.headers.get("Range")) and status == 200:
                start, status = int(asked.removeprefix("bytes=").partition("-")[0]), 206
                made.headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            try:
                self.send_response(status)
                for name, value in made.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body) - start))
                self.end_headers()
                if method == "GET":
                    self.wfile.write(body[start : made.cut])
            except OSError:
                pass  # the other side has given up
            self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        closing.set()
        server.shutdown()
        server.server_close()
