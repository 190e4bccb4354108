"""Scores and differences in JSON objects, under the keys that models choose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from medebench.judge.parser.parsed import Candidate
from medebench.judge.parser.score_numbers import (
    Reading,
    Scale,
    is_placeholder,
    note_scale,
    read_at,
    read_number,
    settled,
)
from medebench.judge.parser.vocabulary import NAME_KEYS, Key, Vocabulary
from medebench.models.answers.characters import plain, tidy
from medebench.models.answers.lenient_json import Found, Number, Pairs

_DEPTH = 12
_TOP_KEYS = ("max", "maximum", "max score", "out of", "scale", "range")
_DIFFERENCE_KEYS = ("difference", "observed change", "visible change", "changes", "step 1", "step1")


def candidates(found: Found, scale: Scale, vocabulary: Vocabulary) -> Iterator[Candidate]:
    """Every score that the object gives, at the place where the object begins."""
    yield from _Reader(vocabulary, found.start).walk(found.value, scale, 0)


@dataclass(frozen=True)
class _Reader:
    vocabulary: Vocabulary
    position: int

    def walk(self, value: Any, scale: Scale, depth: int) -> Iterator[Candidate]:
        if depth > _DEPTH:
            return
        if isinstance(value, list):
            for one in value[:100]:
                yield from self.walk(one, scale, depth + 1)
        if not isinstance(value, Pairs):
            return
        reasons = self._reasons(value)
        named = self._named(value)
        if named is not None:
            yield from self._entry(named, value, scale)
            return
        for name, inner in value.items:
            key = self.vocabulary.read_key(name)
            if key.score is None:
                yield from self.walk(inner, scale, depth + 1)
            elif key.part != "reason":
                for one in self._entry(key, inner, note_scale(key.note, scale)):
                    yield _with_reason(one, reasons)

    def _reasons(self, value: Pairs) -> dict[str, str]:
        """`editing_accuracy_reason` and the like, beside the score they belong to."""
        found: dict[str, str] = {}
        for name, inner in value.items:
            key = self.vocabulary.read_key(name)
            if key.score and isinstance(inner, str) and not isinstance(inner, Number):
                if key.part == "reason":
                    found[key.score] = tidy(inner)
                elif not key.part and read_at(plain(inner), 0, self.vocabulary.scale.plain) is None:
                    found.setdefault(key.score, tidy(inner))
            elif isinstance(inner, Pairs) and key.score is None and key.part == "reason":
                each = ((self.vocabulary.read_key(n).score, text) for n, text in inner.items)
                found |= {score: tidy(t) for score, t in each if score and isinstance(t, str)}
        return found

    def _named(self, value: Pairs) -> Key | None:
        """{"criterion": "Editing Accuracy", "score": 7}: the key that the entry stands for."""
        for name, inner in value.items:
            if name.strip().lower() in NAME_KEYS and isinstance(inner, str):
                key = self.vocabulary.read_key(inner)
                if key.score is not None:
                    return key
        return None

    def _entry(self, key: Key, value: Any, scale: Scale) -> Iterator[Candidate]:
        assert key.score is not None
        if isinstance(value, list) and value:
            reason = value[1] if len(value) == 2 and isinstance(value[1], str) else None
            if len(value) == 1 or (reason is not None and read_at(reason, 0, scale) is None):
                for one in self._entry(key, value[0], scale):
                    yield _with_reason(one, {key.score: tidy(reason or "")})
                return
            yield key.candidate(Reading(None, "is a list, not one number", 0), "", self.position)
        elif isinstance(value, Pairs):
            yield from self._inside(key, value, scale)
        elif reading := _scalar(value, scale, must=key.part == "score"):
            reason = tidy(value[reading.end :]) if isinstance(value, str) else ""
            yield key.candidate(reading, reason, self.position)

    def _inside(self, key: Key, value: Pairs, scale: Scale) -> Iterator[Candidate]:
        """{"score": 7, "reason": ...} under the name of a score."""
        reason = ""
        for name, inner in value.items:
            inner_key = self.vocabulary.read_key(name)
            if inner_key.score is None and inner_key.part == "reason":
                reason = reason or (tidy(inner) if isinstance(inner, str) else "")
            if name.strip().lower().replace("_", " ") in _TOP_KEYS:
                text = str(inner) if isinstance(inner, str) else ""
                scale = note_scale(text if "-" in text or "to" in text else f"out of {text}", scale)
        for name, inner in value.items:
            inner_key = self.vocabulary.read_key(name)
            of_score = inner_key.score is None and inner_key.part == "score"
            if of_score or (inner_key.score == key.score and inner_key.part != "reason"):
                if isinstance(inner, list) and len(inner) == 1:
                    inner = inner[0]
                own = note_scale(inner_key.note, scale)
                if reading := _scalar(inner, own, must=not isinstance(inner, (Pairs, list))):
                    rest = tidy(inner[reading.end :]) if isinstance(inner, str) else ""
                    yield key.candidate(reading, reason or rest, self.position)


def _with_reason(one: Candidate, reasons: dict[str, str]) -> Candidate:
    if one.reason or one.score not in reasons:
        return one
    return replace(one, reason=reasons[one.score])


def _scalar(value: Any, scale: Scale, *, must: bool) -> Reading | None:
    """`must`: nothing but a score can stand here, so that anything else is a problem."""
    if value is None:
        return Reading(None, "is not given (null)", 0)
    if isinstance(value, Number):
        return read_number(value, scale)
    if isinstance(value, str):
        if is_placeholder(value, scale.of) or not value.strip():
            return None
        text = plain(value)
        if reading := read_at(text, 0, scale):
            return reading
        if not must and (stated := settled(text, scale.of)):
            return Reading(stated[1].value, stated[1].problem, 0, explicit=True)
        return Reading(None, f"is not a number ('{tidy(value, 30)}')", 0) if must else None
    if isinstance(value, bool) and must:
        return Reading(None, "is not a number (true or false)", 0)
    return None


def differences(found: Found) -> list[str] | None:
    """The list of differences in an object, or None where it has none."""
    return _differences(found.value, 0)


def _differences(value: Any, depth: int) -> list[str] | None:
    if not isinstance(value, Pairs) or depth > 3:
        return None
    for name, inner in value.items:
        said = name.strip().lower().replace("_", " ")
        if any(word in said for word in _DIFFERENCE_KEYS):
            if isinstance(inner, Pairs) and (deeper := _differences(inner, depth + 1)) is not None:
                return deeper
            return _texts(inner)
    for _, inner in value.items:
        if (deeper := _differences(inner, depth + 1)) is not None:
            return deeper
    return None


def _texts(value: Any) -> list[str]:
    if isinstance(value, Pairs):
        return [text for _, inner in value.items for text in _texts(inner)]
    if isinstance(value, list):
        joined = [": ".join(_texts(one)) if isinstance(one, Pairs) else one for one in value]
        return [tidy(one) for one in joined if isinstance(one, str) and tidy(one)]
    if isinstance(value, str):
        return [tidy(line) for line in value.split("\n") if tidy(line)]
    return []
