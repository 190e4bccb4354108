"""Calls that failed in one command, which then ends with 1.

Not those of an earlier command, whose reasons are in the ledger already, and no score that is
undefined by definition: nobody was asked in vain for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from medebench.reason import kind_of
from medebench.runs.ledger import OutputRow, ScoreRow

#: The kinds of reason of a metric or a judge that broke down.
BROKE = ("error", "impossible")


class Failures(Counter[str]):
    """Why calls of editors, judges and metrics failed, and how often."""

    def note(self, rows: Iterable[OutputRow | ScoreRow]) -> None:
        """Every reason among `rows`; once an output, however many scores it lacks for it."""
        self.update(reason for _, reason in {(_key(row), row.reason) for row in rows} if reason)

    def note_broken(self, rows: Iterable[OutputRow | ScoreRow]) -> None:
        """The same of those reasons that tell of a breakdown."""
        self.note(row for row in rows if row.reason and kind_of(row.reason) in BROKE)

    def note_set(self, left_out: Mapping[str, int], reasons: Iterable[str | None]) -> None:
        """Breakdowns of a score of a set: over single outputs, and over the whole."""
        self.update({one: n for one, n in left_out.items() if kind_of(one) in BROKE})
        self.update(one for one in reasons if one and kind_of(one) in BROKE)

    def in_words(self, noun: str, of: str = "") -> str:
        """ "12 calls of a judge failed in this command, 9 of them: HTTP 500: out of memory"."""
        reason, count = self.most_common(1)[0]
        total = sum(self.values())
        often = "" if count == total else f", {count} of them"
        plural = "" if total == 1 else "s"
        return f"{total} {noun}{plural}{of} failed in this command{often}: {reason}"


def _key(row: OutputRow | ScoreRow) -> tuple[str, int]:
    return row.case_id, row.k
