"""Numbers, counts and names as people read them; the same in sentences, tables and figures."""

from __future__ import annotations

import math
from collections.abc import Iterable

from medebench.analysis.interval import Interval

#: What is printed where there is no number.
NONE = "–"


def finite(value: float | None) -> float | None:
    """The number itself; what is not one must not get into a table."""
    if value is not None and not math.isfinite(value):
        raise ValueError(f"{value} is not a result; a missing number is None with a reason")
    return value


def number(value: float | None, decimals: int = 2, *, signed: bool = False) -> str:
    """The number with a real minus, and never a sign before zero.

    >>> number(-0.001), number(-0.25), number(0.25, 1, signed=True), number(None)
    ('0.00', '−0.25', '+0.2', '–')
    """
    if finite(value) is None:
        return NONE
    text = f"{value:{'+' if signed else ''}.{decimals}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "−")


def between(
    interval: Interval | tuple[float, float] | None,
    decimals: int = 2,
    *,
    signed: bool = False,
    link: str = "–",
) -> str:
    """Both ends, or nothing where there is no interval. A dash beside a minus would be unclear.

    >>> between((0.71, 0.8)), between((-0.05, 0.1)), between(None)
    ('0.71–0.80', '−0.05 to 0.10', '')
    """
    if interval is None:
        return ""
    low, high = (number(end, decimals, signed=signed) for end in interval)
    return f"{low}{' to ' if signed or '−' in low + high else link}{high}"


def percent(value: float | None) -> str:
    """A share as a percentage; a share that is not all is never shown as 100 %.

    >>> percent(0.996), percent(1.0), percent(0.001), percent(0.5)
    ('> 99 %', '100 %', '< 1 %', '50 %')
    """
    if finite(value) is None or value is None:
        return NONE
    whole = round(100 * value)
    if whole == 100 and value < 1:
        return "> 99 %"
    if whole == 0 and value > 0:
        return "< 1 %"
    return f"{whole} %"


def percent_between(interval: Interval | None, *, link: str = "–") -> str:
    """ "71–85 %", or nothing where there is no interval."""
    if interval is None:
        return ""
    return between((100 * interval.low, 100 * interval.high), 0, link=link) + " %"


def p_value(p: float | None) -> str:
    """ "p 0.003", "p < 0.001", or nothing where there was no test."""
    if finite(p) is None or p is None:
        return ""
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}" if p < 0.1 else f"p {p:.2f}"


def counted(count: int, noun: str) -> str:
    """ "1 case", "52 cases", "1,200 people"."""
    if noun == "person":
        return f"{count:,} {'person' if count == 1 else 'people'}"
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(words: Iterable[str], most: int = 3) -> str:
    """Names for a sentence; of many the first, and how many more there are.

    >>> listed("abc"), listed("abcdefg")
    ('a, b and c', 'a, b, c and 4 more')
    """
    every = list(words)
    if len(every) > most + 1:
        return f"{', '.join(every[:most])} and {len(every) - most} more"
    return "".join(every) if len(every) < 2 else f"{', '.join(every[:-1])} and {every[-1]}"
