"""Executors by name."""

from __future__ import annotations

from medebench.engine.processes import Processes
from medebench.engine.stages import Executor
from medebench.engine.threads import Threads
from medebench.errors import InputError

EXECUTORS = ("threads", "processes")


def find_executor(name: str, workers: int | None = None, *, ordered: bool = True) -> Executor:
    if name == "threads":
        return Threads(workers, ordered=ordered)
    if name == "processes":
        return Processes(workers)
    raise InputError(f"executor '{name}': choose {' or '.join(EXECUTORS)}")
