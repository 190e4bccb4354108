"""`command:`: a worker process with an environment of its own works on case after case."""

from __future__ import annotations

import itertools
import queue
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from medebench.errors import NotReadyError, one_line
from medebench.files import read_bytes
from medebench.outputs import Output, Part
from medebench.settings import Settings as AnySettings
from medebench.systems.external import edit_protocol
from medebench.systems.external.external_settings import CommandSettings
from medebench.systems.request import NotTried, Refused, Request
from medebench.systems.system import Editor
from medebench.workers.command_line import fingerprint, problems_of, words_of
from medebench.workers.worker_process import Ended, Gone, Worker

#: An answer's file beyond this is not read.
LARGEST_ANSWER = 500_000_000
_FIRST_PAUSE = 0.2


@dataclass
class _Place:
    """Room for one worker process."""

    worker: Worker | None = None


class CommandEditor(Editor):
    """Starts the command once, tells it a case a line, and starts it anew when it dies."""

    summary = "a program of your own, with an environment of its own"
    Settings: ClassVar[type[AnySettings]] = CommandSettings
    rest = "command"
    needs = "a worker script (docs/workers.md)"
    example = "'command:timeout=60,python worker.py --size 512'"
    gives: tuple[Part, ...] = ("image", "text")

    def __init__(self, settings: CommandSettings) -> None:
        super().__init__(settings)
        self.gives = settings.parts
        self.at_once = settings.workers
        self.demonstrations = settings.demonstrations
        self._words = words_of(settings.command)
        self._free: queue.LifoQueue[_Place] = queue.LifoQueue()
        self._places = [_Place() for _ in range(settings.workers)]
        for place in self._places:
            self._free.put(place)
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._scratch: Path | None = None
        self._hopeless: str | None = None

    def problems(self) -> list[str]:
        return problems_of(self._words, self._started_in)

    def identity(self) -> str:
        """The scripts of the command; its words stand among the settings."""
        return fingerprint(self._words, self._started_in)

    def prepare(self) -> None:
        """Start a worker: one that cannot start ends the command, not each case alone."""
        self._hopeless = None
        place = self._free.get()
        try:
            self._worker(place)
        except NotTried as error:
            raise NotReadyError(str(error)) from error
        finally:
            self._free.put(place)

    def edit(self, request: Request) -> Output:
        edit_protocol.require_given(request, self.gives)
        place = self._free.get()
        try:
            return self._edit(place, request)
        finally:
            self._free.put(place)

    def close(self) -> None:
        """End all workers: kindly at first, then by force."""
        running = [place.worker for place in self._places if place.worker is not None]
        for place in self._places:
            place.worker = None
        for worker in running:
            worker.farewell()
        for worker in running:
            worker.end()
        with self._lock:
            scratch, self._scratch = self._scratch, None
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)

    def _told(self) -> Mapping[str, Any]:
        """What the worker gets as `settings`."""
        options: dict[str, Any] = self.settings.options
        return options

    def _instruction(self, request: Request) -> str:
        return request.instruction

    @property
    def _started_in(self) -> Path:
        return Path(self.settings.folder or ".").expanduser()

    def _edit(self, place: _Place, request: Request) -> Output:
        images = list(edit_protocol.pictures(request))
        # Before the folder: where no worker starts, nothing is left behind.
        worker = self._worker(place)
        if (needed := edit_protocol.version_for(request)) > worker.version:
            raise Refused(
                f"the worker speaks version {worker.version} of the protocol; texts, choices and "
                f"several images need version {needed} (docs/workers.md)"
            )
        folder = self._new_folder()
        try:
            message = self._message(request, images, folder, worker.version)
            answer = self._ask(place, worker, message)
            more = edit_protocol.introduced(worker.ready)
            edit_protocol.refuse_if_told(answer, more)
            data = _output(answer, folder, message["output"], "image" in request.gives)
            return edit_protocol.made(data, request, answer, more)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _ask(self, place: _Place, worker: Worker, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return worker.ask(message, self.settings.timeout)
        except Gone as gone:
            place.worker = None
            reason, stderr = f"the worker failed: {gone}", gone.stderr
        except Ended:
            raise NotTried("the worker was ended before it answered") from None
        except BaseException:
            # Interrupted: its answer would be taken for that of the next case.
            place.worker = None
            worker.end(0)
            raise
        raise Refused(one_line(reason), {"stderr": stderr} if stderr else {})

    def _worker(self, place: _Place) -> Worker:
        """The worker of this place, started if need be; NotTried if it cannot be."""
        if place.worker is not None:
            if place.worker.is_running:
                return place.worker
            # It ended between two cases, which is neither's fault.
            place.worker.end(0)
            place.worker = None
        last = ""
        for attempt in range(self.settings.max_restarts):
            if self._hopeless is not None:
                raise NotTried(self._hopeless)
            if attempt:
                time.sleep(_FIRST_PAUSE * 2**attempt)
            try:
                place.worker = worker = Worker(
                    self._words, self._started_in, edit_protocol.VERSIONS
                )
                worker.wait_until_ready(self.settings.start_timeout)
                return worker
            except Ended:
                raise NotTried("the worker was ended before it was ready") from None
            except Gone as gone:
                place.worker = None
                last = str(gone)
            except BaseException:
                if place.worker is not None:
                    place.worker.end(0)
                place.worker = None
                raise
            if last.startswith("not ready"):
                # What took too long once is not waited for again.
                break
        self._hopeless = one_line(f"the worker does not start: {last}")
        raise NotTried(self._hopeless)

    def _message(
        self, request: Request, images: list[tuple[str, bytes]], folder: Path, version: int
    ) -> dict[str, Any]:
        paths = []
        for number, (role, data) in enumerate(images):
            path = folder / (f"input_{number}.png" if number else "input.png")
            path.write_bytes(data)
            paths.append({"role": role, "path": str(path)})
        shown = []
        for number, (before, after, instruction) in enumerate(
            edit_protocol.demonstrated(request), 1
        ):
            pair = folder / f"before_{number}.png", folder / f"after_{number}.png"
            pair[0].write_bytes(before)
            pair[1].write_bytes(after)
            both = {"before": str(pair[0]), "after": str(pair[1])}
            shown.append({**both, "instruction": instruction})
        told = edit_protocol.describe(
            request, self._instruction(request), self._told(), version
        ) | {
            "image": paths[0]["path"] if paths else None,
            "output": str(folder / "output.png"),
            "demonstrations": shown,
        }
        return told if version == edit_protocol.VERSIONS[0] else told | {"images": paths}

    def _new_folder(self) -> Path:
        """A folder for the files of one case, in one that only we may read."""
        with self._lock:
            if self._scratch is None:
                self._scratch = Path(tempfile.mkdtemp(prefix="medebench-worker-")).resolve()
                weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)
            folder = self._scratch / str(next(self._numbers))
            folder.mkdir()
            return folder


def _output(
    answer: Mapping[str, Any], folder: Path, asked_for: str, is_wanted: bool
) -> bytes | None:
    """The bytes of the picture the worker wrote; a reason for everything else it may have done."""
    if answer.get("done") is not True:
        raise Refused("the worker's answer says neither done nor refused")
    if not is_wanted:
        return None
    named = answer.get("output", asked_for)
    if not isinstance(named, str) or "\0" in named:
        raise Refused("the worker's answer names no path as its output")
    path = (folder / named).resolve()
    if not path.is_relative_to(folder):
        raise Refused("the worker's output lies outside the folder it was given")
    if not path.is_file():
        raise Refused("the worker said it was done, but wrote no picture")
    if (size := path.stat().st_size) > LARGEST_ANSWER:
        raise Refused(f"the worker's picture has {size:,} bytes; {LARGEST_ANSWER:,} are read")
    try:
        return read_bytes(path, LARGEST_ANSWER)
    except OSError as error:
        raise Refused(f"the worker's picture cannot be read ({error.strerror})") from error
