"""A Caller that several editors hold: what they spend is counted together."""

from __future__ import annotations

from threading import Lock

from medebench.clients import Caller


class Line:
    """Held by whoever made it and by those who joined; the last to leave closes it."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self._holders = 1
        self._lock = Lock()

    def join(self) -> bool:
        """False where everybody has left already."""
        with self._lock:
            if self._holders == 0:
                return False
            self._holders += 1
            return True

    def leave(self) -> None:
        with self._lock:
            self._holders -= 1
            is_last = self._holders == 0
        if is_last:
            self.caller.close()
