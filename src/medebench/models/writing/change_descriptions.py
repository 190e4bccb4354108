"""Change descriptions: what leads from the previous picture to the reference, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TypeVar

from medebench.cases.case import Case
from medebench.cases.open_case import OpenCase, open_case
from medebench.errors import InputError, MedebenchError
from medebench.models import Ask, Caller, Failure, encode_for_model
from medebench.models.prompt_text import delimited, visible_line
from medebench.models.writing.valid_answers import TRIES, check_tries, failed, obtain, outcomes
from medebench.models.writing.writer_prompts import DESCRIPTION, Instruction
from medebench.models.writing.written_answers import Written, as_json, read_change

AnyCase = TypeVar("AnyCase", bound=Case | OpenCase)


def describe_ask(
    case: Case | OpenCase, image_size: int = 768, words: Instruction = DESCRIPTION
) -> Ask:
    """The first question about a case, for `Caller.plan`; raises where the case lacks something.

    Nothing of the case but its prompt and pixels goes in.
    """
    opened = open_case(case) if isinstance(case, Case) else case
    facts = opened.case
    prompt = visible_line(facts.prompt)
    if not prompt:
        raise InputError(f"case {facts.id}: has no prompt")
    previous = encode_for_model(opened.previous, image_size, bits=facts.bits)
    reference = encode_for_model(opened.reference, image_size, bits=facts.bits)
    task = words.task.replace("{data}", delimited(prompt))
    return Ask(
        words.system,
        (words.before, previous, words.after, reference, task),
        schema=words.schema,
        max_tokens=1500,
        likely_tokens=180,
    )


def describe_changes(
    caller: Caller,
    cases: Iterable[AnyCase],
    *,
    image_size: int = 768,
    tries: int = TRIES,
    words: Instruction = DESCRIPTION,
) -> Iterator[tuple[AnyCase, Written]]:
    """Each case with its description, or the reason there is none, as they become ready."""
    check_tries(tries)

    def prepared() -> Iterator[tuple[AnyCase, Ask | Failure]]:
        # Taken by the Caller in this thread, a few at a time: opened cases belong to one thread.
        for case in cases:
            try:
                yield case, describe_ask(case, image_size, words)
            except (MedebenchError, OSError) as error:
                yield case, Failure(str(error), "input")

    async def work(item: tuple[AnyCase, Ask | Failure]) -> Written:
        case, ask = item
        if isinstance(ask, Failure):
            return Written(**failed(ask, words))
        prompt = case.prompt if isinstance(case, Case) else case.case.prompt
        read = partial(read_change, prompt=prompt)
        return Written(**await obtain(caller, ask, read, words, tries, as_json))

    results = outcomes(caller, work, prepared(), Written, words)
    return ((case, written) for (case, _), written in results)
