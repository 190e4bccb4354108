"""What calls have cost, and what they would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Tally:
    """What a Caller has done so far."""

    calls: int = 0
    cached: int = 0
    #: Calls the server turned away as too many, and calls that were repeated for another reason.
    refused: int = 0
    repeated: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    #: US dollars by the servers' own counts; None as soon as one price is not known.
    cost: float | None = 0.0
    #: What calls may have cost whose answer never arrived (counted against the budget).
    lost: float = 0.0
    #: Answers that could not be written to the cache (a full disk): they would be paid again.
    unkept: int = 0


@dataclass(frozen=True)
class Plan:
    """What asking would take: calls, answers already cached, likely tokens and cost.

    `most` is the cost if `max_tokens` are used.
    """

    calls: int
    cached: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    most: float | None


def add_costs(amounts: list[float | None]) -> float | None:
    """The sum, or None where one of them is not known."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def add_plans(plans: Sequence[Plan]) -> Plan:
    return Plan(
        calls=sum(plan.calls for plan in plans),
        cached=sum(plan.cached for plan in plans),
        tokens_in=sum(plan.tokens_in for plan in plans),
        tokens_out=sum(plan.tokens_out for plan in plans),
        cost=add_costs([plan.cost for plan in plans]),
        most=add_costs([plan.most for plan in plans]),
    )
