"""A model that is asked while outputs are made, and how its failures count."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from medebench.models import NOT_ASKED, Answer, Ask, Caller, Failure, Provider
from medebench.models.writing.valid_answers import TRIES, obtain
from medebench.models.writing.writer_prompts import Instruction
from medebench.models.writing.written_answers import Outcome, Reading
from medebench.systems.composed.prompts import as_answer
from medebench.systems.request import NotTried
from medebench.systems.shared_caller import SharedCaller

Result = TypeVar("Result")
Read = Callable[[Answer], Reading[str]]


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

    def write(self, ask: Ask, read: Read, words: Instruction) -> Outcome[str]:
        """An instruction, or the reason why there is none."""

        async def work(caller: Caller) -> Outcome[str]:
            last = partial(_last, read)
            return Outcome(**await obtain(caller, ask, last, words, TRIES, as_answer))

        got = self.ask(work)
        if isinstance(got, Failure):
            return Outcome(reason=got.reason, kind=got.kind, instruction=words.label)
        if got.reason is not None:
            _not_tried(self.client.name, got.kind, got.reason)
        return got

    def told(self, outcome: Outcome[str]) -> dict[str, Any]:
        """What stands in the ledger of how an instruction came about."""
        told: dict[str, Any] = {"model": self.client.name, "answered_by": outcome.model}
        spent = ("instruction", "cost", "tokens_in", "tokens_out", "tries", "cached")
        told |= {name: getattr(outcome, name) for name in spent}
        return told if outcome.reason is None else told | {"reason": outcome.reason}


def _not_tried(who: str, kind: str | None, reason: str) -> None:
    if kind in NOT_ASKED:
        raise NotTried(f"{who}: {reason}")


def _last(read: Read, answers: Sequence[Answer]) -> Reading[str]:
    return read(answers[-1])
