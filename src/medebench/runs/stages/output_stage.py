"""What the stages of a run have in common: they see outputs one at a time, decoded for all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medebench.models import Caller
from medebench.runs.failed_calls import Failures
from medebench.runs.ledger import AnyRow, Ledger, ScoreRow, SetRow
from medebench.runs.run_folder import Run
from medebench.runs.visits import Opened, Target


@dataclass(frozen=True)
class Held:
    """What waits for a device or a model; nothing of the pictures but what that needs."""

    item: Any


@dataclass(frozen=True)
class NotDone:
    """It was not even tried, and not for a fault of the case's: nothing is written about it."""

    reason: str


Found = AnyRow | Held | NotDone
#: Rows that are written together, each with the number of its run.
Rows = list[tuple[int, AnyRow | NotDone]]


class OutputStage(ABC):
    """A stage of `drive`, and its own worker: what it names it finds where it is used.

    It travels without the attributes that `at_home` names.
    """

    at_home: frozenset[str] = frozenset()
    #: The scores it writes; one of another variant than the one named here does not count.
    wanted: Mapping[str, str | None] = {}
    #: The part of the output it works on ("image", "text", "output": any of them, "": none);
    #: without it its scores are the reason why.
    needs = "image"

    def __getstate__(self) -> dict[str, Any]:
        return {name: one for name, one in self.__dict__.items() if name not in self.at_home}

    def wants(self, target: Target, sha: str | None) -> Sequence[str]:
        """What there is to do about an output whose file has this hash: the scores it lacks."""
        return [name for name, variant in self.wanted.items() if target.lacks(name, sha, variant)]

    @abstractmethod
    def do(self, opened: Opened, names: Sequence[str]) -> Iterable[Found]:
        """What it wanted; on any thread, in any process."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Let go of what was found where it was used."""

    def conclude(
        self, index: int, run: Run, ledger: Ledger, failures: Failures
    ) -> Sequence[ScoreRow | SetRow]:
        """What follows for a run once all its outputs were seen."""
        return ()


class DeviceStage(OutputStage):
    """Held items go on in batches, on the thread that writes: a device has one owner."""

    @abstractmethod
    def is_full(self, waiting: Sequence[Any]) -> bool:
        """Whether these are enough for one go; asked after each case."""

    @abstractmethod
    def finish(self, items: Sequence[Any]) -> Iterator[Rows]: ...

    def release(self) -> None:
        """Let go of the device."""


class ModelStage(OutputStage):
    """Held items go on to a model that is asked about them."""

    @abstractmethod
    def caller(self) -> Caller: ...

    @abstractmethod
    async def ask(self, caller: Caller, item: Any) -> Rows: ...

    @abstractmethod
    def failed(self, item: Any, reason: str, not_asked: bool) -> Rows:
        """What is written of an item whose call failed."""
