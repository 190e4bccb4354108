"""Findings about what a person wrote: prompts, descriptions, organ and task."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter, methodcaller

from medebench.audit.audit_finding import Finding, Severity, distinct, examples
from medebench.cases.case import Case

MIN_PROMPT_WORDS = 3
MIN_DESCRIPTION_WORDS = 5

# Scripts written without spaces: a character says about as much as a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")


def words(text: str) -> list[str]:
    """The words of a text, without case, punctuation and the ways to encode a letter."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def text_findings(
    cases: Iterable[Case], groups: Sequence[str] = ("organ", "task")
) -> Iterator[Finding]:
    """`groups` are those that tables break results down by, the first one leading."""
    cases = list(cases)
    yield from _prompts(cases)
    yield from _lacking(
        cases,
        attrgetter("description"),
        ("note", "no-description", "no description of the change"),
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
    for number, name in enumerate(groups):
        yield from _lacking(
            cases,
            methodcaller("group", name),
            ("note" if number else "warning", f"no-{name}", f"no {name}"),
            f"fill in '{name.capitalize()}' to have scores by {name}",
        )


def _lacking(
    cases: list[Case],
    text: Callable[[Case], str],
    head: tuple[Severity, str, str],
    remedy: str,
) -> Iterator[Finding]:
    if ids := tuple(case.id for case in cases if not words(text(case))):
        yield Finding(*head, ids, f"{len(ids):,} of {len(cases):,} cases", remedy)


def _prompts(cases: list[Case]) -> Iterator[Finding]:
    yield from _lacking(
        cases,
        attrgetter("prompt"),
        ("error", "empty-prompt", "a prompt without words"),
        "write what is to be done",
    )
    prompts = [
        (case.id, f"case {case.id}: {field} '{_cut(text)}'")
        for case in cases
        for field, text in (("prompt", case.prompt), ("rephrased", case.rephrased_prompt))
        if 0 < len(words(text)) < MIN_PROMPT_WORDS
    ]
    if prompts:
        yield Finding(
            "warning",
            "short-prompt",
            f"a prompt of fewer than {MIN_PROMPT_WORDS} words",
            distinct(case_id for case_id, _ in prompts),
            examples(shown for _, shown in prompts),
            "say what is to be done, and to what",
        )
    rephrased = [case for case in cases if case.rephrased_prompt]
    same = [case for case in rephrased if words(case.rephrased_prompt) == words(case.prompt)]
    if same:
        shown = examples(f"case {case.id}: '{_cut(case.prompt)}'" for case in same)
        yield Finding(
            "note",
            "rephrased-same",
            "the rephrased prompt is the prompt",
            tuple(case.id for case in same),
            f"{len(same):,} of {len(cases):,} cases: {shown}",
            "rephrase it, or leave these cases out where the effect of wording is measured",
        )


def _cut(text: str, limit: int = 48) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
