"""What calls have cost and would cost, and the tokens of a question before it is sent.

Those of pictures are each provider's own rule.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from medebench.models.ask import Ask


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


#: Above what the vendors count for English text.
BYTES_PER_TOKEN = 3.5
#: For roles and separators, per message.
OVERHEAD = 8


def text_tokens(ask: Ask) -> int:
    """Rather too many than too few."""
    texts = [ask.system, *(part for part in ask.parts if isinstance(part, str))]
    texts += [text for turn in ask.turns for text in (turn.said, turn.reply)]
    if ask.schema is not None:
        texts.append(json.dumps(ask.schema))
    return sum(math.ceil(len(text.encode()) / BYTES_PER_TOKEN) + OVERHEAD for text in texts)


def patches(width: float, height: float, side: int) -> int:
    """Squares of `side` pixels that cover a picture."""
    # A scaled side that is a hair above a whole number of them is rounding, not another one.
    return math.ceil(width / side - 1e-9) * math.ceil(height / side - 1e-9)
