"""Calling a client many times: cache, limits, retries and budget in one place."""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from medebench.errors import InputError
from medebench.models.answer_cache import AnswerCache, key_of
from medebench.models.ask import Answer, Ask, Failure
from medebench.models.budget import Budget
from medebench.models.concurrency import Gate
from medebench.models.event_loop import LoopThread, run_all
from medebench.models.fault import MAYBE_BILLED, Fault
from medebench.models.provider import Provider
from medebench.models.retry import Limits, pause
from medebench.models.tally import Plan, Tally, add_costs, add_plans

Item = TypeVar("Item")
Result = TypeVar("Result")
#: Is this answer worth keeping? Asked before it goes into the cache.
Good = Callable[[Answer], bool]

_log = logging.getLogger(__name__)

#: After so many asks in a row that failed for such a reason, the rest is not tried.
HOPELESS = {"denied": 3, "missing": 3, "quota": 3, "connection": 8}


class Caller:
    """`with Caller(client) as caller: for ask, answer in caller.ask_all(asks): ...`

    All methods may be called from any thread; `ask` belongs into functions given to `run`.
    """

    def __init__(
        self,
        client: Provider,
        *,
        limits: Limits | None = None,
        cache: AnswerCache | None = None,
        max_cost: float | None = None,
        fresh: bool = False,
        seed: int | None = None,
    ) -> None:
        if max_cost is not None and client.estimate(Ask("", ())).most is None:
            raise InputError(
                f"{client.name}: no known price, so --max-cost cannot be enforced; "
                "put one in a JSON file and set MEDEBENCH_PRICES to its path"
            )
        self.client = client
        self.limits = limits or Limits()
        self.cache = cache or AnswerCache()
        self.budget = None if max_cost is None else Budget(max_cost)
        self.tally = Tally()
        self.gate = Gate(self.limits.start, self.limits.most)
        self._fresh = fresh
        #: With `fresh`, what has been asked anew already: nothing is paid twice in one go.
        self._renewed: set[str] = set()
        self._under_way: dict[str, asyncio.Future[Answer]] = {}
        self._chance = random.Random(seed)
        self._ends_at: float | None = None
        self._thread: LoopThread | None = None
        self._lock = threading.Lock()
        self._in_a_row: tuple[str, int] = ("", 0)
        self._stopped: Fault | None = None

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel pending calls and close connections, within seconds."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.close()

    def run(
        self, work: Callable[[Item], Awaitable[Result]], items: Iterable[Item]
    ) -> Generator[tuple[Item, Result | Failure], None, None]:
        """`await work(item)` for all items, as many at once as the server allows.

        `work` may `await caller.ask(...)` as often as it likes, one answer leading to the next
        question; a `Fault` it lets through becomes the item's Failure.
        """
        return run_all(self._started(), work, items, self._room, self.client.scrub)

    def _started(self) -> LoopThread:
        with self._lock:
            if self._thread is None:
                # What waits at a gate belongs to one loop.
                self.gate = Gate(int(self.gate.limit), self.limits.most)
                self._thread = LoopThread(self.client.close)
            if self._ends_at is None and self.limits.deadline is not None:
                self._ends_at = time.monotonic() + self.limits.deadline
            return self._thread

    def _room(self) -> int:
        # More than may be in flight: those that wait before they are repeated need no place.
        return int(self.gate.limit * 2) + 16

    def ask_all(
        self, asks: Iterable[Ask], good: Good | None = None
    ) -> Generator[tuple[Ask, Answer | Failure], None, None]:
        async def work(ask: Ask) -> Answer:
            return await self.ask(ask, good)

        return self.run(work, asks)

    def ask_one(self, ask: Ask, good: Good | None = None) -> Answer | Failure:
        return next(result for _, result in self.ask_all([ask], good))

    def key(self, ask: Ask) -> str:
        return key_of(self.client.identity(), ask)

    def plan(self, asks: Iterable[Ask]) -> Plan:
        """What `ask_all(asks)` would take, without making any call."""
        keys: set[str] = set()
        plans: list[Plan] = []
        for ask in asks:
            key = self.key(ask)
            if key not in keys and (self._fresh or self.cache.get(key) is None):
                plans.append(self.client.estimate(ask))
            else:
                plans.append(Plan(0, 1, 0, 0, 0.0, 0.0))
            keys.add(key)
        return add_plans(plans)

    async def ask(self, ask: Ask, good: Good | None = None) -> Answer:
        """The answer, cached or new, or a `Fault`. A new one is cached if `good` accepts it."""
        key = self.key(ask)
        while (first := self._under_way.get(key)) is not None:
            # The same question is being asked: its answer will do.
            await asyncio.wait([first])
            if not first.cancelled():
                self.tally.cached += 1
                return replace(first.result(), cached=True)
        mine: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._under_way[key] = mine
        try:
            # Files in a thread: on a slow disk they would hold up every call in flight.
            kept = await asyncio.to_thread(self._kept, key)
            if kept is not None:
                self.tally.cached += 1
            answer = kept or await self._call(ask)
            if kept is None and _is_whole(answer):
                # Whether a picture is good is seen by decoding it, which takes its time as well.
                await asyncio.to_thread(self._keep_good, key, answer, good)
            mine.set_result(answer)
            return answer
        except Exception as error:
            mine.set_exception(error)
            mine.exception()
            raise
        finally:
            del self._under_way[key]
            mine.cancel()

    async def keep(self, ask: Ask, answer: Answer) -> None:
        """Cache this answer for later calls with the same `ask`, if it can be written."""
        await asyncio.to_thread(self._keep, self.key(ask), answer)

    def _keep_good(self, key: str, answer: Answer, good: Good | None) -> None:
        if good is None or good(answer):
            self._keep(key, answer)

    def _keep(self, key: str, answer: Answer) -> None:
        """An answer is used and counted even if it cannot be written to disk."""
        try:
            self.cache.put(key, answer)
            self._renewed.add(key)
        except OSError as error:
            with self._lock:
                self.tally.unkept += 1
                first = self.tally.unkept == 1
            if first:
                _log.warning(
                    "%s: answers cannot be cached here (%s); they are used now, but asking "
                    "again will cost again",
                    self.cache.folder,
                    error.strerror or error,
                )

    def _kept(self, key: str) -> Answer | None:
        if self._fresh and key not in self._renewed:
            return None
        return self.cache.get(key)

    async def _call(self, ask: Ask) -> Answer:
        most = self.client.estimate(ask).most
        calls = failed = refused = 0
        while True:
            try:
                answer = await self._attempt(ask, most or 0.0)
            except Fault as fault:
                again = fault
            else:
                self._in_a_row = ("", 0)
                return answer
            calls += 1
            again.attempts = calls
            if again.kind == "busy":
                refused += 1
            else:
                failed += 1
            if again.can_be_repeated:
                wait = pause(failed + refused - 1, again.wait, self._chance)
                if refused > self.limits.refusals or failed >= self.limits.attempts:
                    again = _ended(again, f"{again.text} (attempts: {calls})")
                elif wait > self.limits.longest_wait:
                    again = _ended(again, f"{again.text} (asks to wait {wait:.0f} s)")
                elif time.monotonic() + wait > (self._ends_at or float("inf")):
                    again = _ended(again, f"out of time; last: {again.text}", "deadline")
                else:
                    self.tally.repeated += again.kind != "busy"
                    await asyncio.sleep(wait)
                    continue
            self._note(again)
            raise again

    async def _attempt(self, ask: Ask, most: float) -> Answer:
        """One call, with budget reserved and a slot at the gate."""
        self._check()
        if self.budget is not None:
            await self._in_time(self.budget.reserve(most))
        spent = 0.0
        try:
            ticket = await self._in_time(self.gate.enter())
            outcome, wait = "neutral", None
            try:
                self._check()
                self.tally.calls += 1
                left = (self._ends_at or float("inf")) - time.monotonic()
                answer = await self.client.ask(ask, min(self.limits.timeout, left))
                outcome, spent = "ok", answer.cost or 0.0
            except Fault as fault:
                if fault.kind in ("busy", "timeout"):
                    outcome = "busy"
                    wait = fault.wait if (fault.wait or 0) <= self.limits.longest_wait else None
                self.tally.refused += fault.kind == "busy"
                if fault.kind in MAYBE_BILLED:
                    spent = most
                    self.tally.lost += most
                raise
            finally:
                self.gate.leave(ticket, outcome, wait)
        finally:
            if self.budget is not None:
                self.budget.settle(most, spent)
        self.tally.tokens_in += answer.tokens_in
        self.tally.tokens_out += answer.tokens_out
        self.tally.cost = add_costs([self.tally.cost, answer.cost])
        return answer

    async def _in_time(self, waiting: Coroutine[Any, Any, Result]) -> Result:
        if self._ends_at is None:
            return await waiting
        try:
            return await asyncio.wait_for(waiting, max(0.0, self._ends_at - time.monotonic()))
        except asyncio.TimeoutError:
            raise Fault("deadline", "not asked: out of time") from None

    def _check(self) -> None:
        if self._stopped is not None:
            raise Fault("stopped", f"not asked because earlier calls failed: {self._stopped.text}")
        if self._ends_at is not None and time.monotonic() >= self._ends_at:
            raise Fault("deadline", "not asked: out of time")

    def _note(self, fault: Fault) -> None:
        """Give up after repeated failures of one kind: a rejected key stays rejected."""
        kind, count = self._in_a_row
        self._in_a_row = (fault.kind, count + 1 if kind == fault.kind else 1)
        if self._in_a_row[1] >= HOPELESS.get(fault.kind, 1_000_000):
            self._stopped = fault


def _is_whole(answer: Answer) -> bool:
    """A truncated text is useless; an image is complete even if a text after it is cut off."""
    return answer.finish == "stop" or (bool(answer.images) and answer.finish != "refusal")


def _ended(fault: Fault, text: str, kind: str | None = None) -> Fault:
    final = Fault(kind or fault.kind, text, fault.status)
    final.attempts = fault.attempts
    return final
