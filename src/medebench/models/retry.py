"""When to retry: when the server says, otherwise with exponential backoff and jitter."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

FIRST_WAIT = 0.5
LONGEST_OWN_WAIT = 30.0


@dataclass(frozen=True)
class Limits:
    """All limits of a Caller in one place."""

    #: Seconds for one call, from sending to the last byte.
    timeout: float = 120.0
    #: Calls for one ask that may fail by fault of server or network.
    attempts: int = 6
    #: Calls for one ask that may be turned away for being too many; these cost nothing.
    refusals: int = 40
    #: A server that asks for a longer wait is not waited for.
    longest_wait: float = 180.0
    #: Seconds for everything, from the first ask on.
    deadline: float | None = None
    #: Calls in flight: to begin with, and at the very most.
    start: int = 8
    most: int = 64


def parse_retry_after(
    value: str | None, milliseconds: str | None = None, now: float | None = None
) -> float | None:
    """Seconds to wait, from seconds or an HTTP date (or OpenAI's milliseconds); None if neither."""
    if (exact := _number(milliseconds)) is not None:
        return exact / 1000
    if (seconds := _number(value)) is not None:
        return seconds
    if not value:
        return None
    try:
        moment = parsedate_to_datetime(value)
        left = moment.timestamp() - (time.time() if now is None else now)
    except (TypeError, ValueError, OverflowError, OSError, IndexError):
        return None
    return max(0.0, left)


def _number(text: str | None) -> float | None:
    text = (text or "").strip()
    if not text.isascii() or len(text) > 12 or not text.replace(".", "", 1).isdecimal():
        return None
    return float(text)


def pause(attempt: int, wait: float | None, chance: random.Random) -> float:
    """Seconds before attempt number `attempt` + 1; never less than the server asked for."""
    if wait is not None:
        # A little later than told, each call at another moment.
        return wait + chance.uniform(0.0, min(1.0, 0.05 + 0.2 * wait))
    ceiling = min(LONGEST_OWN_WAIT, FIRST_WAIT * 2.0 ** min(attempt, 10))
    return chance.uniform(0.3 * ceiling, ceiling)
