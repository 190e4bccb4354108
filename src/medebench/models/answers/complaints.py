"""Asking until the answer will do: what is wrong with one is sent back, the last is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from medebench.models.ask import Answer, Ask, Turn
from medebench.models.caller import Caller
from medebench.models.fault import Fault


class Readable(Protocol):
    """What was made of the answers so far."""

    @property
    def complete(self) -> bool: ...


Read = TypeVar("Read", bound=Readable)


@dataclass(frozen=True)
class Exchange(Generic[Read]):
    answers: tuple[Answer, ...]
    #: Of all answers; None where there is none.
    reading: Read | None
    #: Why there was no further answer, though one was wanted.
    fault: Fault | None = None


async def ask_until_complete(
    caller: Caller,
    ask: Ask,
    read: Callable[[Sequence[Answer]], Read],
    complain: Callable[[Read], str],
    written: Callable[[Read], str],
    tries: int,
) -> Exchange[Read]:
    """Raises no `Fault`: what was paid before it must still be reported.

    `written` puts what was read in the end into the words of one answer, for whoever asks the
    same first question again.
    """
    answers: list[Answer] = []
    reading: Read | None = None
    question = ask
    for _ in range(tries):

        def good(answer: Answer) -> bool:
            return read([*answers, answer]).complete

        try:
            answer = await caller.ask(question, good)
        except Fault as fault:
            return Exchange(tuple(answers), reading, fault)
        answers.append(answer)
        reading = read(answers)
        if reading.complete:
            if question is not ask:
                await caller.keep(ask, replace(answer, text=written(reading), finish="stop"))
            break
        turn = Turn(answer.text or "(no answer)", complain(reading))
        question = replace(question, turns=(*question.turns, turn))
    return Exchange(tuple(answers), reading)
