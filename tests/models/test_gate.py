"""How many calls are in flight, in simulated time: no machine is too slow for this."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

import pytest

from medebench.models.concurrency import Gate
from medebench.models.retry import pause


class SimulatedTime(asyncio.SelectorEventLoop):
    """Where nothing is to be done, it is at once the moment when something is."""

    moment = 0.0

    def time(self) -> float:
        return self.moment

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self.moment = max(self.moment, self._scheduled[0]._when)
        super()._run_once()


@dataclass
class Server:
    places: int
    share_refused: float = 0.0
    latency: float = 0.2
    retry_after: float | None = None
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    now: int = 0
    calls: int = 0
    refused: int = 0

    async def answer(self) -> str:
        self.calls += 1
        await asyncio.sleep(self.chance.uniform(0.001, 0.003))
        if self.now >= self.places or self.chance.random() < self.share_refused:
            self.refused += 1
            return "busy"
        self.now += 1
        await asyncio.sleep(self.latency * self.chance.uniform(0.9, 1.1))
        self.now -= 1
        return "ok"


async def work(server: Server, gate: Gate, count: int) -> float:
    async def one() -> None:
        for attempt in range(1000):
            ticket = await gate.enter()
            outcome = await server.answer()
            gate.leave(ticket, outcome, server.retry_after)
            if outcome == "ok":
                return
            await asyncio.sleep(pause(attempt, server.retry_after, server.chance))
        raise AssertionError("never answered")

    loop = asyncio.get_running_loop()
    began = loop.time()
    running: set[asyncio.Task[None]] = set()
    for _ in range(count):
        if len(running) >= int(gate.limit * 1.5) + 4:
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            assert all(task.exception() is None for task in done)
        running.add(asyncio.create_task(one()))
    await asyncio.gather(*running)
    return count / (loop.time() - began)


def simulate(server: Server, count: int = 800, **given: int) -> tuple[float, Gate]:
    loop = SimulatedTime()
    try:
        gate = Gate(clock=loop.time, **given)
        rate = loop.run_until_complete(work(server, gate, count))
    finally:
        loop.close()
    assert gate.in_flight == 0
    return rate / (server.places / server.latency), gate


@pytest.mark.parametrize("retry_after", [None, 0.05, 1.0])
@pytest.mark.parametrize("places", [1, 2, 4, 8, 16, 30])
def test_the_servers_places_are_found_and_held(places, retry_after):
    server = Server(places, retry_after=retry_after)
    share, gate = simulate(server, 100 + 50 * places)
    assert share > (0.9 if places == 16 else 0.75)
    assert places <= gate.limit <= places + 1
    assert server.refused < 0.04 * server.calls + 40


def test_refusals_at_random_do_not_bring_it_to_a_standstill():
    share, gate = simulate(Server(16, share_refused=0.2, retry_after=0.05))
    assert share > 0.3 and gate.limit >= 4


def test_never_more_than_the_most():
    _, gate = simulate(Server(1000), most=12)
    assert gate.limit == 12


def test_fewer_places_than_before_are_noticed():
    server = Server(16)
    loop = SimulatedTime()
    gate = Gate(clock=loop.time)
    loop.run_until_complete(work(server, gate, 400))
    server.places = 3
    server.calls = server.refused = 0
    loop.run_until_complete(work(server, gate, 300))
    loop.close()
    assert 3 <= gate.limit <= 4
    assert server.refused < 80


def test_when_all_are_refused_nothing_is_sent_until_the_server_said():
    loop = SimulatedTime()
    gate = Gate(start=4, clock=loop.time)

    async def scene() -> float:
        tickets = [await gate.enter() for _ in range(4)]
        for ticket in tickets:
            gate.leave(ticket, "busy", 30.0)
        await gate.enter()
        return loop.time()

    assert loop.run_until_complete(scene()) >= 30
    loop.close()


def test_a_cancelled_wait_gives_its_place_back():
    async def scene() -> int:
        gate = Gate(start=1)
        first = await gate.enter()
        waiting = [asyncio.create_task(gate.enter()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        gate.leave(first, "neutral")
        # Granted, and cancelled before it could run.
        waiting[1].cancel()
        await asyncio.gather(*waiting[:2], return_exceptions=True)
        gate.leave(await waiting[2], "neutral")
        return gate.in_flight

    assert asyncio.run(scene()) == 0
