"""Differences that are meant: what was defined anew since commit 43aabe7, and why.

A line of a comparison is expected if one of the patterns matches the whole of it. Anything else is
an error of the new tree, or a reason to add to this list what was decided.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
CHANGED = rf"{NUMBER} -> {NUMBER}"


class Expected(NamedTuple):
    what: str
    why: str
    patterns: tuple[str, ...]


#: Told once a sentence is the same but for the correlation that it quotes.
_UNLIKE = r"only a model can judge the edit: .*\(correlation -?\d\.\d\d\)"

#: Columns of a study's metrics that depend on which other metrics there are.
_AMONG = r"(p_holm|corrected_low|corrected_high|best_share|(behind|person_gap)(_low|_high)?)"
#: The same in words.
_NONE = r"No metric can be said to follow people here: .* after correct.*"

EXPECTED = (
    Expected(
        "metric roi_residual is new",
        "variant change-3, issue 16: the way left to the reference inside the ROI, also where the"
        " reference is another photograph; it can veto a success",
        (
            rf".*: scores .* roi_residual: no row -> {NUMBER}",
            r".*: scores .* roi_residual: no row -> reason '.*'",
            r"scores\.csv: row .* roi_residual: no such row -> there",
            r"printed/\d\d-export\.json: rows: \d+ -> \d+",
            r".*metrics\.csv: row .*roi_residual: no such row -> there",
        ),
    ),
    Expected(
        "metric roi_structure is defined anew",
        "variant change-3, issue 16: the best correlation of the positions up to 2/256 of the width"
        " away, so that a right edit a little beside its place is not called unlike",
        (
            rf".*: scores .* roi_structure: value: {CHANGED}",
            rf".*: scores .* success: detail evidence\.roi_structure: {CHANGED}",
            rf".*findings\.csv: row .*: (roi_structure|margin): {CHANGED}",
            rf"scores\.csv: row .* roi_structure: value: {CHANGED}",
            rf".*\.csv: row .*: (why|reason): {_UNLIKE} -> {_UNLIKE}",
            rf".*metrics\.csv: row .*roi_structure: \w+: {CHANGED}",
            rf".*\.json: .*metrics\.[^.]*roi_structure[^.]*\.\w+: {CHANGED}",
            rf"printed/\d\d-ground\.json: runs\.[^.]+\.reasons\.{_UNLIKE}: \d+ -> is gone",
        ),
    ),
    Expected(
        "metrics of a study beside each other",
        "one metric more (roi_residual) and another best one (roi_structure): what is corrected for"
        " their number, or measured from the best of them; rho and tau must be equal",
        (
            rf".*metrics\.csv: row .*: {_AMONG}: {CHANGED}",
            rf".*\.json: (.*\.)?metrics\.[^.]*\.{_AMONG}: {CHANGED}",
            rf".*\.json: .*answer\.\d+: {_NONE} -> {_NONE}",
        ),
    ),
    Expected(
        "intervals of the chance to be preferred",
        "issue 16: that of a mean, not a bootstrap's (`analysis/ordering.py`); the chance itself"
        " and the ranks must be equal",
        (
            rf".*standings\.csv: row .*: preferred_(low|high): {CHANGED}",
            rf".*\.json: (.*\.)?standings\.[^.]*\.preferred_(low|high): {CHANGED}",
        ),
    ),
    Expected(
        "intervals of differences",
        "issue 16: arms of unlike lean are no longer taken for alike (`analysis/difference.py`, k);"
        " the difference itself and the number of cases must be equal",
        (
            rf".*comparisons\.csv: row .*: (low|high|p|p_holm): {CHANGED}",
            rf".*\.json: (.*\.)?predictors\.[^.]+\.table\.loss\.\w+\.(low|high): {CHANGED}",
            rf".*table\.csv: row \S+ loss \w+: (low|high): {CHANGED}",
        ),
    ),
    Expected(
        "why there is no interval",
        "issue 16: below four source images there is none, and a word says so",
        (r".*\.(json|csv): .*\breason: None -> no interval: .*",),
    ),
    Expected(
        "a fact about a stress test has another name",
        "issue 17, names: the number that was asked for is equal",
        (r".*\.json: (.*\.)?how\.Edits\.edits asked for: .* -> is gone",),
    ),
    Expected(
        "counts of what was asked",
        "issue 18: `score` counts the scores and reasons that this command was asked for, not the"
        " whole ledger",
        (rf"printed/\d\d-score\.json: runs\.[^.]+\.(scored|of|reasons\..*): {CHANGED}",),
    ),
    Expected(
        "trials of a judge that did not answer",
        "issue 18: a call without an answer is no wrong answer",
        (
            rf"printed/\d\d-judge\.json: controls\.\d+\.of: {CHANGED}",
            r"printed/\d\d-judge\.json: controls\.\d+\.wrong\..*",
            r"printed/\d\d-judge\.json: reason: .* => the judge refused to answer .*",
        ),
    ),
    Expected(
        "rows of the basis 'asked' are new",
        "failures count as doing nothing; rows of what was delivered ('own', 'shared') must be"
        " equal",
        (r".*\.csv: row (.* )?asked .*: no such row -> there",),
    ),
)


def sort_out(lines: Iterable[str]) -> tuple[list[str], Counter[Expected]]:
    """What nobody expects, and how many lines each expectation explains."""
    left, explained = [], Counter[Expected]()
    for line in lines:
        found = next((one for one in EXPECTED if _fits(one, line)), None)
        if found is None:
            left.append(line)
        else:
            explained[found] += 1
    return left, explained


def _fits(expected: Expected, line: str) -> bool:
    return any(re.fullmatch(pattern, line, re.DOTALL) for pattern in expected.patterns)
