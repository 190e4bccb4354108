"""The attempts at one output: what is kept of each, and which of them it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from medebench.images.picture import Picture
from medebench.models.tally import add_costs
from medebench.outputs import Output
from medebench.systems.composed.judge_opinion import Opinion


@dataclass(frozen=True)
class Attempt:
    """One try of the editor inside: a picture with the judge's opinion, or the reason why none."""

    instruction: str
    seed: int
    #: How the instruction was rewritten; None for the case's own.
    rewriter: dict[str, Any] | None = None
    made: Output | None = None
    #: On the case's grid, as the judge saw it.
    picture: Picture | None = None
    opinion: Opinion = field(default_factory=Opinion)
    reason: str | None = None
    #: What the editor inside told of a refusal.
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def ea(self) -> float | None:
        return self.opinion.ea

    @property
    def failure(self) -> str | None:
        """Why it has no picture or no score."""
        return self.reason or self.opinion.reason


def best_of(attempts: Sequence[Attempt], keep: str) -> int | None:
    """By accuracy, then quality, the earliest of equals; unscored ones only among themselves."""
    there = [number for number, one in enumerate(attempts) if one.made is not None]
    if not there:
        return None
    if keep == "last":
        return there[-1]

    def rank(number: int) -> tuple[float, float, int]:
        opinion = attempts[number].opinion
        ea = -1.0 if opinion.ea is None else opinion.ea
        return ea, -1.0 if opinion.vq is None or ea < 0 else opinion.vq, -number

    return max(there, key=rank)


def stuck(attempts: Sequence[Attempt]) -> bool:
    """The same words have failed for the same reason: a third time would be no better."""
    if len(attempts) < 2:
        return False
    before, latest = attempts[-2:]
    same_words = before.instruction == latest.instruction
    return latest.failure is not None and same_words and before.failure == latest.failure


def in_ledger(attempts: Sequence[Attempt]) -> dict[str, Any]:
    """All attempts; `picture` is the number under which an attempt's picture is kept."""
    told: list[dict[str, Any]] = []
    pictures = 0
    for one in attempts:
        entry: dict[str, Any] = {"instruction": one.instruction, "seed": one.seed}
        entry |= one.opinion.told()
        entry["picture"] = None if one.made is None else pictures
        pictures += one.made is not None
        if one.failure is not None:
            entry["reason"] = one.failure
        if one.rewriter is not None:
            entry["rewriter"] = one.rewriter
        entry |= {"inner": inner} if (inner := _inside(one)) else {}
        told.append(entry)
    costs = [one.opinion.cost for one in attempts]
    costs += [one.rewriter.get("cost", 0.0) for one in attempts if one.rewriter is not None]
    costs += [_inside(one).get("cost", 0.0) for one in attempts]
    return {"attempts": told, "cost": add_costs(costs)}


def _inside(attempt: Attempt) -> dict[str, Any]:
    """What the editor inside told of it."""
    return attempt.detail if attempt.made is None else attempt.made.detail
