"""The executor of processes: the proof that stages travel, and a way around the interpreter's lock.

A stage is pickled once and opened in each process; items go there and rows come back as plain data.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.util import Finalize
from typing import Any

from medebench.engine.stages import Item, Row, Stage, Worker
from medebench.errors import InputError, MedebenchError
from medebench.parallel import core_count

#: Items under way or waiting for their turn, per process.
AHEAD = 3

_packed: bytes = b""
_worker: Worker[Any, Any] | None = None


class Processes:
    def __init__(self, workers: int | None = None) -> None:
        self.count = workers or core_count()

    def run(
        self, stage: Stage[Item, Row], items: Iterable[Item]
    ) -> Generator[list[Row], None, None]:
        try:
            packed = pickle.dumps(stage)
        except MedebenchError:
            raise
        except Exception as error:
            raise InputError(f"executor 'processes': it cannot be pickled: {error}") from error
        pool = ProcessPoolExecutor(
            self.count,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_arrive,
            initargs=(packed,),
        )
        waiting: deque[Future[list[Row]]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(_do, item))
                if len(waiting) >= AHEAD * self.count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise MedebenchError(
                "executor 'processes': a process died before its work was done; a script must call "
                "medebench under `if __name__ == '__main__':`, and memory must suffice for "
                f"{self.count} processes (--workers)"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _arrive(packed: bytes) -> None:
    global _packed
    _packed = packed
    # Ctrl-C is for the process that writes: it ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _do(item: Any) -> list[Any]:
    """Opened with the first item, so that what is wrong is raised where the work was asked for."""
    global _worker
    if _worker is None:
        stage: Stage[Any, Any] = pickle.loads(_packed)
        _worker = stage.open()
        Finalize(_worker, _worker.close, exitpriority=10)
    return list(_worker.do([item]))
