"""What systems around another one share where they only change what it is asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from medebench.models.tally import Plan
from medebench.systems.request import Request
from medebench.systems.system import System
from medebench.systems.system_lookup import find_system


class Around(System):
    """A system that hands its requests on; the call of the one inside ends its own."""

    rest = "system"
    needs = "what the system inside needs"

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self._instance = find_system(settings.system)
        self._inner = self._instance.system
        self.sees, self.judged_by = self._inner.sees, self._inner.judged_by
        self.at_once = self._inner.at_once
        # A class attribute by its type; a control inside makes this one a control, too.
        self.__dict__["control"] = self._inner.control

    def problems(self) -> list[str]:
        return [f"{self._instance.name}: {one}" for one in self._inner.problems()]

    def prepare(self) -> None:
        self._inner.prepare()

    def close(self) -> None:
        self._inner.close()

    def share(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._inner.share(other._inner)

    def identity(self) -> str:
        return " ".join(filter(None, [self._instance.origin, self._inner.identity()]))

    def written_inner(self) -> tuple[dict[str, Any], dict[str, Any]]:
        inner = {"name": self._instance.name, "settings": self._instance.settings}
        return {"system": inner}, self._instance.runtime_only

    def estimate(self, requests: Iterable[Request]) -> Plan | None:
        return self._inner.estimate(requests)
