"""From what a model answered to what was asked for, or what is wrong with it; and what it took."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

from medebench.models import Answer
from medebench.models.answers.characters import uniform, without_thoughts
from medebench.models.answers.lenient_json import Pairs, find_objects
from medebench.models.answers.refusal import is_filtered, is_refusal
from medebench.models.prompt_text import visible_line
from medebench.models.writing.text_rules import (
    field_problem,
    paraphrase_problem,
    same,
    sentence_problem,
)
from medebench.models.writing.writer_prompts import FIELDS

T = TypeVar("T")


@dataclass(frozen=True)
class Change:
    """A change in words; `sentence` is what serves as a case's description."""

    modality: str
    action: str
    target: str
    expected_result: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[T]):
    """`value` or `reason`, never both, never neither."""

    value: T | None = None
    reason: str | None = None
    #: For programs: "refused", "unusable", "input", or the kind of a `Fault`.
    kind: str | None = None
    #: Of all answers it took, kept ones included.
    tokens_in: int = 0
    tokens_out: int = 0
    #: US dollars for calls made now, None where a price is not known; kept answers cost nothing.
    cost: float | None = 0.0
    #: No call was made for it.
    cached: bool = False
    #: How many answers were read, and the model that gave the last of them.
    tries: int = 0
    model: str | None = None
    #: Name, version and hash of the words that were used.
    instruction: str = ""

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None) or self.reason == "":
            raise ValueError("needs either a value or a reason")


@dataclass(frozen=True, kw_only=True)
class Written(Outcome[Change]):
    """A change description."""

    @property
    def description(self) -> str | None:
        return self.value.sentence if self.value else None


@dataclass(frozen=True, kw_only=True)
class Paraphrases(Outcome[tuple[str, ...]]):
    """Versions of a prompt, and the one of them that the seed chooses."""

    chosen: str | None = None


def choose(variants: tuple[str, ...], prompt: str, seed: int) -> str:
    """One of `variants`, the same for the same seed and prompt in whatever order they come."""

    def rank(variant: str) -> str:
        return hashlib.sha256(json.dumps([seed, prompt, variant]).encode()).hexdigest()

    return min(variants, key=rank)


#: Characters; no server that keeps to `max_tokens` sends as many.
_LONGEST = 40_000
_LIST = re.compile(r"\[.*\]", re.S)
_NUMBERING = re.compile(r"^\s*(?:\(?\d{1,2}[.):]\s+|[-*•]\s+)")
_QUOTED = re.compile(r"^[\"“]([^\"“”]*)[\"”]$")


@dataclass(frozen=True)
class Reading(Generic[T]):
    """`value`, or what to complain about."""

    value: T | None = None
    problems: tuple[str, ...] = ()
    refused: bool = False

    @property
    def complete(self) -> bool:
        return self.value is not None


def read_change(answers: Sequence[Answer], prompt: str) -> Reading[Change]:
    """The description in the last answer; earlier ones do not count."""
    body, bad = _body(answers[-1])
    if bad is not None:
        return Reading(problems=bad.problems, refused=bad.refused)
    best: tuple[str, ...] | None = None
    for found in reversed(list(_objects(body))):
        if not set(found) & set(FIELDS):
            continue
        values = {name: _line(found.get(name)) for name in FIELDS}
        if values["sentence"] and values["sentence"][-1] not in ".!?":
            values["sentence"] += "."
        problems = _change_problems(values, prompt)
        if not problems:
            return Reading(Change(**values))
        best = min(best, problems, key=len) if best else problems
    if best is None:
        return _without_object(body)
    return Reading(problems=best, refused=all(one.endswith("is a refusal") for one in best))


def _change_problems(values: dict[str, str], prompt: str) -> tuple[str, ...]:
    found = {name: field_problem(text) for name, text in values.items() if name != "sentence"}
    found["sentence"] = sentence_problem(values["sentence"], prompt)
    return tuple(f"'{name}' {problem}" for name, problem in found.items() if problem)


def read_paraphrases(answers: Sequence[Answer], prompt: str, n: int) -> Reading[tuple[str, ...]]:
    """The first `n` good versions of all answers so far."""
    kept: dict[str, str] = {}
    problems: tuple[str, ...] = ()
    refused = False
    for answer in answers:
        body, bad = _body(answer)
        offered = [] if bad is not None else _versions(body)
        if bad is None and not offered:
            bad = _without_object(body)
        problems, refused = (bad.problems, bad.refused) if bad else ((), False)
        seen: set[str] = set()
        for text in offered:
            key = same(text)
            if problem := paraphrase_problem(text, prompt):
                problems += (f"'{text[:80]}' {problem}",)
            elif key == same(prompt):
                problems += (f"'{text[:80]}' equals the instruction",)
            elif key in seen:
                problems += (f"'{text[:80]}' is there twice",)
            else:
                seen.add(key)
                kept.setdefault(key, text)
    if len(kept) >= n:
        return Reading(tuple(kept.values())[:n])
    short = (f"{len(kept)} different versions were usable, {n} are needed",)
    return Reading(problems=problems[:10] + short, refused=refused and not kept)


def as_json(value: Change | tuple[str, ...]) -> str:
    content = asdict(value) if isinstance(value, Change) else {"paraphrases": list(value)}
    return json.dumps(content, ensure_ascii=False)


def _body(answer: Answer) -> tuple[str, Reading[None] | None]:
    """The answer proper, and why it need not be read at all."""
    body = without_thoughts(uniform(answer.text))
    finish = answer.finish.strip().lower()
    if is_filtered(finish):
        return body, Reading(problems=("the answer is a refusal",), refused=True)
    if not body:
        return body, Reading(problems=("the answer is empty",))
    if finish in ("length", "max_tokens") or len(answer.text) > _LONGEST:
        return body, Reading(problems=("the answer is too long or was cut off: keep it shorter",))
    return body, None


def _without_object(body: str) -> Reading[Any]:
    if is_refusal(body):
        return Reading(problems=("the answer is a refusal",), refused=True)
    return Reading(problems=("the answer contains no JSON object with the requested fields",))


def _objects(body: str) -> Iterator[dict[str, Any]]:
    """All objects, inner ones included; keys in one spelling."""
    for found in find_objects(body):
        yield from _inside(found.value)


def _inside(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, Pairs):
        yield {re.sub(r"[\s-]+", "_", key.strip().lower()): inner for key, inner in value.items}
        for _, inner in value.items:
            yield from _inside(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _inside(inner)


def _versions(body: str) -> list[str]:
    """The longest list of texts: under its key, under another, or bare."""
    lists = [value for one in _objects(body) for value in one.values() if isinstance(value, list)]
    if not lists and (bare := _LIST.search(body)):
        wrapped = f'{{"paraphrases": {bare[0]}}}'
        lists = [v for one in _objects(wrapped) for v in one.values() if isinstance(v, list)]
    texts = [[line for value in one if (line := _line(value))] for one in lists]
    return max(texts, key=len, default=[])


def _line(value: Any) -> str:
    """A text as one line without numbering and quotes around it; what is no text is empty."""
    if not isinstance(value, str):
        return ""
    line = _NUMBERING.sub("", visible_line(value))
    quoted = _QUOTED.match(line)
    return quoted[1].strip() if quoted else line
