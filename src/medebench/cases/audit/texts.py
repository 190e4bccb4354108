"""Findings about what a person wrote: prompts, descriptions, organ and task."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from medebench.cases.audit.finding import Finding, distinct, examples
from medebench.cases.case import Case

MIN_PROMPT_WORDS = 3
MIN_DESCRIPTION_WORDS = 5

# Scripts written without spaces: a character says about as much as a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")


def words(text: str) -> list[str]:
    """The words of a text, without case, punctuation and the ways to encode a letter."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def text_findings(cases: Iterable[Case]) -> Iterator[Finding]:
    cases = list(cases)
    yield from _prompts(cases)
    yield from _descriptions(cases)
    if without := tuple(case.id for case in cases if not words(case.organ)):
        yield Finding(
            "warning",
            "no-organ",
            "no organ",
            without,
            f"{len(without):,} of {len(cases):,} cases",
            "fill in 'Organ': the tables have a column for each",
        )
    if without := tuple(case.id for case in cases if not words(case.task)):
        yield Finding(
            "note",
            "no-task",
            "no task",
            without,
            f"{len(without):,} of {len(cases):,} cases",
            "fill in 'Task' to have scores by task",
        )


def _prompts(cases: list[Case]) -> Iterator[Finding]:
    if empty := tuple(case.id for case in cases if not words(case.prompt)):
        yield Finding(
            "error",
            "empty-prompt",
            "a prompt without a word",
            empty,
            f"{len(empty):,} of {len(cases):,} cases",
            "write what is to be done",
        )
    prompts = [
        (case.id, field, text)
        for case in cases
        for field, text in (("prompt", case.prompt), ("rephrased", case.rephrased_prompt))
        if 0 < len(words(text)) < MIN_PROMPT_WORDS
    ]
    if prompts:
        yield Finding(
            "warning",
            "short-prompt",
            f"a prompt of fewer than {MIN_PROMPT_WORDS} words",
            distinct(case_id for case_id, _, _ in prompts),
            examples(f"case {case_id}: {field} '{_cut(text)}'" for case_id, field, text in prompts),
            "say what is to be done, and to what",
        )
    same = [
        case
        for case in cases
        if case.rephrased_prompt and words(case.rephrased_prompt) == words(case.prompt)
    ]
    if same:
        share = f"{len(same):,} of {len(cases):,} cases"
        shown = examples(f"case {case.id}: '{_cut(case.prompt)}'" for case in same)
        yield Finding(
            "note",
            "rephrased-same",
            "the rephrased prompt is the prompt",
            tuple(case.id for case in same),
            f"{share}: {shown}",
            "rephrase it, or leave these cases out where the effect of wording is measured",
        )


def _descriptions(cases: list[Case]) -> Iterator[Finding]:
    if without := tuple(case.id for case in cases if not words(case.description)):
        yield Finding(
            "note",
            "no-description",
            "no description of the change",
            without,
            f"{len(without):,} of {len(cases):,} cases",
            "describe the expected change: the judge and the text metrics compare with it",
        )
    short = [case for case in cases if 0 < len(words(case.description)) < MIN_DESCRIPTION_WORDS]
    if short:
        yield Finding(
            "warning",
            "short-description",
            f"a description of fewer than {MIN_DESCRIPTION_WORDS} words",
            tuple(case.id for case in short),
            examples(f"case {case.id}: '{_cut(case.description)}'" for case in short),
            "describe the change so that someone who sees only the text knows what to expect",
        )


def _cut(text: str, limit: int = 48) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
