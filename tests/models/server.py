"""A small server that speaks three vendors' protocols and misbehaves as told.

`python server.py --places 16 --latency 0.2 --life 60` prints its port and serves for a while.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import random
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

LIFE_SECONDS = 1200.0
STATUSES = {200: "OK", 302: "Found", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden"}
STATUSES |= {404: "Not Found", 429: "Too Many Requests", 500: "Server Error", 503: "Unavailable"}


@dataclass
class Call:
    number: int
    vendor: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        """All texts of all messages, the system's first."""
        found = []
        for message in _messages(self.vendor, self.body):
            found += [p for p in message if isinstance(p, str)]
        return found

    @property
    def images(self) -> list[bytes]:
        return [p for m in _messages(self.vendor, self.body) for p in m if isinstance(p, bytes)]

    @property
    def wants_picture(self) -> bool:
        modalities = self.body.get("generationConfig", {}).get("responseModalities", [])
        return self.vendor == "openai-image" or "IMAGE" in modalities

    @property
    def has_schema(self) -> bool:
        config = self.body.get("generationConfig", {})
        return bool(
            "response_format" in self.body
            or "output_config" in self.body
            or "responseJsonSchema" in config
        )


Plan = Callable[[Call], str]


def always(behaviour: str) -> Plan:
    return lambda call: behaviour


def in_turn(*behaviours: str) -> Plan:
    """One after the other, then the last for ever."""
    return lambda call: behaviours[min(call.number, len(behaviours) - 1)]


def mixture(seed: int, **shares: float) -> Plan:
    """Each behaviour with its share, the rest `ok`; the same for the same seed."""
    chance = random.Random(seed)
    names = list(shares)

    def plan(call: Call) -> str:
        rest = 1 - sum(shares.values())
        return chance.choices([*names, "ok"], [*shares.values(), rest])[0]

    return plan


@dataclass
class FakeServer:
    plan: Plan = field(default_factory=lambda: always("ok"))
    places: int | None = None
    latency: float = 0.0
    retry_after: str | None = "0.05"
    answer: Callable[[Call], str] = lambda call: json.dumps({"echo": call.texts[-1]})
    calls: list[Call] = field(default_factory=list)
    #: (moment, behaviour) of every call.
    log: list[tuple[float, str]] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)
    now: int = 0
    peak: int = 0
    #: Nobody is answered before so many calls have been under way at once.
    together: int = 1
    port: int = 0

    def __enter__(self) -> FakeServer:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._main, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(600)
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(600)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def base_url(self, vendor: str) -> str:
        return f"{self.url}/v1" if vendor.startswith("openai") else self.url

    def count(self, behaviour: str) -> int:
        return sum(1 for _, name in self.log if name == behaviour)

    def _main(self, ready: threading.Event) -> None:
        asyncio.run(self.serve(ready))

    async def serve(self, ready: threading.Event, life: float = LIFE_SECONDS) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop, self._met = asyncio.Event(), asyncio.Event()
        self._open: set[asyncio.Task[Any]] = set()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=2**24)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._stop.wait(), life)
        server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1]
        pairs = (line.partition(":") for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        form = headers.get("content-type", "").startswith("multipart/")
        body = _form(headers["content-type"], raw) if form else json.loads(raw)
        call = Call(len(self.calls), _vendor(path), path, headers, body)
        self.calls.append(call)
        self.now += 1
        self.peak = max(self.peak, self.now)
        if self.peak >= self.together:
            self._met.set()
        try:
            full = self.places is not None and self.now > self.places
            behaviour = "429" if full else self.plan(call)
            self.log.append((time.monotonic(), behaviour))
            return await self._behave(behaviour, call, writer)
        finally:
            self.now -= 1

    async def _behave(self, behaviour: str, call: Call, writer: asyncio.StreamWriter) -> bool:
        await self._met.wait()
        if behaviour == "hang":
            await asyncio.sleep(LIFE_SECONDS)
        if behaviour in ("ok", "slow", "refusal", "length", "prose", "wrong", "cut", "garbage"):
            await asyncio.sleep(1.0 if behaviour == "slow" else self.latency)
        if call.wants_picture and (reply := self.draw(behaviour, call)) is not None:
            await asyncio.sleep(self.latency)
            status, content = reply
            return await _write(writer, status, content)
        if behaviour == "no_schema" and not call.has_schema:
            behaviour = "ok"
        if behaviour == "no_temperature" and "temperature" not in call.body:
            behaviour = "ok"
        if behaviour in ("ok", "slow"):
            self.answered[call.texts[-1]] += 1
            return await _write(writer, 200, _success(call, self.answer(call)))
        if behaviour == "prose":
            return await _write(writer, 200, _success(call, "A fine picture, I would say."))
        if behaviour == "wrong":
            return await _write(writer, 200, _success(call, '{"score": "eleven", '))
        if behaviour == "refusal":
            return await _write(writer, 200, _success(call, "I cannot help.", "refusal"))
        if behaviour == "length":
            return await _write(writer, 200, _success(call, '{"sco', "length"))
        if behaviour == "empty":
            return await _write(writer, 200, {})
        if behaviour == "nothing":
            return await _write(writer, 200, b"")
        if behaviour == "garbage":
            whole = json.dumps(_success(call, "x")).encode()
            return await _write(writer, 200, whole[: len(whole) // 2])
        if behaviour == "cut":
            whole = json.dumps(_success(call, "x")).encode()
            writer.write(_head(200, len(whole), {}) + whole[: len(whole) // 2])
            await writer.drain()
            return False
        if behaviour == "drop":
            return False
        return await self._refuse(behaviour, call, writer)

    def draw(self, behaviour: str, call: Call) -> tuple[int, Any] | None:
        """Status and body for a call that wants a picture; None: as for any other call."""
        return None

    async def _refuse(self, behaviour: str, call: Call, writer: asyncio.StreamWriter) -> bool:
        extra: dict[str, str] = {}
        message, code = "it did not work", behaviour
        if behaviour == "429" and self.retry_after is not None:
            extra["Retry-After"] = self.retry_after
        if behaviour == "429date":
            extra["Retry-After"] = formatdate(time.time() + 2, usegmt=True)
        if behaviour == "quota":
            message, code = "You exceeded your current quota", "insufficient_quota"
        if behaviour == "no_schema":
            message = "response_format / schema is not supported"
        if behaviour == "no_temperature":
            message = "temperature: Extra inputs are not permitted"
        if behaviour == "bad_key":
            # Google's way; others say 401.
            message, code = "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT"
        if behaviour == "redirect":
            extra["Location"] = "http://127.0.0.1:9/elsewhere"
        if behaviour.startswith("echo"):
            # A careless server that shows what it was sent.
            shown = {**call.headers, "path": call.path}
            key = shown.get("authorization", "").removeprefix("Bearer ") or "none"
            twisted = base64.b64encode(f"user:{key}".encode()).decode()
            message = f"bad request {json.dumps(shown)} {twisted} " + "x" * 200 + key
        numbers = {"quota": 429, "redirect": 302, "no_schema": 400, "no_temperature": 400}
        numbers |= {"bad_key": 400}
        status = numbers.get(behaviour) or int(re.sub(r"\D", "", behaviour))
        return await _write(writer, status, _error(call, status, message, code), extra)


def _vendor(path: str) -> str:
    if "generateContent" in path:
        return "gemini"
    if path.split("?")[0].endswith(("/images/edits", "/images/generations")):
        return "openai-image"
    return "anthropic" if path.split("?")[0].endswith("/messages") else "openai"


def _form(kind: str, raw: bytes) -> dict[str, Any]:
    """The fields of a multipart body; those of files become lists of bytes."""
    found: dict[str, Any] = {}
    for part in raw.split(b"--" + kind.partition("boundary=")[2].strip('"').encode())[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        name = re.search(rb'[ ;]name="([^"]*)"', head)
        assert name is not None
        if b"filename=" in head:
            found.setdefault(name[1].decode(), []).append(content[:-2])
        else:
            found[name[1].decode()] = content[:-2].decode()
    return found


def _messages(vendor: str, body: dict[str, Any]) -> list[list[str | bytes]]:
    if vendor == "openai-image":
        return [[body["prompt"], *body.get("image", []), *body.get("image[]", [])]]
    if vendor == "gemini":
        system = body.get("systemInstruction", {}).get("parts", [])
        return [_parts(m) for m in (system, *(c["parts"] for c in body.get("contents", [])))]
    system = [body["system"]] if "system" in body else []
    return [_parts(content) for content in (*system, *(m["content"] for m in body["messages"]))]


def _parts(content: Any) -> list[str | bytes]:
    if isinstance(content, str):
        return [content]
    found: list[str | bytes] = []
    for part in content:
        if "text" in part:
            found.append(part["text"])
        elif "image_url" in part:
            found.append(base64.b64decode(part["image_url"]["url"].partition(",")[2]))
        elif "source" in part:
            found.append(base64.b64decode(part["source"]["data"]))
        elif "inlineData" in part:
            # Google's clients use the alphabet of URLs.
            found.append(base64.urlsafe_b64decode(part["inlineData"]["data"]))
    return found


def _success(call: Call, text: str, finish: str = "stop") -> dict[str, Any]:
    if call.vendor == "gemini":
        word = {"stop": "STOP", "refusal": "SAFETY", "length": "MAX_TOKENS"}[finish]
        content = {"role": "model", "parts": [{"text": text}]}
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 8, "thoughtsTokenCount": 2}
        return {
            "candidates": [{"content": content, "finishReason": word}],
            "usageMetadata": usage,
            "modelVersion": "gemini-test-001",
        }
    if call.vendor == "anthropic":
        word = {"stop": "end_turn", "refusal": "refusal", "length": "max_tokens"}[finish]
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-test-001",
            "content": [{"type": "text", "text": text}],
            "stop_reason": word,
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10},
        }
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if finish == "refusal":
        message |= {"content": None, "refusal": text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "gpt-test-001",
        "choices": [
            {"index": 0, "message": message, "finish_reason": finish.replace("refusal", "stop")}
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


def _error(call: Call, status: int, message: str, code: str) -> dict[str, Any]:
    if call.vendor == "gemini":
        return {"error": {"code": status, "message": message, "status": "FAILED"}}
    if call.vendor == "anthropic":
        return {"type": "error", "error": {"type": code, "message": message}}
    return {"error": {"message": message, "type": "error", "param": None, "code": code}}


def _head(status: int, length: int, extra: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {STATUSES.get(status, 'Other')}"]
    lines += ["Content-Type: application/json", f"Content-Length: {length}"]
    lines += [f"{name}: {value}" for name, value in extra.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _write(
    writer: asyncio.StreamWriter, status: int, body: Any, extra: dict[str, str] | None = None
) -> bool:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    writer.write(_head(status, len(data), extra or {}) + data)
    await writer.drain()
    return True


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--places", type=int)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--life", type=float, default=LIFE_SECONDS)
    parser.add_argument("--behaviour", default="ok")
    given = parser.parse_args()
    server = FakeServer(always(given.behaviour), given.places, given.latency)
    ready = threading.Event()

    def report() -> None:
        ready.wait()
        print(server.port, flush=True)
        # Ends with its parent, whatever happens to that.
        sys.stdin.read()
        refused = server.count("429")
        print(json.dumps({"calls": len(server.calls), "refused": refused, "peak": server.peak}))
        sys.stdout.flush()
        server._loop.call_soon_threadsafe(server._stop.set)

    threading.Thread(target=report, daemon=True).start()
    asyncio.run(server.serve(ready, given.life))


if __name__ == "__main__":
    main()
