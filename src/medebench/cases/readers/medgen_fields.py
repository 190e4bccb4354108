"""Fields of MedGEN-Bench records: choices, reports, checkable keys and boxes, in any spelling."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from medebench.cases.readers.record_values import BadRecord, kind_of_value, valid_text

#: Characters of the longest text that is taken.
LONGEST = 200_000
#: Sections of a report in the order in which they are written down; others follow by name.
SECTIONS = (
    *("study", "examination", "modality", "clinical history", "indication", "history"),
    *("technique", "comparison", "findings", "impression", "recommendation", "notification"),
)
_DEEPEST, _MOST_SECTIONS = 6, 64
_LETTERS = string.ascii_uppercase
_FEWEST, _MOST = 2, 10
_HEADER = re.compile(r"\b(?:answer\s+)?(?:options|choices)\b[^\n:：]{0,20}[:：]", re.IGNORECASE)
#: "A. text", "(A) text", "**A)** text", "- A: text".
_BULLET = re.compile(
    r"^\s*(?:[-*•]\s+)?(?:\*\*)?[(\[]?([A-Za-z])(?:\*\*)?(?:[.)\]:、．：]|\s-\s)+(?:\*\*)?\s*(\S.*)$"
)


def bounded_text(field: str, value: Any) -> str:
    """A text of a record, without blanks around it."""
    text = valid_text(field, value).strip()
    if len(text) > LONGEST:
        raise BadRecord("bad-field", field, f"is longer than {LONGEST:,} characters; shorten it")
    return text


def choices_of(field: str, value: Any) -> tuple[str, ...]:
    """The choices as a record lists them, each with its letter ("B. Thyroid").

    >>> choices_of("choice", ["Lung", "Heart"])
    ('A. Lung', 'B. Heart')
    """
    if not isinstance(value, list) or len(value) > len(_LETTERS):
        raise BadRecord(
            "bad-field", field, f"expected a list of choices, found {kind_of_value(value)}"
        )
    texts = [" ".join(bounded_text(field, one).split()) for one in value]
    if len(texts) == 1 or not all(texts):
        raise BadRecord("bad-field", field, "expected at least 2 choices, none of them empty")
    return lettered(texts)


def lettered(texts: Sequence[str]) -> tuple[str, ...]:
    """With the letters that they carry, or where these are no letters of choices, with new ones."""
    found = [_BULLET.match(text) for text in texts]
    given = [one[1].upper() for one in found if one]
    if sorted(given) == list(_LETTERS[: len(texts)]):
        return tuple(f"{one[1].upper()}. {_plain(one[2])}" for one in found if one)
    return tuple(f"{letter}. {text}" for letter, text in zip(_LETTERS, texts, strict=False))


def choices_in(instruction: str) -> tuple[str, ...]:
    """The choices that an instruction ends with, or none.

    >>> choices_in("What is it? Options: (A) lung (B) heart")
    ('A. lung', 'B. heart')
    """
    headers = list(_HEADER.finditer(instruction))
    block = instruction[headers[-1].end() :] if headers else instruction
    found = _by_line(block, strict=not headers)
    if len(found) < _FEWEST and headers:
        found = _in_line(block)
    if not _FEWEST <= len(found) <= _MOST:
        return ()
    return tuple(f"{letter}. {text}" for letter, text in zip(_LETTERS, found, strict=False))


def _by_line(block: str, strict: bool) -> list[str]:
    """Choices of one line each; without a header, only such as begin with A and leave none out."""
    found: list[str] = []
    for line in block.splitlines():
        bullet = _BULLET.match(line)
        if bullet and bullet[1].upper() == _LETTERS[len(found)]:
            found.append(_plain(bullet[2]))
        elif line.strip() and found:
            # A letter out of turn: this is no list, or several choices stand on one line.
            return [] if bullet else found
        elif bullet and not strict:
            return []
        if len(found) == len(_LETTERS):
            return []
    return [] if any(_begins_another(text, at) for at, text in enumerate(found)) else found


def _begins_another(text: str, at: int) -> bool:
    return _mark(at + 1).search(text) is not None


def _in_line(block: str) -> list[str]:
    """Choices that follow each other in one line."""
    block = block.strip().split("\n\n")[0]
    found: list[str] = []
    at = _mark(0).match(block)
    while at is not None and len(found) < _MOST:
        after = _mark(len(found) + 1).search(block, at.end())
        text = block[at.end() : after.start() if after else len(block)]
        found.append(_plain(text if after else text.split("\n")[0]))
        at = after
    return found if all(found) else []


def _mark(number: int) -> re.Pattern[str]:
    letter = _LETTERS[number]
    return re.compile(rf"(?:^|(?<=[\s,;|]))(?:\*\*)?[(\[]?{letter}(?:\*\*)?[.)\]:]+(?:\*\*)?\s+")


def _plain(text: str) -> str:
    return " ".join(text.replace("**", "").split()).rstrip(",;|").strip()


def report_sections(field: str, value: Mapping[str, Any]) -> dict[str, str]:
    """The sections of a report by name, in the order of a report."""
    if len(value) > _MOST_SECTIONS:
        raise BadRecord("bad-field", field, f"has more than {_MOST_SECTIONS} sections")
    named = {_section(field, name): _body(field, one, 0) for name, one in value.items()}
    order = {name: place for place, name in enumerate(SECTIONS)}
    return {
        name: named[name]
        for name in sorted(named, key=lambda name: (order.get(name, len(order)), name))
        if named[name]
    }


def report_text(sections: Mapping[str, str]) -> str:
    """A report as it is read: an upper-case heading, then its text.

    >>> print(report_text({"findings": "Clear lungs."}))
    FINDINGS:
    Clear lungs.
    """
    return "\n\n".join(f"{name.upper()}:\n{text}" for name, text in sections.items())


def _section(field: str, name: Any) -> str:
    return " ".join(re.sub(r"[\s_]+", " ", bounded_text(field, name)).lower().split())


def _body(field: str, value: Any, depth: int) -> str:
    if value is None:
        return ""
    if depth > _DEEPEST:
        raise BadRecord("bad-field", field, "is nested too deeply")
    if isinstance(value, bool | int | float):
        return _number(field, value)
    if isinstance(value, list):
        return "; ".join(filter(None, (_body(field, one, depth + 1) for one in value)))
    if isinstance(value, dict):
        inner = {_section(field, name): _body(field, one, depth + 1) for name, one in value.items()}
        return "\n".join(f"  {name}: {_indented(text)}" for name, text in inner.items() if text)
    return bounded_text(field, value)


def _indented(text: str) -> str:
    return "\n" + "\n".join("  " + line for line in text.split("\n")) if "\n" in text else text


def _number(field: str, value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        raise BadRecord("bad-field", field, "holds a number that is none; write it as text")
    return str(value)


def key_of(metadata: Mapping[str, Any]) -> str:
    """What can be checked of an open answer: the right choice of the question it was made from.

    A letter alone says nothing where the choices are not shown.

    >>> key_of({"correct_answer": "C. heart", "original_options": ["A. lung", "C. heart"]})
    'heart'
    """
    given = metadata.get("correct_answer")
    if not isinstance(given, str) or not given.strip() or len(given) > LONGEST:
        return ""
    answer = " ".join(valid_text("metadata.correct_answer", given).split())
    options = _options(metadata.get("original_options"))
    if re.fullmatch(r"[(\[]?[A-Za-z][.)\]]?", answer):
        return options.get(answer.strip("([.)]").upper(), "")
    bullet = _BULLET.match(answer)
    if bullet and (not options or _same(options.get(bullet[1].upper(), ""), bullet[2])):
        return _plain(bullet[2])
    return answer


def _same(one: str, other: str) -> bool:
    return one.casefold() == _plain(other).casefold()


def _options(value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        texts = {str(name).strip().upper(): one for name, one in value.items()}
        return {name: _plain(one) for name, one in texts.items() if isinstance(one, str)}
    if not isinstance(value, list) or len(value) > len(_LETTERS):
        return {}
    texts_given = [one for one in value if isinstance(one, str)]
    bullets = [_BULLET.match(one) for one in texts_given]
    if all(bullets):
        return {one[1].upper(): _plain(one[2]) for one in bullets if one}
    return {letter: _plain(text) for letter, text in zip(_LETTERS, texts_given, strict=False)}


def box_of(value: Any) -> tuple[float, float, float, float]:
    """Centre x, centre y, width and height, as shares of the image."""
    field = "metadata.bbox"
    if not isinstance(value, list | tuple) or len(value) != 4:
        raise BadRecord(
            "bad-field", field, "expected 4 numbers: centre x, centre y, width, height (0 to 1)"
        )
    numbers = [one for one in value if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(numbers) != 4 or not all(abs(one) < 1e9 for one in numbers):
        raise BadRecord("bad-field", field, "expected 4 finite numbers")
    across, down, width, height = map(float, numbers)
    if width <= 0 or height <= 0:
        raise BadRecord("bad-field", field, "has no width or no height; correct it")
    return across, down, width, height
