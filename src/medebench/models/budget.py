"""Budget: no call is sent that could, by its estimate, exceed the limit.

Where a server counts more than was estimated, the calls in flight may; after that none is sent.
"""

from __future__ import annotations

import asyncio

from medebench.errors import InputError
from medebench.models.fault import Fault


class Budget:
    """Every call first reserves the most it can cost, and gives back what it did not use.

    Where the reservation does not fit, the call waits for those in flight: they usually cost less
    than they reserved. Only when none is left in flight and it still does not fit, it fails.
    """

    def __init__(self, max_cost: float) -> None:
        if not max_cost >= 0:
            raise InputError(f"max-cost: expected an amount in US dollars, found {max_cost}")
        self.max_cost = max_cost
        self.spent = 0.0
        self.reserved = 0.0
        self._holders = 0
        self._waiting: list[asyncio.Future[None]] = []

    async def reserve(self, amount: float) -> None:
        while self.spent + self.reserved + amount > self.max_cost * (1 + 1e-12):
            if self._holders == 0:
                raise Fault(
                    "budget",
                    f"the next call may cost ${amount:.4f}, and ${self.spent:.4f} "
                    f"of ${self.max_cost:.4f} is already spent (max-cost)",
                )
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
        self._holders += 1
        self.reserved += amount

    def settle(self, reserved: float, spent: float) -> None:
        """The call is over; it cost `spent`."""
        self._holders -= 1
        self.reserved = self.reserved - reserved if self._holders else 0.0
        self.spent += spent
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
