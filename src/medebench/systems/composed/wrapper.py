"""What editors around another one share: the one inside, and the calls they are given."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from medebench.cases.open_case import open_case
from medebench.errors import InputError, NotReadyError, one_line
from medebench.models import Provider
from medebench.models.tally import Plan
from medebench.outputs import Output
from medebench.settings import split_name
from medebench.systems.composed.llm_session import LlmSession
from medebench.systems.request import NotTried, Refused, Request
from medebench.systems.returned_output import as_output
from medebench.systems.system import Editor
from medebench.systems.system_lookup import find_system

#: Edits under way where most of the time is spent waiting for a model's answer.
WAITING = 8


class Wrapper(Editor):
    """An editor around another one, which is called by no more threads than it would be alone."""

    def __init__(self, settings: Any, call: str) -> None:
        super().__init__(settings)
        self._instance = find_system(call)
        self._inner = self._instance.system
        # One that owns a device is called by one at a time.
        most = 1 if self._instance.is_batched else self._inner.at_once
        self._room: AbstractContextManager[Any]
        self._room = threading.Semaphore(most) if most else nullcontext()
        self._sessions: dict[tuple[str, str], LlmSession] = {}
        self._lacks: list[str] = []
        self.sees, self.judged_by = self._inner.sees, self._inner.judged_by
        self.demonstrations = self._inner.demonstrations

    def problems(self) -> list[str]:
        return self._lacks + [f"{self._instance.name}: {one}" for one in self._inner.problems()]

    def prepare(self) -> None:
        """A price that is not known shows here, before anything is paid."""
        self._require_ready()
        for session in self._sessions.values():
            _ = session.caller
        self._inner.prepare()

    def share(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._inner.share(other._inner)

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()
        self._inner.close()

    def _require_ready(self) -> None:
        if self._lacks:
            raise NotReadyError(f"editor '{type(self).__name__.lower()}': {self._lacks[0]}")

    def _session(self, client: Provider) -> LlmSession:
        key = (client.name, client.identity().get("url", ""))
        return self._sessions.setdefault(key, LlmSession(client, self.settings.max_cost))

    def _written(self) -> dict[str, Any]:
        """For `run.json`, in place of the call: that may hold secrets, and settings of runtime."""
        return {"name": self._instance.name, "settings": self._instance.settings}

    def _inner_identity(self) -> str:
        """What tells it from another one of that name and those settings."""
        return " ".join(filter(None, [self._instance.origin, self._inner.identity()]))

    def _generate_inside(self, request: Request) -> Output:
        """An image, or `Refused` for all that goes wrong with this case."""
        try:
            with self._room:
                output = as_output(self._instance.generate(request))
        except (Refused, NotTried):
            raise
        except InputError as error:
            raise Refused(one_line(str(error))) from error
        except (Exception, SystemExit) as error:
            raise Refused(one_line(f"{type(error).__name__}: {error}")) from error
        if output.image is None:
            raise Refused("the editor inside gave no image")
        return output

    def _estimate_inside(self, requests: Sequence[Request]) -> list[Plan]:
        plan = self._inner.estimate(iter(requests))
        return [] if plan is None else [plan]


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
