"""A question as it is put to a judge: messages with places for pictures, and the answer's form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Slot:
    """The place of the picture or text of this role."""

    role: str


Part = str | Slot


@dataclass(frozen=True)
class Turn:
    """One message to the judge, and the schema of what it is to answer."""

    parts: tuple[Part, ...]
    schema: dict[str, Any]


@dataclass(frozen=True)
class Filled:
    """A rubric with a case put in: one turn, or two if the rubric says `calls: 2`."""

    system: str
    turns: tuple[Turn, ...]
    #: The scores that apply to this output; nothing else is asked, nor averaged.
    scores: tuple[str, ...] = ()
    #: By role, the neutral label it is shown under, where the rubric shuffles.
    labelled: Mapping[str, str] = field(default_factory=dict)

    @property
    def roles(self) -> tuple[str, ...]:
        """What is shown, in its order."""
        return tuple(p.role for turn in self.turns for p in turn.parts if isinstance(p, Slot))


def skeleton(differences: bool, keys: list[str], counts: bool) -> str:
    lines = ['  "differences": ["<one visible difference>", "<the next>"]'] if differences else []
    form = '{"reason": "<one or two sentences>", "score": <number>}'
    if counts:
        form = '{"reason": "<each error in a few words>", "score": <how many>}'
    lines += [f'  "{key}": {form}' for key in keys]
    return "{\n" + ",\n".join(lines) + "\n}"


def answer_schema(
    differences: bool, keys: list[str], low: int, top: int, counts: bool
) -> dict[str, Any]:
    """Only keywords that all servers with structured output accept: no minimum, no maximum.

    The range is checked when the answer is read. Reasons come before numbers, as models write in
    this order.
    """
    members: dict[str, Any] = {}
    if differences:
        members["differences"] = {"type": "array", "items": {"type": "string"}}
    for key in keys:
        kind = "integer" if counts else "number"
        number = {"type": kind, "description": f"from {low} to {top}"}
        members[key] = _object({"reason": {"type": "string"}, "score": number})
    return _object(members)


def _object(members: dict[str, Any]) -> dict[str, Any]:
    rest = {"required": list(members), "additionalProperties": False}
    return {"type": "object", "properties": members, **rest}
