"""An event loop in a thread of its own, so that synchronous code can have many calls in flight."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import warnings
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

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
