"""A piece of work that can travel: a stage is names and settings, its worker does the work."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Row = TypeVar("Row")
Given = TypeVar("Given", contravariant=True)
Made = TypeVar("Made", covariant=True)


class Worker(Protocol[Given, Made]):
    """What a stage has opened: networks, editors, connections. `do` gives a row or more an item."""

    def do(self, items: Sequence[Given]) -> Iterable[Made]: ...

    def close(self) -> None: ...


class Stage(Protocol[Given, Made]):
    """Pickled where it has to travel, so it holds no live objects; see `Named` for the user's."""

    def open(self) -> Worker[Given, Made]: ...


class Executor(Protocol):
    """Runs a stage over items with bounded memory; closing the generator ends the work."""

    def run(
        self, stage: Stage[Item, Row], items: Iterable[Item]
    ) -> Generator[list[Row], None, None]:
        """The rows of each item."""
        ...
