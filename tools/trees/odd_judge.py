"""An OpenAI-compatible server on loopback whose answers depend on the pictures alone.

Most are good; some are refused, late, cut or in odd forms. Because only the pictures count, two
trees that ask in another order, or in other words, get the same answers.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: One in so many keeps to the rules; the numbers below that are ways not to.
KINDS = 16


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.asked: Counter[str] = Counter()
        self.guard = threading.Lock()


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = hashlib.sha256("\n".join(_pictures(body)).encode()).hexdigest()
        with self.server.guard:
            self.server.asked[key] += 1
            times = self.server.asked[key]
        status, answer = reply(bytes.fromhex(key), times)
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status == 429:
            self.send_header("Retry-After", "0.05")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Not on the terminal."""


def _pictures(body: dict[str, Any]) -> Iterator[str]:
    for message in body["messages"]:
        if isinstance(message["content"], list):
            for part in message["content"]:
                if part.get("type") == "image_url":
                    yield part["image_url"]["url"]


def reply(digest: bytes, times: int) -> tuple[int, dict[str, Any]]:
    """Status and body of the `times`-th answer about the pictures with this digest."""
    kind, first = digest[2] % KINDS, times == 1
    accuracy, quality = digest[0] % 21 / 2, digest[1] % 21 / 2
    good = json.dumps(_scores(accuracy, quality))
    if kind == 0:
        return 200, _message("I cannot judge medical pictures.", refused=True)
    if kind == 1 and first:
        return 429, {"error": {"message": "too many requests", "code": "rate_limit"}}
    if kind == 2 and first:
        return 500, {"error": {"message": "out of order", "code": "server_error"}}
    if kind == 3:
        return 200, _message(f"Gladly. Here it is:\n```json\n{good}\n```\nAsk me anything else.")
    if kind == 4:
        words = json.dumps(_scores(f"{accuracy} out of 10", f"{quality}/10"))
        return 200, _message(words)
    if kind == 5 or (kind == 6 and first):
        return 200, _message("A fine picture, I would say.")
    if kind == 7:
        return 200, _message(json.dumps(_scores(14, quality)))
    if kind == 8 and first:
        return 200, _message(good[: len(good) // 2], finish="length")
    if kind == 9:
        return 400, {"error": {"message": "this picture is too strange", "code": "bad_picture"}}
    return 200, _message(good)


def _scores(accuracy: object, quality: object) -> dict[str, Any]:
    return {
        "differences": ["the region is lighter", "the edge is softer"],
        "editing_accuracy": {"reason": "near to what was wanted", "score": accuracy},
        "visual_quality": {"reason": "a soft seam", "score": quality},
    }


def _message(text: str, *, finish: str = "stop", refused: bool = False) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    if refused:
        message |= {"content": None, "refusal": text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "odd-judge-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


@contextmanager
def odd_judge(port: int = 0) -> Iterator[str]:
    """The address of a server that lives as long as the block."""
    server = _Server(port)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
