"""Calls to a model: many at once, as far as its limits and the money allow."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Protocol

from medebench.engine.stages import Given, Item, Made, Row
from medebench.models import Caller, Failure


class Asking(Protocol[Given, Made]):
    """Asks a model about items; limits, retries, cache and cost are the caller's."""

    def caller(self) -> Caller: ...

    async def ask(self, caller: Caller, item: Given) -> Made:
        """A row; a fault of the model may be let through."""
        ...


def run_calls(
    stage: Asking[Item, Row], items: Iterable[tuple[int, Item]]
) -> Generator[tuple[tuple[int, Item], Row | Failure], None, None]:
    """Each numbered item with its row or its failure, as they are ready.

    Items are taken on the calling thread, and only while there is room for more calls.
    """
    with stage.caller() as caller:

        async def ask(numbered: tuple[int, Item]) -> Row:
            return await stage.ask(caller, numbered[1])

        yield from caller.run(ask, items)
