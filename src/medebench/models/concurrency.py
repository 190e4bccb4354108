"""How many calls may be in flight: as many as the server accepts, found by trying.

The number grows until the server turns calls away (429, 503), then settles just below. One refusal
says little, since servers also refuse by the minute or at random. But where more than half of those
calls were refused that set out as the n-th or later in flight, and hardly any before, there are
n - 1 places, and that becomes the limit. Where nothing gets through, it is halved.
From there one more is tried from time to time, ever more rarely as long as it is refused.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

#: So many refusals it takes to conclude anything, out of so many latest outcomes.
FEWEST = 4
WINDOW = 40
SHARE = 0.5
MOST_PATIENCE = 128


@dataclass(frozen=True)
class Ticket:
    #: Calls in flight when this one set out, itself included.
    level: int
    epoch: int


class Gate:
    """Belongs to one event loop. `enter`, make the call, `leave` with what came of it."""

    def __init__(
        self, start: int = 8, most: int = 64, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limit = float(max(1, min(start, most)))
        self.most = most
        self.in_flight = 0
        self._clock = clock
        self._waiting: deque[asyncio.Future[Ticket]] = deque()
        #: (level, was it refused) of the latest calls under the present limit.
        self._window: deque[tuple[int, bool]] = deque(maxlen=WINDOW)
        self._streak = 0
        self._epoch = 0
        self._ceiling: float | None = None
        self._patience = 2.0
        self._calm = 0
        self._closed_until = 0.0
        self._alarm: asyncio.TimerHandle | None = None

    async def enter(self) -> Ticket:
        if not self._waiting and self._has_room():
            return self._admit()
        future: asyncio.Future[Ticket] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._wake()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.in_flight -= 1
                self._wake()
            raise

    def leave(self, ticket: Ticket, outcome: str, wait: float | None = None) -> None:
        """`outcome`: "ok", "busy" (turned away, or no answer in time) or "neutral"."""
        self.in_flight -= 1
        # What set out under an older limit says nothing about the present one.
        if ticket.epoch == self._epoch:
            if outcome == "ok":
                self._streak = 0
                self._window.append((ticket.level, False))
                self._grow(ticket)
            elif outcome == "busy":
                self._streak += 1
                self._window.append((ticket.level, True))
                if (level := self._too_many()) is not None:
                    self._shrink(level, wait)
        self._wake()

    def _grow(self, ticket: Ticket) -> None:
        if ticket.level < 0.75 * self.limit:
            # The limit was not what held the calls back: nothing was learnt about it.
            return
        if self._ceiling is None:
            self.limit += 0.5
        elif self.limit < self._ceiling:
            self.limit = min(self._ceiling, self.limit + 2 / self.limit)
        else:
            self._calm += 1
            if self._calm >= self._patience * self.limit:
                self._calm = 0
                self._patience = max(1.0, self._patience / 2)
                self._ceiling = self.limit = self.limit + 1
        self.limit = min(self.limit, float(self.most))

    def _too_many(self) -> int | None:
        """The lowest number in flight from which on most calls are refused."""
        for start in sorted({level for level, refused in self._window if refused}):
            outcomes = [refused for level, refused in self._window if level >= start]
            if sum(outcomes) >= FEWEST and sum(outcomes) > SHARE * len(outcomes):
                return start
        return None

    def _shrink(self, lowest: int, wait: float | None) -> None:
        all_refused = self._streak >= max(FEWEST, int(self.limit))
        before = any(level < lowest for level, refused in self._window if not refused)
        # Calls that are still in flight were not turned away either.
        if before or self.in_flight >= max(1, 0.75 * (lowest - 1)):
            self.limit = self._ceiling = float(max(1, int(min(self.limit, lowest - 1))))
            # A trial that began halved it, so this is twice what it was before the trial.
            self._patience = min(float(MOST_PATIENCE), self._patience * 4)
        else:
            # Nothing went through: not the number is at fault, but a quota or a bad moment.
            self._ceiling = self.limit if self._ceiling is None else self._ceiling
            self.limit = max(1.0, float(int(self.limit / 2)))
        self._calm = 0
        self._streak = 0
        self._window.clear()
        self._epoch += 1
        if all_refused:
            self._closed_until = max(self._closed_until, self._clock() + (wait or 0.25))

    def _has_room(self) -> bool:
        return self.in_flight < int(self.limit) and self._clock() >= self._closed_until

    def _admit(self) -> Ticket:
        self.in_flight += 1
        return Ticket(self.in_flight, self._epoch)

    def _wake(self) -> None:
        while self._waiting and self._has_room():
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(self._admit())
        left = self._closed_until - self._clock()
        if self._waiting and left > 0 and self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(left + 0.001, self._open)

    def _open(self) -> None:
        self._alarm = None
        self._wake()
