"""What editors around another one share: the one inside, and the models that they ask."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from medebench.cases.open_case import open_case
from medebench.errors import InputError, NotReadyError, one_line
from medebench.models import NOT_ASKED, Answer, Ask, Caller, Failure, Provider
from medebench.models.tally import Plan
from medebench.models.writing.valid_answers import TRIES, obtain
from medebench.models.writing.writer_prompts import Instruction
from medebench.models.writing.written_answers import Outcome, Reading
from medebench.outputs import Output
from medebench.settings import split_name
from medebench.systems.request import NotTried, Refused, Request
from medebench.systems.returned_output import as_output
from medebench.systems.shared_caller import SharedCaller
from medebench.systems.system import Editor
from medebench.systems.system_lookup import find_system

Result = TypeVar("Result")


class LlmSession:
    """A client and its Caller, which is made when it is first needed and again after `close`."""

    def __init__(self, client: Provider, max_cost: float | None) -> None:
        self.client = client
        self._calls = SharedCaller(partial(Caller, client, max_cost=max_cost))

    @property
    def caller(self) -> Caller:
        return self._calls.open(self)

    def close(self) -> None:
        self._calls.close(self)

    def ask(self, work: Callable[[Caller], Awaitable[Result]]) -> Result | Failure:
        """What `work` comes to; `NotTried` where nothing was asked for want of money, line, ..."""
        caller = self.caller

        async def one(_: None) -> Result:
            return await work(caller)

        result = next(result for _, result in caller.run(one, [None]))
        if isinstance(result, Failure):
            _not_tried(self.client.name, result.kind, result.reason)
        return result

    def write(
        self,
        ask: Ask,
        read: Callable[[Answer], Reading[Result]],
        words: Instruction,
        written: Callable[[Result], str],
    ) -> Outcome[Result]:
        """An instruction, or the reason why there is none; `written` puts it back into JSON."""

        async def work(caller: Caller) -> Outcome[Result]:
            last = partial(_last, read)
            return Outcome(**await obtain(caller, ask, last, words, TRIES, written))

        got = self.ask(work)
        if isinstance(got, Failure):
            return Outcome(reason=got.reason, kind=got.kind, instruction=words.label)
        if got.reason is not None:
            _not_tried(self.client.name, got.kind, got.reason)
        return got

    def told(self, outcome: Outcome[Any]) -> dict[str, Any]:
        """What stands in the ledger of how an instruction came about."""
        told: dict[str, Any] = {"model": self.client.name, "answered_by": outcome.model}
        spent = ("instruction", "cost", "tokens_in", "tokens_out", "tries", "cached")
        told |= {name: getattr(outcome, name) for name in spent}
        return told if outcome.reason is None else told | {"reason": outcome.reason}


def _not_tried(who: str, kind: str | None, reason: str) -> None:
    if kind in NOT_ASKED:
        raise NotTried(f"{who}: {reason}")


def _last(read: Callable[[Answer], Reading[Result]], answers: Sequence[Answer]) -> Reading[Result]:
    return read(answers[-1])


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
        self.input_shown = self._inner.input_shown

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
