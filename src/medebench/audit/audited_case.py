"""A case as the audit knows it once its files have been read."""

from __future__ import annotations

from dataclasses import dataclass

from medebench.audit.file_facts import FileFacts
from medebench.audit.pair_checks import NO_PAIR, PairFacts
from medebench.cases.case import Case

#: Roles whose files are masks.
MASKS = ("roi", "keep")


@dataclass(frozen=True, slots=True)
class Seen:
    case: Case
    #: By role: previous, reference, roi, keep.
    files: dict[str, FileFacts]
    facts: PairFacts = NO_PAIR

    def sound(self, role: str) -> FileFacts | None:
        """The facts of a file that the case has and that could be read."""
        facts = self.files.get(role)
        return facts if facts is not None and facts.flaw is None else None
