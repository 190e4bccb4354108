"""When something happened, as it is written down."""

from __future__ import annotations

from datetime import datetime, timezone


def now() -> str:
    """UTC, to the millisecond; later times are later in the alphabet."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
