"""Asking until the answer will do: complaints, money, and the final answer kept for next time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from medebench.clients import Answer, Ask, Caller, Failure, Fault, Turn
from medebench.clients.tally import add_costs
from medebench.errors import InputError
from medebench.judge.writing.reading import Reading
from medebench.judge.writing.texts import Instruction

#: How often a model may answer one question.
TRIES = 3
Text = TypeVar("Text")
Read = Callable[[Sequence[Answer]], Reading[Text]]


def check_tries(tries: int) -> None:
    if tries < 1:
        raise InputError(f"tries: expected at least 1, found {tries}")


async def obtain(
    caller: Caller,
    ask: Ask,
    read: Read[Text],
    words: Instruction,
    tries: int,
    written: Callable[[Text], str],
) -> dict[str, Any]:
    """The members of an `Outcome`; `written` puts a value back into the words of an answer.

    No `Fault` gets out: what was paid before it must be told."""
    answers: list[Answer] = []
    question: Ask = ask
    while True:

        def good(answer: Answer) -> bool:
            return read([*answers, answer]).value is not None

        try:
            answer: Answer = await caller.ask(question, good)
        except Fault as fault:
            return _spent(answers, words) | {"reason": fault.text, "kind": fault.kind}
        answers.append(answer)
        reading = read(answers)
        if reading.value is not None:
            if question is not ask:
                # Whoever asks the same first question again gets what was accepted in the end.
                final = replace(answer, text=written(reading.value), finish="stop")
                await caller.keep(ask, final)
            return _spent(answers, words) | {"value": reading.value}
        if len(answers) == tries:
            return _spent(answers, words) | _why(reading, tries)
        turn = Turn(answer.text or "(no answer)", words.complain(reading.problems))
        question = replace(question, turns=(*question.turns, turn))


def failed(failure: Failure, words: Instruction) -> dict[str, Any]:
    return {"reason": failure.reason, "kind": failure.kind, "instruction": words.label}


def _why(reading: Reading[Any], tries: int) -> dict[str, Any]:
    if reading.refused:
        return {"reason": "the model refused to answer", "kind": "refused"}
    times = "1 try" if tries == 1 else f"{tries} tries"
    text = f"no usable answer in {times}: {'; '.join(reading.problems)}"
    return {"reason": text, "kind": "unusable"}


def _spent(answers: Sequence[Answer], words: Instruction) -> dict[str, Any]:
    paid = [answer for answer in answers if not answer.cached]
    return {
        "tokens_in": sum(answer.tokens_in for answer in answers),
        "tokens_out": sum(answer.tokens_out for answer in answers),
        "cost": add_costs([answer.cost for answer in paid]),
        "cached": bool(answers) and not paid,
        "tries": len(answers),
        "model": answers[-1].model if answers else None,
        "instruction": words.label,
    }
