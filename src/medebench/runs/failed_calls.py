"""Calls that failed in one command, which then ends with 1.

Not those of an earlier command, whose reasons are in the ledger already, and no score that is
undefined by definition: nobody was asked in vain for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from medebench.reason import kind_of
from medebench.reason_groups import group_reasons
from medebench.runs.ledger import OutputRow, ScoreRow

#: The kinds of reason of a metric or a judge that broke down.
BROKE = ("error", "impossible")
#: How the reasons of `medebench.runs.visits` begin where an output is lost that was made; one that
#: was never made ("no output") failed in the command that was to make it.
LOST = ("the output file is missing", "unreadable output", "the case has changed")


def is_lost(reason: str) -> bool:
    """Whether an output is lost or damaged; an undefined score of a good one is no failure."""
    return reason.startswith(LOST)


def _is_broken(reason: str) -> bool:
    return kind_of(reason) in BROKE or is_lost(reason)


class Failures(Counter[str]):
    """Why calls of editors, judges and metrics failed, and how often.

    An output that a metric found lost counts as well, in the command that found it.
    """

    #: Names of the scores that the command was asked for.
    asked: frozenset[str] = frozenset()

    def note(self, rows: Iterable[OutputRow | ScoreRow]) -> None:
        """Every reason among `rows`; once an output, however many scores it lacks for it.

        A score that is not about outputs of this kind was not asked for.
        """
        told = {(_key(row), row.reason) for row in rows if row.reason}
        self.update(reason for _, reason in told if reason and kind_of(reason) != "not-applicable")

    def note_broken(self, rows: Iterable[OutputRow | ScoreRow]) -> None:
        """The same of those reasons that tell of a breakdown."""
        self.note(row for row in rows if row.reason and _is_broken(row.reason))

    def note_set(self, left_out: Mapping[str, int], reasons: Iterable[str | None]) -> None:
        """Breakdowns of a score of a set: over single outputs, and over the whole."""
        self.update({one: n for one, n in left_out.items() if _is_broken(one)})
        self.update(one for one in reasons if one and _is_broken(one))

    def in_words(self, noun: str, of: str = "") -> str:
        """ "12 calls of a judge failed in this command, 9 of them: HTTP 500: out of memory"."""
        if all(map(is_lost, self)):
            noun, of = "output", ""
        most = max(group_reasons(self.items()), key=lambda one: one.count)
        total = sum(self.values())
        often = "" if most.count == total else f", {most.count} of them"
        plural = "" if total == 1 else "s"
        return f"{total} {noun}{plural}{of} failed in this command{often}: {most.words}"


def _key(row: OutputRow | ScoreRow) -> tuple[str, int]:
    return row.case_id, row.k
