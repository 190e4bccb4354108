"""Many annotators who save without a pause, and what the server acknowledged of it.

`python load.py --seconds 3 --tell 20 < {"url": ..., "tokens": {...}}` prints one JSON object:
`acknowledged` = [annotator, place, version, ranks], `seconds` = how long each save took,
`problems` = answers other than 200, `broken` = how many people lost their connection.
It speaks HTTP by hand, because on a small machine a client library would take the time that is to
be measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

DIMENSIONS = ("ea", "cp", "vq")


@dataclass
class Tally:
    acknowledged: list[tuple[str, int, int, Any]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    broken: int = 0
    elapsed: float = 0.0
    #: After so many saves a line on standard error says so.
    tell: int = 0


class Start:
    """Everybody waits until everybody is there; then a line on standard error says so."""

    def __init__(self, people: int) -> None:
        self._missing = people
        self._all = asyncio.Event()
        self.at = 0.0

    async def wait(self) -> None:
        self._missing -= 1
        if not self._missing:
            self.at = time.perf_counter()
            print("all are signed in", file=sys.stderr, flush=True)
            self._all.set()
        await self._all.wait()


class Browser:
    """One kept connection and one cookie."""

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url)
        self._headers = f"Host: {self._address.netloc}\r\nContent-Type: application/json\r\n"

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(
            self._address.hostname, self._address.port
        )

    def close(self) -> None:
        self._writer.close()

    def send_along(self, name: str, value: str) -> None:
        self._headers += f"{name}: {value}\r\n"

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, str, Any]:
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\n{self._headers}Content-Length: {len(data)}\r\n\r\n"
        self._writer.write(head.encode() + data)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = answer.split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        text = await self._reader.readexactly(int(fields.get("content-length", 0)))
        cookie = next((ln[12:] for ln in lines if ln.lower().startswith("set-cookie: ")), "")
        return int(lines[0].split()[1]), cookie, json.loads(text) if text else None


def some_ranks(letters: list[str], random: random.Random) -> dict[str, list[list[str]]]:
    """An order with a tie now and then."""
    ranks = {}
    for dimension in DIMENSIONS:
        groups: list[list[str]] = []
        for letter in random.sample(letters, len(letters)):
            if groups and random.random() < 0.3:
                groups[-1].append(letter)
            else:
                groups.append([letter])
        ranks[dimension] = groups
    return ranks


async def annotate(
    url: str, name: str, token: str, begin: Start, seconds: float, tally: Tally
) -> None:
    browser = Browser(url)
    await browser.open()
    status, cookie, _ = await browser.ask("POST", "/api/sign-in", {"token": token})
    assert status == 200, status
    browser.send_along("Cookie", cookie.split(";")[0])
    study = (await browser.ask("GET", "/api/study"))[2]
    browser.send_along("X-Medebench-Token", study["csrf"])
    tasks = []
    for task in study["tasks"]:
        shown = (await browser.ask("GET", f"/api/tasks/{task['place']}"))[2]
        tasks.append({"letters": shown["letters"], "version": shown["version"]})
    chance = random.Random(name)
    await begin.wait()
    end = time.perf_counter() + seconds
    place = -1
    try:
        while time.perf_counter() < end:
            place = (place + 1) % len(tasks)
            task = tasks[place]
            ranks = some_ranks(task["letters"], chance)
            body = {"version": task["version"], "key": str(uuid.UUID(int=chance.getrandbits(128)))}
            body |= {"state": chance.choice(("draft", "done")), "ranks": ranks, "seconds": 1.5}
            started = time.perf_counter()
            status, _, told = await browser.ask("PUT", f"/api/tasks/{place}", body)
            if status != 200:
                tally.problems.append(f"{status} {told}")
                return
            tally.seconds.append(time.perf_counter() - started)
            task["version"] = told["version"]
            tally.acknowledged.append((name, place, told["version"], ranks))
            if len(tally.acknowledged) == tally.tell:
                print(f"{tally.tell} are saved", file=sys.stderr, flush=True)
    except (OSError, asyncio.IncompleteReadError):
        tally.broken += 1
    finally:
        browser.close()


async def run(url: str, tokens: dict[str, str], seconds: float, tell: int = 0) -> Tally:
    tally = Tally(tell=tell)
    people = {name: token for name, token in tokens.items() if name != "admin"}
    begin = Start(len(people))
    work = [annotate(url, *person, begin, seconds, tally) for person in people.items()]
    await asyncio.gather(*work)
    tally.elapsed = time.perf_counter() - begin.at
    return tally


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--tell", type=int, default=0)
    chosen = parser.parse_args()
    given = json.loads(sys.stdin.readline())
    tally = asyncio.run(run(given["url"], given["tokens"], chosen.seconds, chosen.tell))
    print(json.dumps(tally.__dict__))
