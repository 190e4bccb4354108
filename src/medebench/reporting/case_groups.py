"""The groups of cases that tables break results down by, as the page names them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from medebench.cases import Case
from medebench.runs.ledger import CaseRow
from medebench.tasks import Task

#: Tables of other kinds, whose files a group must not overwrite.
_TAKEN = {"table", "comparisons", "findings", "attention", "learned", "sets"}


@dataclass(frozen=True)
class Group:
    """A named group ("organ"), and its column in the frame of scores."""

    name: str
    column: str

    @property
    def label(self) -> str:
        """
        >>> Group("sub_task", "group").label
        'Sub task'
        """
        words = self.words
        return words[:1].upper() + words[1:]

    @property
    def words(self) -> str:
        return " ".join(self.name.replace("_", " ").split())

    @property
    def plural(self) -> str:
        """
        >>> [Group(name, "group").plural for name in ("organ", "modality", "class")]
        ['organs', 'modalities', 'classes']
        """
        if re.search(r"[^aeiou]y$", self.words):
            return f"{self.words[:-1]}ies"
        return self.words + ("es" if re.search(r"(s|x|z|ch|sh)$", self.words) else "s")

    @property
    def none(self) -> str:
        """What stands where a case has no such group."""
        return f"no {self.words} named"

    @property
    def file(self) -> str:
        name = re.sub(r"[^a-z0-9]+", "-", self.plural.lower()).strip("-") or "groups"
        return f"by-{name}.csv" if name in _TAKEN else f"{name}.csv"

    def of(self, row: CaseRow, case: Case | None) -> str:
        """The group that a case is in: as the ledger has it, else as the case has it."""
        known = {"organ": row.organ, "task": row.task} | row.groups
        return known.get(self.name) or (case.group(self.name) if case else "") or self.none

    def reason(self, text: str) -> str:
        """Why a mean over groups has no interval, in the name of this one."""
        article = "an" if self.words[:1].lower() in "aeiou" else "a"
        text = text.replace("a group with", f"{article} {self.words} with")
        return text.replace("per group", f"per {self.words}")


def groups_of(task: Task) -> tuple[Group, ...]:
    """The leading group first; means over groups are over that one."""
    first, *others = task.groups or ("task",)
    more = [Group(name, f"group_{number}") for number, name in enumerate(others, 1)]
    return (Group(first, "group"), *more)
