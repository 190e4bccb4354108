"""Numbers and names as people read them; the same in sentences, tables and figures."""

from __future__ import annotations

import math
from collections.abc import Sequence

from medebench.analysis.interval import Interval
from medebench.analysis.ranked import Estimate
from medebench.errors import one_line
from medebench.report.facts import Score, judge_of

#: What is printed where there is no number.
NONE = "–"


def finite(value: float | None) -> float | None:
    """The number itself; what is not one must not get into a table."""
    if value is not None and not math.isfinite(value):
        raise ValueError(f"{value} is not a result; a missing number is None with a reason")
    return value


def number(value: float | None, decimals: int = 2) -> str:
    """The number with a real minus, and never a minus before zero.

    >>> number(-0.001), number(-0.25), number(None)
    ('0.00', '−0.25', '–')
    """
    if finite(value) is None:
        return NONE
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


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


def ends(interval: Interval | None, decimals: int = 2) -> str:
    """ "0.71 to 0.85", or nothing where there is no interval."""
    if interval is None:
        return ""
    return f"{number(interval.low, decimals)} to {number(interval.high, decimals)}"


def percent_ends(interval: Interval | None) -> str:
    """ "71 to 85 %"."""
    if interval is None:
        return ""
    low, high = (finite(end) for end in interval)
    assert low is not None and high is not None
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def between(one: Estimate, noun: str = "", decimals: int = 2) -> str:
    """ "0.79 (0.71 to 0.85, 52 of 60 cases)"."""
    extent = ""
    if noun:
        every = one.n if one.n == one.of else one.of
        extent = f"{counted(one.n, noun)}" if one.n == one.of else ""
        extent = extent or f"{one.n:,} of {counted(every, noun)}"
    inside = ", ".join(filter(None, [ends(one.interval, decimals) or "no interval", extent]))
    return f"{number(one.value, decimals)} ({inside})"


def p_words(p: float | None) -> str:
    """ "p 0.003", "p < 0.001", or nothing where there was no test."""
    if finite(p) is None or p is None:
        return ""
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}" if p < 0.1 else f"p {p:.2f}"


def places(interval: Interval | None) -> str:
    """ "1" or "1 to 3"; a place between two is rounded outwards.

    >>> places(Interval(1.0, 2.5))
    '1 to 3'
    """
    if interval is None:
        return NONE
    low, high = math.floor(interval.low), math.ceil(interval.high)
    return f"{low}" if low == high else f"{low} to {high}"


def counted(count: int, noun: str) -> str:
    """ "1 case", "52 cases", "1,200 people"."""
    if noun == "person":
        return f"{count:,} {'person' if count == 1 else 'people'}"
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def pictures(count: int, known: bool = True) -> str:
    """ "48 source pictures"; where nobody knows which cases share one, "48 cases"."""
    return counted(count, "source picture" if known else "case")


def listed(words: Sequence[str], most: int = 3) -> str:
    """ "a, b and c"; of many the first, and how many more there are."""
    if len(words) > most + 1:
        return f"{', '.join(words[:most])} and {len(words) - most} more"
    return "".join(words) if len(words) < 2 else f"{', '.join(words[:-1])} and {words[-1]}"


def code(name: str) -> str:
    """The name of a metric in a sentence; a page shows what is between these marks as code."""
    return f"`{one_line(name, 90).replace('`', chr(39))}`"


def model(name: str) -> str:
    """The name of a model or of a person in a sentence."""
    return plain(name, 90)


def plain(text: str, most: int = 200) -> str:
    """Text of others in a sentence, where backticks and ends of lines would mean something."""
    return one_line(text, most).replace("`", "'")


def metric_label(name: str, score: Score | None) -> str:
    """What a metric is called in a table; a judge's score names its judge."""
    if score is None:
        return name
    judge = judge_of(name) if score.judge else ""
    return score.label if not judge or judge in score.label else f"{score.label}, {judge}"
