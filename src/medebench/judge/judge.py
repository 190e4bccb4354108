"""What a judge is: something that looks at an output and scores it, or says why it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from medebench.cases.open_case import OpenCase
from medebench.images.picture import Picture
from medebench.models import Ask, Caller, Provider
from medebench.outputs import Output


@dataclass(frozen=True)
class Verdict:
    """One score of a judge: a value in 0-1, or the reason why there is none."""

    value: float | None
    reason: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Judgement:
    """All scores of one output; what stands beside them in the ledger is in their details."""

    verdicts: dict[str, Verdict]
    #: US dollars for calls made now; kept answers cost nothing.
    cost: float = 0.0
    priced: bool = True


@runtime_checkable
class Judge(Protocol):
    """`show` where the case is open, then `assess` wherever and whenever there is time to wait.

    `name` tells judge and version; `scores` are the metric names it writes to the ledger, and
    those of another `variant` do not count as done. `sees` names what it looks at of a case,
    `looks_at`, which may be left out, the parts that an output must have for it.
    """

    name: str
    summary: str
    stand_in: bool
    scores: tuple[str, ...]
    variant: str
    sees: tuple[str, ...]

    @property
    def client(self) -> Provider | None:
        """Who is asked; None: nobody, and `assess` does not wait."""
        ...

    def facts(self) -> dict[str, Any]:
        """What stands beside every score in the ledger."""
        ...

    def show(self, case: OpenCase, output: Output | Picture) -> Any:
        """What the judge is to see. Raises Undefined where case or output lack it."""
        ...

    def asks(self, shown: Any) -> Iterator[Ask]:
        """The calls to expect, for an estimate."""
        ...

    async def assess(self, shown: Any, caller: Caller | None = None) -> Judgement:
        """The verdicts; a `Fault` is for the caller to handle."""
        ...


def assess_now(judge: Judge, case: OpenCase, output: Output | Picture) -> Judgement:
    """The verdicts of a judge that asks nobody, without an event loop."""
    waiting = judge.assess(judge.show(case, output))
    try:
        waiting.send(None)
    except StopIteration as done:
        judgement: Judgement = done.value
        return judgement
    waiting.close()
    raise TypeError(f"judge {judge.name}: waits, but has no client to wait for")
