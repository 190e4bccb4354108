"""Many asynchronous tasks for a synchronous caller, with bounded memory."""

from __future__ import annotations

import queue
from collections.abc import Awaitable, Callable, Generator, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from medebench.errors import MedebenchError
from medebench.models.ask import Failure
from medebench.models.event_loop import LoopThread
from medebench.models.fault import Fault, shown

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_all(
    thread: LoopThread,
    work: Callable[[Item], Awaitable[Result]],
    items: Iterable[Item],
    room: Callable[[], int],
    scrub: Callable[[str], str],
) -> Generator[tuple[Item, Result | Failure], None, None]:
    """`work(item)` for every item, with its result or failure, as they become ready.

    Items are taken from `items` in the calling thread, and only while fewer than `room()` are
    under way or waiting to be handed over. Closing the generator cancels what is under way.
    """
    done: queue.SimpleQueue[tuple[int, Item, Result | Failure]] = queue.SimpleQueue()

    async def one(number: int, item: Item) -> None:
        result: Result | Failure
        try:
            result = await work(item)
        except Exception as error:
            result = failure_of(error, scrub)
        done.put((number, item, result))

    source = enumerate(items)
    under_way: dict[int, tuple[Item, Future[None]]] = {}
    more = True
    try:
        while more or under_way:
            while more and len(under_way) < room() and done.empty():
                number, item = next(source, (-1, None))
                if item is None and number < 0:
                    more = False
                else:
                    work_item = cast(Item, item)
                    under_way[number] = work_item, thread.start(one(number, work_item))
            if not under_way:
                continue
            try:
                # Not for ever: a Ctrl-C is seen between two waits on every platform.
                number, item, result = done.get(timeout=0.5)
            except queue.Empty:
                if thread.is_alive or not done.empty():
                    continue
                # Closed by another thread: what was under way will never be ready.
                number, (item, _) = next(iter(under_way.items()))
                result = Failure("not asked: the caller was closed", "stopped")
            del under_way[number]
            yield item, result
    finally:
        for _, future in under_way.values():
            future.cancel()


def failure_of(error: Exception, scrub: Callable[[str], str]) -> Failure:
    if isinstance(error, Fault):
        return Failure(error.text, error.kind, error.attempts)
    text: Any = error if isinstance(error, MedebenchError) else f"{type(error).__name__}: {error}"
    return Failure(shown(scrub(str(text))), "error")
