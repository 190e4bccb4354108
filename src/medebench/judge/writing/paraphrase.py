"""Other wordings of prompts, and the seeded choice of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial

from medebench.clients import Ask, Caller, Failure
from medebench.errors import InputError
from medebench.judge.rubric import delimited, visible_line
from medebench.judge.writing.asking import TRIES, check_tries, failed, obtain
from medebench.judge.writing.reading import as_json, read_paraphrases
from medebench.judge.writing.results import Paraphrases, choose
from medebench.judge.writing.texts import PARAPHRASES, Instruction

MOST = 20


def paraphrase_ask(prompt: str, n: int = 5, words: Instruction = PARAPHRASES) -> Ask:
    """The first question about a prompt, for `Caller.plan`."""
    task = words.task.replace("{n}", str(n)).replace("{data}", delimited(visible_line(prompt)))
    return Ask(
        words.system,
        (task,),
        schema=words.schema,
        max_tokens=800 + 200 * n,
        likely_tokens=30 * n,
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
    """Each prompt with `n` versions or the reason why there are none, as they are ready.

    The seed is no part of the question: choosing anew costs nothing.
    """
    check_tries(tries)
    if isinstance(prompts, str):
        raise InputError("prompts: expected several, found one text")
    if not 1 <= n <= MOST:
        raise InputError(f"n: expected 1 to {MOST}, found {n}")
    return _paraphrase(caller, prompts, n, seed, tries, words)


def _paraphrase(
    caller: Caller, prompts: Iterable[str], n: int, seed: int, tries: int, words: Instruction
) -> Iterator[tuple[str, Paraphrases]]:
    async def work(prompt: str) -> Paraphrases:
        if not visible_line(prompt):
            return Paraphrases(**failed(Failure("the prompt is empty", "input"), words))
        read = partial(read_paraphrases, prompt=prompt, n=n)
        ask = paraphrase_ask(prompt, n, words)
        got = await obtain(caller, ask, read, words, tries, as_json)
        found = Paraphrases(**got)
        if found.value is None:
            return found
        return replace(found, chosen=choose(found.value, prompt, seed))

    with closing(caller.run(work, prompts)) as results:
        for prompt, result in results:
            if isinstance(result, Failure):
                result = Paraphrases(**failed(result, words))
            yield prompt, result
