"""Saves of many people in one transaction.

Making sure that the disk has it is what takes long in a save. While one transaction waits for the
disk, the next saves gather, and all of them wait once.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future

from medebench.errors import MedebenchError
from medebench.study.server.answer_store import Store
from medebench.study.server.database import DatabaseError
from medebench.study.server.stored_answers import Outcome, Save

_MOST = 256
_Job = tuple[Save, "Future[Outcome]"]


class Writer:
    """A thread that saves; a future is done when its answer is on disk."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._ended = False
        self._thread = threading.Thread(target=self._work, name="study-writer", daemon=True)
        self._thread.start()

    def submit(self, save: Save) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        with self._lock:
            if self._ended:
                raise MedebenchError("the server is ending; try again")
            self._jobs.put((save, future))
        return future

    def close(self) -> None:
        """Finish what was submitted."""
        with self._lock:
            if not self._ended:
                self._ended = True
                self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while True:
            batch, last = self._take()
            if batch:
                self._save(batch)
            if last:
                return

    def _take(self) -> tuple[list[_Job], bool]:
        batch: list[_Job] = []
        job = self._jobs.get()
        while job is not None:
            # From here on a client that went away cannot withdraw it any more.
            if job[1].set_running_or_notify_cancel():
                batch.append(job)
            if len(batch) == _MOST:
                return batch, False
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _save(self, batch: list[_Job]) -> None:
        try:
            outcomes = self._store.save_all([save for save, _ in batch])
        except Exception as error:
            if len(batch) == 1 or isinstance(error, DatabaseError):
                for _, future in batch:
                    future.set_exception(error)
            else:
                # One that the database refuses takes no other along.
                for job in batch:
                    self._save([job])
            return
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            future.set_result(outcome)
