"""Other wordings of prompts, and the seeded choice of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from medebench.errors import InputError
from medebench.models import Ask, Caller, Failure
from medebench.models.prompt_text import delimited, visible_line
from medebench.models.writing.valid_answers import TRIES, check_tries, failed, obtain, outcomes
from medebench.models.writing.writer_prompts import PARAPHRASES, Instruction
from medebench.models.writing.written_answers import Paraphrases, as_json, choose, read_paraphrases

MOST = 20


def paraphrase_ask(prompt: str, n: int = 5, words: Instruction = PARAPHRASES) -> Ask:
    """The first question about a prompt, for `Caller.plan`."""
    task = words.task.replace("{n}", str(n)).replace("{data}", delimited(visible_line(prompt)))
    return Ask(
        words.system, (task,), schema=words.schema, max_tokens=800 + 200 * n, likely_tokens=30 * n
    )


def paraphrase(
    caller: Caller,
    prompts: Iterable[str],
    n: int = 5,
    seed: int = 0,
    *,
    tries: int = TRIES,
    words: Instruction = PARAPHRASES,
) -> Iterator[tuple[str, Paraphrases]]:
    """Each prompt with `n` versions, or the reason there are none, as they become ready.

    The seed is no part of the question: choosing anew costs nothing.
    """
    check_tries(tries)
    if isinstance(prompts, str):
        raise InputError("prompts: expected a list, found a single text")
    if not 1 <= n <= MOST:
        raise InputError(f"n: expected 1 to {MOST}, found {n}")

    async def work(prompt: str) -> Paraphrases:
        if not visible_line(prompt):
            return Paraphrases(**failed(Failure("the prompt is empty", "input"), words))
        read = partial(read_paraphrases, prompt=prompt, n=n)
        ask = paraphrase_ask(prompt, n, words)
        found = Paraphrases(**await obtain(caller, ask, read, words, tries, as_json))
        if found.value is None:
            return found
        return replace(found, chosen=choose(found.value, prompt, seed))

    return outcomes(caller, work, prompts, Paraphrases, words)
