"""An event loop in a thread of its own, so that synchronous code can have many calls in flight.

Memory is bounded: no more is taken from the caller than there is room for.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from medebench.errors import MedebenchError
from medebench.models.ask import Failure
from medebench.models.fault import Fault, shown

Item = TypeVar("Item")
Result = TypeVar("Result")
#: How long closing waits for calls in flight to be cancelled and connections to be closed.
GRACE_SECONDS = 3.0


class LoopThread:
    """Started at once; a daemon, so that it never keeps a process alive."""

    def __init__(self, closing: Callable[[], Awaitable[None]]) -> None:
        self.loop = asyncio.new_event_loop()
        self._closing = closing
        self._thread = threading.Thread(target=self._main, name="medebench-calls", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def start(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Run `work` on the loop; cancelling the future cancels it."""
        try:
            return asyncio.run_coroutine_threadsafe(work, self.loop)
        except RuntimeError:
            work.close()
            raise

    def close(self) -> None:
        """Cancel what runs, close connections, end the thread; within `GRACE_SECONDS`."""
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(GRACE_SECONDS)

    def _main(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.run_until_complete(self._end())
            self.loop.close()

    async def _end(self) -> None:
        # Cancelled while it connects, anyio leaves one behind and Python tells the user.
        warnings.filterwarnings("ignore", "coroutine 'connect_tcp", RuntimeWarning)
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE_SECONDS / 2)
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._closing(), GRACE_SECONDS / 3)
        await self.loop.shutdown_asyncgens()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.loop.shutdown_default_executor(), GRACE_SECONDS / 3)


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
