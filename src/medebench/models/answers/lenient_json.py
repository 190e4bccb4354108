"""JSON as models write it: single quotes, comments, stray commas, quotes in quotes, cut off.

Objects are kept as lists of pairs, so that a key given twice is not lost, and numbers as text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any


class Number(str):
    """A number as it is written."""

    __slots__ = ()


@dataclass(frozen=True)
class Pairs:
    """The members of an object in their order."""

    items: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Found:
    """An object in a text, and where it stands."""

    value: Pairs
    start: int
    end: int


MAX_DEPTH = 32
#: Objects that turn out to be none; more of them, and the rest of the text is left to the prose.
MAX_FAILURES = 48
_OPENING = re.compile(r"\{(?=\s*(?:[\"'“”„‘’`\w}]|//|/\*|#))")
_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*(?:[^*]|\*(?!/)){0,4000}\*/|#[^\n]*)*")
_WORD = re.compile(r"[^\s,:{}\[\]\"“”]+")
_BARE = re.compile(r"[^,{}\[\]\n\"“”]+")
_CLOSERS = {'"': '"', "'": "'", "“": '”“"', "”": '”"', "„": '“”"', "‘": "’‘'", "’": "’'", "`": "`'"}
_NUMERIC = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$")
#: What may stand behind the end of a string; a quote before anything else belongs to the string.
_AFTER_VALUE = re.compile(
    r"""\s*(?://[^\n]*\s*|\#[^\n]*\s*)?(?:
        [}\]]|$
      | ,\s*(?:[}\]"'“”‘’{\[]|//|/\*|\#|\w[\w \-]{0,40}["'”’]?\s*:)
      | \n\s*["'“‘]?\w[\w \-]{0,40}["'”’]?\s*:)""",
    re.X,
)
_AFTER_KEY = re.compile(r"\s*:")
_DECODER = json.JSONDecoder(
    object_pairs_hook=lambda pairs: Pairs(tuple(pairs)),
    parse_float=Number,
    parse_int=Number,
    parse_constant=Number,
    strict=False,
)


class _NoJsonError(Exception):
    """This is not an object after all."""


def find_objects(text: str) -> list[Found]:
    """All outermost objects in `text`; one that is cut off at the end gives what it has whole."""
    found: list[Found] = []
    position = failures = 0
    while failures < MAX_FAILURES and (opening := _OPENING.search(text, position)):
        start = opening.start()
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            reader = _Reader(text, start)
            try:
                value, end = reader.object(0), reader.at
            except _NoJsonError:
                failures += 1
                position = start + 1
                continue
        found.append(Found(value, start, end))
        position = end
    return found


class _Reader:
    """Recursive descent over one object. Reaching the end of the text is not an error."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at

    def _ended(self) -> bool:
        return self.at >= len(self.text)

    def _skip(self) -> str:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def object(self, depth: int) -> Pairs:
        if depth > MAX_DEPTH:
            raise _NoJsonError
        self.at += 1
        items: list[tuple[str, Any]] = []
        while True:
            head = self._skip()
            if head == ",":
                self.at += 1
            elif head == "}":
                self.at += 1
                break
            elif self._ended():
                break
            else:
                key = self._key(head)
                if self._skip() != ":":
                    if self._ended():
                        break
                    raise _NoJsonError
                self.at += 1
                value = self._value(depth)
                # A value that touches the end of the text may be half of one.
                if self._ended() and self.text[-1:] not in "}]":
                    if isinstance(value, (Pairs, list)):
                        items.append((key, value))
                    break
                items.append((key, value))
        return Pairs(tuple(items))

    def _key(self, head: str) -> str:
        if head in _CLOSERS:
            return self._string(head, _AFTER_KEY, 200)
        found = _WORD.match(self.text, self.at)
        if not found:
            raise _NoJsonError
        self.at = found.end()
        return found[0]

    def _value(self, depth: int) -> Any:
        head = self._skip()
        if head == "{":
            return self.object(depth + 1)
        if head == "[":
            return self._array(depth + 1)
        if head in _CLOSERS and head:
            return self._string(head, _AFTER_VALUE, len(self.text))
        found = _BARE.match(self.text, self.at)
        if not found:
            if self._ended() or head in ",}":
                return None
            raise _NoJsonError
        # "7 // comment": what follows a comment mark is no part of the value.
        bare = re.split(r"\s(?://|#|/\*)", found[0], maxsplit=1)[0]
        self.at += len(bare)
        bare = bare.strip()
        if bare.lower() in ("null", "none"):
            return None
        if bare.lower() in ("true", "false"):
            return bare.lower() == "true"
        return Number(bare) if _NUMERIC.match(bare) else bare

    def _array(self, depth: int) -> list[Any]:
        if depth > MAX_DEPTH:
            raise _NoJsonError
        self.at += 1
        values: list[Any] = []
        while True:
            head = self._skip()
            if head == ",":
                self.at += 1
            elif head == "]":
                self.at += 1
                break
            elif self._ended():
                values.append(None)  # so that what is left of a list is not taken for all of it
                break
            elif head in "}:":
                raise _NoJsonError
            else:
                before = self.at
                value = self._value(depth)
                if self.at == before:
                    raise _NoJsonError
                if not self._ended():
                    values.append(value)
        return values

    def _string(self, quote: str, after: re.Pattern[str], limit: int) -> str:
        closers = _CLOSERS[quote]
        stop = re.compile("\\\\.|[" + re.escape(closers) + "]", re.S)
        start = self.at + 1
        position = start
        while (found := stop.search(self.text, position)) and found.start() - start <= limit:
            position = found.end()
            if found[0][0] == "\\":
                continue
            if after.match(self.text, position):
                self.at = position
                return _unescape(self.text[start : found.start()])
            if after is _AFTER_VALUE and _AFTER_KEY.match(self.text, position):
                # The next key was swallowed: this string was never closed.
                raise _NoJsonError
        if found:
            raise _NoJsonError
        self.at = len(self.text)
        return ""


_ESCAPES = {"n": "\n", "t": "\t", "r": "", "b": "", "f": ""}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.S)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(
        lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPES.get(m[2], m[2]), text
    ).replace("\x00", "")
