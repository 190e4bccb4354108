"""Messages to and from workers: one JSON object each, of one version of the protocol."""

from __future__ import annotations

import json
from typing import Any

VERSION = 1


def parse(text: bytes | str) -> dict[str, Any] | None:
    """A JSON object, or None for whatever else it is."""
    try:
        # NaN and Infinity, which Python writes though JSON has none, have no place in a ledger.
        value = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def whole(text: str) -> str:
    """JSON escapes can spell half a character, which no file or database takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
