"""A Caller that several systems may hold: what they spend is counted together."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from medebench.models import Caller


class SharedCaller:
    """Made when it is first needed; the last holder to close it closes the Caller."""

    def __init__(self, make: Callable[[], Caller]) -> None:
        self._make, self._lock = make, Lock()
        self._caller: Caller | None = None
        self._holders: set[int] = set()

    @property
    def is_open(self) -> bool:
        return self._caller is not None

    def open(self, holder: object) -> Caller:
        with self._lock:
            self._holders.add(id(holder))
            self._caller = self._caller or self._make()
            return self._caller

    def close(self, holder: object) -> None:
        with self._lock:
            self._holders.discard(id(holder))
            if self._holders or self._caller is None:
                return
            caller, self._caller = self._caller, None
        caller.close()
