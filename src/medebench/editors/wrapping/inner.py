"""What the wrapping editors share: the editor inside, and the calls they are given."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from medebench.cases.opened import open_case
from medebench.clients.tally import Plan
from medebench.editors import find_editor
from medebench.editors.base import BatchEditor, Edit, NotTried, Refused, Request
from medebench.editors.returned import as_picture
from medebench.errors import InputError, one_line
from medebench.settings import split_name

#: Edits under way where most of the time is spent waiting for a model's answer.
WAITING = 8


class Inner:
    """The editor inside, whatever it is, called by no more threads than it would be alone."""

    def __init__(self, call: str) -> None:
        self.chosen = find_editor(call)
        self._own = getattr(self.chosen.editor, "at_once", None)
        # One that owns a device is called by one at a time.
        most = 1 if isinstance(self.chosen.editor, BatchEditor) else self._own
        self._room: AbstractContextManager[Any]
        self._room = threading.Semaphore(most) if most else nullcontext()
        self.sees = self.chosen.sees
        self.judged_by = self.chosen.judged_by
        self.demonstrations = int(getattr(self.chosen.editor, "demonstrations", 0))

    def at_once(self, waits: bool) -> int | None:
        """How many edits may be under way; `waits`: the wrapping editor asks a model."""
        known = [*([self._own] if self._own else []), *([WAITING] if waits else [])]
        return max(known, default=None)

    def problems(self) -> list[str]:
        return [f"{self.chosen.name}: {one}" for one in self.chosen.problems()]

    def written(self) -> dict[str, Any]:
        """For `run.json`, in place of the call: that may hold secrets, and settings of how."""
        return {"name": self.chosen.name, "settings": self.chosen.settings}

    def identity(self) -> str:
        """What tells it from another one of that name and those settings."""
        return " ".join(filter(None, [self.chosen.origin, self.chosen.identity()]))

    def edit(self, request: Request) -> Edit:
        """The edit, or `Refused` for all that goes wrong with this case."""
        made: Any
        try:
            with self._room:
                made = self.chosen.editor.edit(request)
        except (Refused, NotTried):
            raise
        except InputError as error:
            raise Refused(one_line(str(error))) from error
        except (Exception, SystemExit) as error:
            raise Refused(one_line(f"{type(error).__name__}: {error}")) from error
        edit = made if isinstance(made, Edit) else Edit(made)
        return replace(edit, picture=as_picture(edit.picture))

    def estimate(self, requests: Sequence[Request]) -> list[Plan]:
        ask = getattr(self.chosen.editor, "estimate", None)
        return [ask(iter(requests))] if callable(ask) else []


def lifted(detail: dict[str, Any], *names: str) -> dict[str, Any]:
    """What others look for at the top of an output's detail."""
    return {name: detail[name] for name in ("attention", *names) if name in detail}


def unopened(requests: Iterable[Request]) -> list[Request]:
    """The same requests without their pictures: there may be thousands of them."""
    return [replace(one, case=open_case(one.case.case)) for one in requests]


def check_own(name: str, given: str, own: Iterable[str]) -> None:
    """A misspelt setting before the editor inside is told as such."""
    key, equals, _ = split_name(given)[0].partition("=")
    if equals and key.strip().isidentifier():
        raise InputError(f"editor '{name}': no setting '{key.strip()}'; it has: {', '.join(own)}")
