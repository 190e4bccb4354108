"""How often a judge orders known answers rightly, as a table with intervals."""

from __future__ import annotations

import numpy as np

from medebench.analysis.estimate import Estimate, estimate
from medebench.analysis.shares import share
from medebench.page.number import number, percent, percent_between
from medebench.page.table import Cell, Column, Group, Row, Table
from medebench.runs.judge_controls import AnswerAudit, OrderResult


def ordered_rightly(result: OrderResult) -> Estimate:
    """Share of pairs with the reference ahead; its interval is over the images of the cases.

    A tie is no right order, nor is a pair that has a score for one of the two only.
    """
    if not result.pairs:
        return Estimate(reason="no case has such an answer")
    right = np.array([one.right for one in result.pairs])
    _, clusters = np.unique([one.source for one in result.pairs], return_inverse=True)
    return estimate(share(right, clusters, int(clusters.max()) + 1))


def judge_order_table(audit: AnswerAudit) -> Table:
    """A row for each kind of worse answer."""
    columns = [
        Column("worse answer", "left"),
        Column("reference ahead", better="higher"),
        Column("pairs"),
        Column("tied"),
        Column("worse ahead"),
        Column("not read"),
        Column("not answered"),
        Column("mean score"),
        Column("", "left"),
    ]
    rows = [_row(result) for result in audit.results]
    mean = number(audit.reference)
    notes = [
        "Reference ahead: share of pairs in which the judge holds the reference to be better than "
        "the worse answer to the same case; 95 % interval over source images.",
        f"Mean score of the references: {mean}.",
        *(f"{one.name}: {one.says}." for one in audit.results),
    ]
    return Table(columns, [Group(rows)], "Order of known answers", notes=notes)


def _row(result: OrderResult) -> Row:
    found = ordered_rightly(result)
    ends = percent_between(found.interval)
    ahead = Cell(percent(found.value), ends, value=found.value, reason=found.reason)
    wrong = len(result.pairs) - result.right - result.tied - result.unread
    counts = (len(result.pairs), result.tied, wrong, result.unread, result.unanswered)
    state = "passed" if result.passed else "FAILED" if result.pairs else "not tested"
    cells = [ahead, *(Cell(str(one), value=one) for one in counts)]
    mean = Cell(number(result.mean), value=result.mean)
    return Row(result.name, [*cells, mean, Cell(state)])
