"""What owns a device: fed from one thread, with as many items at a time as fill a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, Protocol

from medebench.engine.stages import Given, Item, Made, Row


class Device(Protocol[Given, Made]):
    """What owns one; used where the ledger is written, by one thread."""

    def is_full(self, waiting: Sequence[Given]) -> bool:
        """Whether these are enough for one go."""
        ...

    def finish(self, items: Sequence[Given]) -> Iterable[Made]: ...

    def release(self) -> None: ...


class Batches(Generic[Item, Row]):
    """`add` takes the items of one visit in; rows come out as soon as a batch is full."""

    def __init__(self, device: Device[Item, Row]) -> None:
        self._device = device
        self._waiting: list[tuple[int, Item]] = []

    @property
    def visits(self) -> set[int]:
        """Those with something that waits."""
        return {visit for visit, _ in self._waiting}

    def add(self, visit: int, items: Sequence[Item]) -> Iterator[Row]:
        self._waiting.extend((visit, item) for item in items)
        if self._device.is_full([item for _, item in self._waiting]):
            yield from self.rest()

    def rest(self) -> Iterator[Row]:
        waiting, self._waiting = self._waiting, []
        if waiting:
            yield from self._device.finish([item for _, item in waiting])

    def close(self) -> None:
        self._device.release()


def one_by_one(
    do: Callable[[Sequence[Item]], Sequence[Row]],
    items: Sequence[Item],
    failed: Callable[[BaseException], Row],
    also: type[BaseException] = Exception,
) -> list[Row]:
    """A result for each: an item that breaks a batch takes no other along.

    `failed` makes a result of an error, or raises it where it is not about the item.
    """
    if not items:
        return []
    try:
        found = list(do(items))
        if len(found) != len(items):
            raise ValueError(f"{len(found)} results for {len(items)} outputs")
        return found
    except (also, Exception) as error:
        result = failed(error)
        if len(items) == 1:
            return [result]
    return [row for item in items for row in one_by_one(do, [item], failed, also)]
