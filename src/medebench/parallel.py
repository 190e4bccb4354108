"""Work on all cores, a few items at a time.

Threads, not processes: decoding, resizing, encoding and our kernels all release the interpreter's
lock, so threads use every core without a second copy of anything and without start-up time.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Bytes of a picture below which threads are busier passing the lock on than with the picture.
TINY = 16_000
#: How long an interrupted run waits for work in flight before it leaves it behind.
GRACE_SECONDS = 3.0


def core_count() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def core_count_for(example: Path | None) -> int:
    """How many threads are worth it for files like this one."""
    try:
        return 1 if example is None or example.stat().st_size < TINY else core_count()
    except OSError:
        return core_count()


def in_parallel(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None
) -> Generator[Result, None, None]:
    """Results of `function(item)` as they are ready, in any order; at most 2 x workers in memory.

    An exception in `function` ends the iteration and is raised here. Closing the generator, or
    Ctrl-C, lets work in flight finish for a moment and then leaves it (the threads are daemons).
    """
    count = workers or core_count()
    todo: queue.Queue[Any] = queue.Queue(maxsize=count)
    done: queue.Queue[Any] = queue.Queue(maxsize=count)
    stop = threading.Event()

    def put(target: queue.Queue[Any], value: object) -> None:
        while not stop.is_set():
            try:
                target.put(value, timeout=0.1)
                return
            except queue.Full:
                continue

    def feed() -> None:
        try:
            for item in items:
                put(todo, item)
                if stop.is_set():
                    return
        except BaseException as error:
            put(done, ("error", error))
        for _ in range(count):
            put(todo, None)

    def work() -> None:
        while not stop.is_set():
            try:
                item = todo.get(timeout=0.1)
            except queue.Empty:
                continue
            if item is None:
                break
            try:
                put(done, ("result", function(item)))
            except BaseException as error:
                put(done, ("error", error))
        put(done, ("end", None))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(count)]
    threads.append(threading.Thread(target=feed, daemon=True))
    for thread in threads:
        thread.start()
    running = count
    try:
        while running:
            try:
                # Not for ever: a Ctrl-C that another thread received is seen only between waits.
                kind, value = done.get(timeout=0.5)
            except queue.Empty:
                continue
            if kind == "end":
                running -= 1
            elif kind == "error":
                raise value
            else:
                yield value
    finally:
        stop.set()
        deadline = time.monotonic() + GRACE_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
