"""UTF-8 that was read in another encoding ("eye鈥檚", "eyeâ€™s"), and the exact way back.

A text is undone only where its bytes in that encoding are UTF-8, where what comes out is what
people write, and where all encodings that allow it agree. A French "« café »" or a Chinese prompt
is left alone: their bytes are no UTF-8, or what would come out is nothing anybody writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from medebench.cases.case import Case

#: Encodings of one byte a character, in which wrong text is looked for sequence by sequence...
_SINGLE = ("cp1252", "cp1250", "cp1251", "mac_roman", "cp437", "cp850")
#: ... and of several bytes, in which a whole run has to fit.
_MULTI = ("gbk", "gb18030", "cp932", "big5hkscs", "cp949")

_RUN = re.compile(r"[^\x00-\x7f]+")
#: Signs that people type in prose and that are three bytes of UTF-8.
_SIGNS = frozenset("‐‑‒–—―‘’‚‛“”„†‡•…‰′″‹›€™←↑→↓−≈≠≤≥✓")
#: Signs that may follow a capital letter in any text.
_CLOSING = frozenset("”’“‘»…–—\xa0")
_IDEOGRAPH = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\uac00-\ud7af]")
#: Remains of what no encoding brings back.
_LOST = re.compile("\ufffd|\u9225|锟斤拷|\u00e2\u20ac")
_LATIN = re.compile(r"[A-Za-z]{2}")
_CYRILLIC = re.compile(r"(?![ГВв])[\u0400-\u04ff]")
_ROUNDS = 3
_LONG = 4
_PROSE = ("prompt", "rephrased_prompt", "description", "caption", "answer")
_NAMES = ("organ", "task", "key_concept", "modality")


def undone(text: str) -> str:
    """The text as it was meant; the same text if nothing is wrong or nothing can be done."""
    for _ in range(_ROUNDS):
        better = _once(text)
        if better == text:
            break
        text = better
    return text


def is_garbled(text: str) -> bool:
    """Whether something was read wrongly that cannot be brought back, as bytes were lost."""
    return _LOST.search(text) is not None


def all_texts(case: Case) -> Iterator[tuple[str, str]]:
    """Field and text, of everything a person wrote about the case."""
    for name in (*_PROSE, *_NAMES):
        if text := getattr(case, name):
            yield name, text
    yield from (("choice", text) for text in case.choices)
    yield from ((name, text) for name, text in case.groups.items())


def mended(case: Case) -> tuple[Case, tuple[str, ...]]:
    """The case with all its texts as they were meant, and the fields in which any was not."""
    wrong = dict.fromkeys(name for name, text in all_texts(case) if undone(text) != text)
    if not wrong:
        return case, ()
    values: dict[str, Any] = {name: undone(getattr(case, name)) for name in (*_PROSE, *_NAMES)}
    values["choices"] = tuple(map(undone, case.choices))
    values["groups"] = {name: undone(text) for name, text in case.groups.items()}
    return replace(case, **values), tuple(wrong)


def _once(text: str) -> str:
    return _RUN.sub(_meant, text)


def _meant(match: re.Match[str]) -> str:
    run, text = match[0], match.string
    before, after = text[: match.start()], text[match.end() :]
    found = {_sequences(run, before, after, encoding) for encoding in _SINGLE}
    found |= {_whole(run, before, after, encoding) for encoding in _MULTI}
    found.discard(run)
    # One that undoes more knows the encoding better; of two that undo as much, nobody knows which.
    best = min(map(len, found), default=0)
    found = {meant for meant in found if len(meant) == best}
    return found.pop() if len(found) == 1 else run


# --- several bytes a character ------------------------------------------------------------------


def _whole(run: str, before: str, after: str, encoding: str) -> str:
    try:
        data = run.encode(encoding)
        meant = data.decode("utf-8")
        same = data.decode(encoding) == run
    except UnicodeError:
        return run
    return meant if same and _is_likely(meant, run, before, after) else run


def _is_likely(meant: str, run: str, before: str, after: str) -> bool:
    rare = [sign for sign in meant if ord(sign) > 0x7F]
    if all(map(_IDEOGRAPH.match, rare)):
        return len(run) >= _LONG
    if any(_IDEOGRAPH.match(sign) for sign in rare):
        return len(run) >= _LONG and all(_IDEOGRAPH.match(s) or s in _SIGNS for s in rare)
    if all(sign in _SIGNS for sign in rare):
        return True
    # "37掳C", "caf茅", "5 脳 5": in a Chinese text the same sign is a word.
    western = all(sign in _SIGNS or 0xA0 < ord(sign) <= 0xFF for sign in rare)
    glued = before[-1:].isalnum() or after[:1].isalnum() or len(rare) < len(meant)
    figures = before.rstrip()[-1:].isdigit() or after.lstrip()[:1].isdigit()
    stands = glued or (figures and not any(sign.isalpha() for sign in rare))
    return western and stands and len(run) <= 2 and not _IDEOGRAPH.search(before + after)


# --- one byte a character -----------------------------------------------------------------------


@cache
def _bytes_of(encoding: str) -> dict[str, int]:
    table = {chr(byte): byte for byte in range(0x80, 0xA0)} if encoding == "cp1252" else {}
    for byte in range(0x80, 0x100):
        try:
            table[bytes([byte]).decode(encoding)] = byte
        except UnicodeError:
            continue
    return table


def _sequences(run: str, before: str, after: str, encoding: str) -> str:
    """The run with every sequence that is UTF-8, and likely so, replaced by its sign."""
    table = _bytes_of(encoding)
    values = [table.get(sign, 0) for sign in run]
    parts: list[str] = []
    at = 0
    while at < len(run):
        length = _length(values[at])
        meant = _decoded(values[at : at + length]) if length else None
        left = run[at - 1] if at else before[-1:]
        right = (run + after)[at + length : at + length + 1]
        alone = not _goes_on(values, at, length)
        if encoding == "cp1251" and 0xA0 < ord(meant or " ") <= 0xFF:
            # "В»" ends many a Russian quotation; in a text without Cyrillic it is "»".
            likely = bool(_LATIN.search(before + after)) and not _CYRILLIC.search(before + after)
        else:
            likely = meant is not None and _is_meant(
                meant, run[at : at + length], left, right, alone, encoding
            )
        if likely and meant:
            parts.append(meant)
            at += length
        else:
            parts.append(run[at])
            at += 1
    return "".join(parts)


def _length(lead: int) -> int:
    """How many bytes a sequence has that begins like this; 0: none does."""
    if 0xC2 <= lead <= 0xDF:
        return 2
    return 3 if 0xE0 <= lead <= 0xEF else 4 if 0xF0 <= lead <= 0xF4 else 0


def _decoded(values: list[int]) -> str | None:
    try:
        return bytes(values).decode("utf-8")
    except UnicodeError:
        return None


def _goes_on(values: list[int], at: int, length: int) -> bool:
    """Whether another sequence of this length stands beside this one."""
    places = (at - length, at + length)
    return any(
        place >= 0
        and _length(values[place] if place < len(values) else 0) == length
        and _decoded(values[place : place + length]) is not None
        for place in places
    )


def _is_meant(meant: str, written: str, left: str, right: str, alone: bool, encoding: str) -> bool:
    code = ord(meant)
    if len(written) == 4:
        return 0x1F000 <= code <= 0x1FFFF
    if len(written) == 3:
        return meant in _SIGNS or (not alone and _IDEOGRAPH.match(meant) is not None)
    if encoding == "cp1251":
        return not alone and 0x400 <= code <= 0x45F
    if (written[1] in _CLOSING and left.isupper()) or (written.isupper() and written.isalpha()):
        return False
    if encoding == "cp1250" and written[1].isalpha():
        return False
    if 0xA0 <= code <= 0xFF:
        return encoding not in ("cp437", "cp850") or written[0] in "├┬"
    if 0x100 <= code <= 0x17F:
        return left.islower() or right.islower()
    if 0x390 <= code <= 0x3CF:
        return not alone or (written[0] in "ÎÏ" and written[1] not in _CLOSING)
    return not alone and 0x400 <= code <= 0x45F
