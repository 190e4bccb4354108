"""A user's system, metric or judge in a stage: its name travels, the thing is found again there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from medebench.errors import InputError

Thing = TypeVar("Thing")


class Named(Generic[Thing]):
    """`call` is None for an object that has no name; it works here and nowhere else."""

    def __init__(
        self, call: str | None, find: Callable[..., Any], thing: Thing | None = None
    ) -> None:
        self.call, self._find, self._thing = call, find, thing
        #: Whether it was found here, so that whoever uses it must also let go of it.
        self.travelled = thing is None

    @property
    def thing(self) -> Thing:
        if self._thing is None:
            assert self.call is not None
            found: Thing = self._find(self.call)
            self._thing = found
        return self._thing

    def __reduce__(self) -> tuple[Any, ...]:
        self.require_name()
        return Named, (self.call, self._find)

    def require_name(self) -> None:
        """Before any work: what cannot travel is refused."""
        if self.call is None:
            name = getattr(self._thing, "name", type(self._thing).__name__)
            raise InputError(
                f"executor 'processes': '{name}' was given as an object, which cannot travel; "
                "give its name or file.py:Name, or use executor 'threads'"
            )
