"""The executor for work that releases the interpreter's lock, or waits for somebody else."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Iterator

from medebench.engine.stages import Item, Row, Stage
from medebench.parallel import core_count, in_parallel

#: Items under way or waiting for their turn, per thread.
AHEAD = 3


class Threads:
    """Threads that share one worker. In order, unless rows must not wait for a slow item."""

    def __init__(self, workers: int | None = None, *, ordered: bool = True) -> None:
        self.count = workers or core_count()
        self._ordered = ordered

    def run(
        self, stage: Stage[Item, Row], items: Iterable[Item]
    ) -> Generator[list[Row], None, None]:
        worker = stage.open()
        room = threading.Semaphore(AHEAD * self.count)
        ended = threading.Event()

        def numbered() -> Iterator[tuple[int, Item]]:
            for number, item in enumerate(items):
                while not room.acquire(timeout=0.1):
                    if ended.is_set():
                        return
                yield number, item

        def work(one: tuple[int, Item]) -> tuple[int, list[Row]]:
            return one[0], list(worker.do([one[1]]))

        results = in_parallel(work, numbered(), self.count)
        early: dict[int, list[Row]] = {}
        following = 0
        try:
            for number, rows in results:
                early[number] = rows
                while early and (following in early or not self._ordered):
                    ready = early.pop(following if self._ordered else number)
                    following += 1
                    room.release()
                    yield ready
        finally:
            ended.set()
            results.close()
            worker.close()
