"""What a judge is: something that looks at an edit and scores it, or says why it cannot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from medebench.cases.image import Picture
from medebench.cases.opened import OpenCase


@dataclass(frozen=True)
class Verdict:
    """One score of a judge: a value in 0-1, or the reason why there is none."""

    value: float | None
    reason: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)


@runtime_checkable
class Judge(Protocol):
    """`name` tells judge and version; `scores` are the metric names it writes to the ledger."""

    name: str
    summary: str
    stand_in: bool
    scores: tuple[str, ...]

    def judge(self, case: OpenCase, output: Picture) -> dict[str, Verdict]: ...
