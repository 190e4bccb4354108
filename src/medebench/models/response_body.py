"""A server's response, read field by field: an invalid field counts as missing.

An answer was paid for when it arrived. Servers that speak a vendor's protocol nearly as it is
written differ most in what nobody needs (usage, names), and that must not cost the answer.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from medebench.models.fault import Fault

#: No model takes or writes more tokens in one call; a greater count is a mistake.
MOST_TOKENS = 100_000_000
#: Where a part of a message has its words; the last as {"text": {"value": "..."}}.
_WORDS = ("text", "content", "value")


def parse_body(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise Fault("broken", "the server's answer is not JSON") from None


class Body:
    """A JSON object of the answer; anything else has no fields."""

    def __init__(self, value: Any) -> None:
        self._fields: dict[str, Any] = value if isinstance(value, dict) else {}

    def get(self, name: str) -> Any:
        """In either spelling: finishReason, finish_reason."""
        if name in self._fields:
            return self._fields[name]
        return self._fields.get(re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name))

    def part(self, name: str) -> Body:
        return Body(self.get(name))

    def parts(self, name: str) -> list[Body]:
        value = self.get(name)
        return [Body(one) for one in value] if isinstance(value, list) else []

    def text(self, name: str) -> str:
        return text_of(self.get(name))

    def count(self, name: str) -> int | None:
        return count_of(self.get(name))


def count_of(value: Any) -> int | None:
    """A number of tokens, or None if it cannot be one."""
    if isinstance(value, str) and len(value) <= 20:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    good = math.isfinite(value) and 0 <= value <= MOST_TOKENS
    return int(value) if good else None


def text_of(value: Any) -> str:
    """The words of a message: a text, or a list of parts that hold texts, as dicts or objects."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(text_of, value))
    kind = field(value, "type")
    if isinstance(kind, str) and "text" not in kind:
        # A thought, a call of a tool: no part of the answer.
        return ""
    return next((text_of(found) for name in _WORDS if (found := field(value, name))), "")


def field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)
