"""Work side by side on several devices, a process for each: one that crashes ends its work alone.

The processes are started anew (spawned), stay for one piece of work after the other, since loading
libraries takes seconds, and end at once when the process that started them is gone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Protocol

from medebench.errors import InputError, MedebenchError, one_line
from medebench.parallel import core_count
from medebench.progress import Progress

#: Between two words about how far a piece of work is.
_TELL_SECONDS = 0.5
#: How long a process that is told to end may take before it is ended.
_END_SECONDS = 5.0


class Job(Protocol):
    """A piece of work that can be pickled; what it finds it writes down itself."""

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int:
        """How much work it is, in the unit of its progress."""

    def do(self, device: str, threads: int, progress: Progress) -> None: ...


@dataclass(frozen=True)
class Place:
    """Where one process computes."""

    #: As torch calls it in that process: `cpu`, `cuda`, `mps`.
    device: str
    threads: int
    #: Of several GPUs the one that the process sees; None: it sees none.
    gpu: int | None = None


def find_places(devices: str = "", workers: int | None = None) -> list[Place]:
    """The places that `cpu`, `cuda:0,cuda:1`, ... stand for; all GPUs, else the CPU, by default.

    `workers` processes share the cores of the CPU: two where there are two cores.
    """
    cores = core_count()
    names = [one.strip() for one in devices.split(",") if one.strip()] or _default_names()
    if names == ["cpu"]:
        count = workers or min(2, cores)
        return [Place("cpu", max(1, cores // count))] * count
    if workers is not None:
        raise InputError("workers: is for the CPU; on GPUs there is a process for each")
    if len(set(names)) != len(names) or "cpu" in names:
        raise InputError(f"devices: '{devices}': cpu, or GPUs, each named once (cuda:0,cuda:1)")
    return [_gpu(name, max(1, cores // len(names))) for name in names]


def _default_names() -> list[str]:
    from medebench.device import is_installed

    if is_installed("torch"):
        import torch

        if torch.cuda.is_available():
            return [f"cuda:{number}" for number in range(torch.cuda.device_count())]
        if torch.backends.mps.is_available():
            return ["mps"]
    return ["cpu"]


def _gpu(name: str, threads: int) -> Place:
    import torch

    kind, _, number = name.partition(":")
    if kind == "mps" and not number and torch.backends.mps.is_available():
        return Place("mps", threads)
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if kind != "cuda" or not (number or "0").isdecimal() or int(number or 0) >= there:
        found = ", ".join(f"cuda:{one}" for one in range(there)) or "no GPU, only cpu"
        raise InputError(f"devices: no '{name}' here; there is {found}")
    return Place("cuda", threads, int(number or 0))


class _Process:
    """A process and the work it has."""

    def __init__(self, place: Place) -> None:
        context = multiprocessing.get_context("spawn")
        self.place = place
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=_serve, args=(theirs, place))
        self.process.start()
        theirs.close()
        self.job: Job | None = None
        self.done = 0

    def give(self, job: Job) -> None:
        self.job, self.done = job, 0
        self.pipe.send(job)

    def end(self) -> None:
        self.pipe.close()
        self.process.join(0 if self.job else _END_SECONDS)
        for how in (self.process.terminate, self.process.kill):
            if self.process.is_alive():
                how()
                self.process.join(_END_SECONDS)


def in_processes(
    jobs: Sequence[Job], places: Sequence[Place], progress: Progress
) -> Generator[tuple[Job, str | None], None, None]:
    """Each piece of work when it is done, with the reason where it failed.

    Closing the generator, or Ctrl-C, ends the processes: what they had begun is continued later.
    """
    todo, total, finished = deque(jobs), sum(one.size for one in jobs), 0
    running: list[_Process] = []
    progress(0, total)
    try:
        for place in places[: len(jobs)]:
            running.append(_Process(place))
            running[-1].give(todo.popleft())
        while busy := [one for one in running if one.job is not None]:
            # Not for ever: a Ctrl-C is seen only between waits.
            wait([one.pipe for one in busy], timeout=_TELL_SECONDS)
            for one in busy:
                job = one.job
                assert job is not None
                said = _said(one)
                if isinstance(said, int):
                    one.done = min(said, job.size)
                elif said is not None:
                    finished += job.size
                    one.job, one.done = None, 0
                    dead = said[0] == "died"
                    if dead:
                        one.end()
                        running.remove(one)
                    if todo:
                        if dead:
                            running.append(_Process(one.place))
                        (running[-1] if dead else one).give(todo.popleft())
                    yield job, said[1] or None
            progress(finished + sum(one.done for one in running), total)
    finally:
        for one in running:
            one.end()


def _said(one: _Process) -> int | tuple[str, str] | None:
    """The last word of a process: how far it is, or how its work ended."""
    said: int | tuple[str, str] | None = None
    try:
        while one.pipe.poll():
            said = one.pipe.recv()
            if not isinstance(said, int):
                return said
    except (EOFError, OSError):
        one.process.join(_END_SECONDS)
        return "died", _death(one.process.exitcode)
    return said


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        more = "; perhaps memory ran out" if name == "SIGKILL" else ""
        return f"its process was ended ({name}{more})"
    return f"its process ended with {code}"


def _serve(pipe: Connection, place: Place) -> None:
    """The life of a process; it hears of Ctrl-C from the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _settle(place)
    while True:
        try:
            job: Job = pipe.recv()
        except (EOFError, OSError):
            return
        last = 0.0

        def tell(done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last >= _TELL_SECONDS:
                last = time.monotonic()
                pipe.send(done)

        reason = ""
        try:
            job.do(place.device, place.threads, tell)
        except MedebenchError as error:
            reason = one_line(str(error))
        except BaseException as error:
            if os.environ.get("MEDEBENCH_DEBUG"):
                traceback.print_exc()
            reason = one_line(f"{type(error).__name__}: {error}")
        pipe.send(("done", reason))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        # Nobody is left who would take what comes out; checkpoints are whole at any moment.
        os._exit(1)


def _settle(place: Place) -> None:
    """See one device, and keep to the share of the cores."""
    if place.gpu is not None:
        shown = [one for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one]
        os.environ["CUDA_VISIBLE_DEVICES"] = shown[place.gpu] if shown else str(place.gpu)
    elif place.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(place.threads)
    # Threads that wait for each other by counting would take the cores from whoever has work.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import cv2

    from medebench.device import is_installed

    cv2.setNumThreads(place.threads)
    if is_installed("tqdm"):
        # The lock of its own is shared between processes: Python complains of it as left behind
        # when this one is ended.
        bars: Any = import_module("tqdm")
        bars.tqdm.set_lock(threading.RLock())
    if is_installed("torch"):
        import torch

        torch.set_num_threads(place.threads)
