"""Numbers and names as a study says them in its sentences."""

from __future__ import annotations

import math

from medebench.analysis.estimate import Estimate
from medebench.analysis.interval import Interval
from medebench.errors import one_line
from medebench.judge.score_names import judge_of
from medebench.page.number import NONE, between, counted, number, percent_between
from medebench.page.score_columns import Score


def ends(interval: Interval | None) -> str:
    """ "0.71 to 0.85", or nothing where there is no interval."""
    return between(interval, link=" to ")


def percent_ends(interval: Interval | None) -> str:
    """ "71 to 85 %"."""
    return percent_between(interval, link=" to ")


def about(one: Estimate, noun: str = "") -> str:
    """ "0.79 (0.71 to 0.85, 52 of 60 cases)"."""
    some = "" if one.n == one.of else f"{one.n:,} of "
    extent = f"{some}{counted(one.of, noun)}" if noun else ""
    inside = ", ".join(filter(None, [ends(one.interval) or "no interval", extent]))
    return f"{number(one.value)} ({inside})"


def places(interval: Interval | None) -> str:
    """ "1" or "1 to 3"; a place between two is rounded outwards.

    >>> places(Interval(1.0, 2.5))
    '1 to 3'
    """
    if interval is None:
        return NONE
    low, high = math.floor(interval.low), math.ceil(interval.high)
    return f"{low}" if low == high else f"{low} to {high}"


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
