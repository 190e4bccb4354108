"""Findings about what a person wrote: prompts, descriptions, organ and task."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter, methodcaller
from typing import TypeAlias

from medebench.audit.audit_finding import Finding, distinct, examples
from medebench.audit.cut_text import cut_reason, ends
from medebench.audit.finding_kinds import Severity
from medebench.audit.known_words import Vocabulary
from medebench.audit.mojibake import all_texts, is_garbled, undone
from medebench.audit.refused_text import is_refused
from medebench.cases.case import Case

MIN_PROMPT_WORDS = 3
MIN_DESCRIPTION_WORDS = 5
#: What is read as prose, and how it is called.
_FIELDS = {"prompt": "prompt", "rephrased_prompt": "rephrased", "description": "description"}
#: From so many texts on, full stops in nearly all of them are a custom of the set.
_CUSTOM = 20
_NEARLY = 0.95

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
    broken: dict[str, set[tuple[str, str]]] = {}
    for code, check in (("mojibake", _mojibake), ("refused-text", _refused), ("cut-text", _cut)):
        found = check(cases)
        broken[code] = {(case.id, field) for case, field, _ in found}
        if found:
            ids = distinct(case.id for case, _, _ in found)
            yield Finding(code, ids, examples(told for _, _, told in found))
    yield from _prompts(cases, broken["cut-text"])
    yield from _lacking(cases, attrgetter("description"), "no-description")
    short = [
        case
        for case in cases
        if 0 < len(words(case.description)) < MIN_DESCRIPTION_WORDS
        and not any((case.id, "description") in found for found in broken.values())
    ]
    if short:
        shown = examples(f"case {case.id}: '{_brief(case.description)}'" for case in short)
        yield Finding("short-description", tuple(case.id for case in short), shown)
    for number, name in enumerate(groups):
        grave: Severity = "note" if number else "warning"
        yield from _lacking(cases, methodcaller("group", name), f"no-{name}", grave)


def _lacking(
    cases: list[Case], text: Callable[[Case], str], code: str, severity: Severity | None = None
) -> Iterator[Finding]:
    if ids := tuple(case.id for case in cases if not words(text(case))):
        of = f"{len(ids):,} of {len(cases):,} cases"
        yield Finding(code, ids, of, own_severity=severity)


def _prompts(cases: list[Case], cut: set[tuple[str, str]]) -> Iterator[Finding]:
    yield from _lacking(cases, attrgetter("prompt"), "empty-prompt")
    prompts = [
        (case.id, f"case {case.id}: {_FIELDS[field]} '{_brief(text)}'")
        for case in cases
        for field, text in texts_of(case, ("prompt", "rephrased_prompt"))
        if 0 < len(words(text)) < MIN_PROMPT_WORDS and (case.id, field) not in cut
    ]
    if prompts:
        ids = distinct(case_id for case_id, _ in prompts)
        yield Finding("short-prompt", ids, examples(shown for _, shown in prompts))
    rephrased = [case for case in cases if case.rephrased_prompt]
    same = [case for case in rephrased if words(case.rephrased_prompt) == words(case.prompt)]
    if same:
        shown = examples(f"case {case.id}: '{_brief(case.prompt)}'" for case in same)
        of = f"{len(same):,} of {len(cases):,} cases: {shown}"
        yield Finding("rephrased-same", tuple(case.id for case in same), of)


_Broken: TypeAlias = list[tuple[Case, str, str]]


def texts_of(case: Case, fields: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Field and text, of those that the case has."""
    return ((field, text) for field in fields if (text := getattr(case, field)))


def _mojibake(cases: list[Case]) -> _Broken:
    found: _Broken = []
    for case in cases:
        for name, text in all_texts(case):
            better = undone(text)
            if better != text:
                told = f"'{_around(text, better)}' for '{_around(better, text)}'"
            elif is_garbled(text):
                told = f"'{_brief(text)}', which cannot be undone"
            else:
                continue
            found.append((case, name, f"case {case.id}, {_FIELDS.get(name, name)}: {told}"))
    return found


def _refused(cases: list[Case]) -> _Broken:
    return [
        (case, field, f"case {case.id}, {_FIELDS[field]}: '{_brief(text)}'")
        for case in cases
        for field, text in texts_of(case, _FIELDS)
        if is_refused(text)
    ]


def _cut(cases: list[Case]) -> _Broken:
    known = Vocabulary(text for case in cases for _, text in texts_of(case, _FIELDS))
    found: _Broken = []
    for field, label in _FIELDS.items():
        texts = [text for case in cases if (text := getattr(case, field))]
        stops = len(texts) >= _CUSTOM and sum(map(ends, texts)) >= _NEARLY * len(texts)
        for case in cases:
            own = [text for other, text in texts_of(case, _FIELDS) if other != field]
            if why := cut_reason(getattr(case, field), known, own, stops):
                shown = f"case {case.id}, {label}: '{_tail(getattr(case, field))}' {why}"
                found.append((case, field, shown))
    return sorted(found, key=lambda one: one[1] == "description")


def _brief(text: str, limit: int = 48) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _tail(text: str, limit: int = 48) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else "…" + text[1 - limit :]


def _around(text: str, other: str, before: int = 8, length: int = 20) -> str:
    """The part where two texts begin to differ."""
    at = next(
        (at for at, pair in enumerate(zip(text, other, strict=False)) if len(set(pair)) > 1), 0
    )
    return text[max(0, at - before) : at + length - before].strip()
