"""Texts by a model: asked for until they will do, with what that cost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, TypeVar, cast

from medebench.errors import InputError
from medebench.models import Answer, Ask, Caller, Failure
from medebench.models.answers.complaints import ask_until_complete
from medebench.models.tally import add_costs
from medebench.models.writing.writer_prompts import Instruction
from medebench.models.writing.written_answers import Reading

#: How often a model may answer one question.
TRIES = 3
Text = TypeVar("Text")
Item = TypeVar("Item")
Result = TypeVar("Result")
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

    Raises no `Fault`: what was paid before it must still be reported."""
    asked = await ask_until_complete(
        caller,
        ask,
        read,
        complain=lambda reading: words.complain(reading.problems),
        written=lambda reading: written(cast(Text, reading.value)),
        tries=tries,
    )
    spent = _spent(asked.answers, words)
    if asked.fault is not None:
        return spent | {"reason": asked.fault.text, "kind": asked.fault.kind}
    assert asked.reading is not None
    if asked.reading.value is not None:
        return spent | {"value": asked.reading.value}
    return spent | _why(asked.reading, tries)


def outcomes(
    caller: Caller,
    work: Callable[[Item], Awaitable[Result]],
    items: Iterable[Item],
    kind: Callable[..., Result],
    words: Instruction,
) -> Iterator[tuple[Item, Result]]:
    """Each item with what `work` makes of it; a failure becomes an outcome of this kind."""
    with closing(caller.run(work, items)) as results:
        for item, result in results:
            if isinstance(result, Failure):
                result = kind(**failed(result, words))
            yield item, result


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
