"""Rubrics: what a judge is asked, as versioned data, and a case put into it.

Scores, the roles that are shown and the names that answers are read by are all data; the words of
the built-in ones are in `rubrics/*.yaml`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from medebench.cases.case import Case, id_problem
from medebench.judge.parser import Label, Vocabulary
from medebench.metrics.metric import Undefined
from medebench.models.prompt_text import PLACEHOLDER, delimited, put, visible_line
from medebench.outputs import Part as OutputPart
from medebench.reason import Reason

DEFAULT = "description"
#: Raised when the way of putting a rubric together changes, so that hashes change with it.
ASSEMBLY = 1
#: The scores of the first rubrics with their keys; they have a place in every hash.
USUAL = {"ea": "editing_accuracy", "vq": "visual_quality", "context": "contextual_preservation"}
_USUAL_ROLES = ("previous", "output", "reference")
#: No underscore: in the name of a metric it ends the score and begins the judge.
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class Slot:
    """The place of the picture or text of this role."""

    role: str


Part = str | Slot


@dataclass(frozen=True)
class Turn:
    """One message to the judge, and the schema of what it is to answer."""

    parts: tuple[Part, ...]
    schema: dict[str, Any]


@dataclass(frozen=True)
class Filled:
    """A rubric with a case put in: one turn, or two if the rubric says `calls: 2`."""

    system: str
    turns: tuple[Turn, ...]


class Rubric(BaseModel):
    """What is asked, how, and under which name and version it is cited."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    version: int = Field(ge=1)
    #: The text of the case that says what was wanted.
    guide: Literal["description", "prompt", "none"] = "description"
    #: `optional` shows the reference where there is one; scores with and without do not compare.
    reference: Literal["required", "optional", "never"] = "required"
    scores: tuple[str, ...] = Field(("ea", "vq"), min_length=1)
    scale: str = "0-10"
    calls: Literal[1, 2] = 1
    temperature: float = Field(0.0, ge=0, le=2)
    system: str = Field(min_length=1)
    #: By role, in the order in which they are shown; what begins with `reference` comes last.
    captions: dict[str, str]
    #: Asks for a list of differences before anything is scored; empty: it is not asked for.
    step1: str = ""
    step2: str = Field(min_length=1)
    criteria: dict[str, str]
    reference_note: str = ""
    answer: str = Field(min_length=1)
    labels: dict[str, Label] = Field(default_factory=dict)

    @field_validator("*", mode="after")
    @classmethod
    def _trimmed(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: cls._trimmed(text) for name, text in value.items()}
        if not isinstance(value, str):
            return value
        return "\n".join(line.rstrip() for line in value.strip().split("\n"))

    @model_validator(mode="after")
    def _whole(self) -> Rubric:
        if problem := id_problem(self.name):
            raise ValueError(f"name: {self.name!r} {problem}")
        if len(set(self.scores)) < len(self.scores):
            raise ValueError("scores: lists one twice")
        for score in self.scores:
            if not _NAME.fullmatch(score):
                raise ValueError(f"scores: {score!r}: use lower-case letters, digits and hyphens")
            if not self.criteria.get(score):
                raise ValueError(f"criteria.{score}: is missing, and 'scores' asks for {score}")
        scale = re.fullmatch(r"(\d{1,4})-(\d{1,4})", self.scale)
        if scale is None or int(scale[1]) >= int(scale[2]):
            raise ValueError("scale: expected the lowest and the highest score, such as 0-10")
        if empty := [role for role, text in self.captions.items() if not text]:
            raise ValueError(f"captions.{empty[0]}: is empty")
        if not any(role.startswith("output") for role in self.captions):
            raise ValueError("captions.output: is missing")
        if self.reference != "never" and not self._references:
            raise ValueError("captions.reference: is missing; or set 'reference: never'")
        if self.calls == 2 and not self.step1:
            raise ValueError("step1: is missing, and 'calls: 2' asks it first")
        self._check_placeholders()
        return self

    def _check_placeholders(self) -> None:
        needed = {"step2": {"criteria"}, "answer": {"skeleton"}}
        if self.guide != "none":
            needed["step2"].add("expected")
        for field in ("system", "step1", "step2", "reference_note", "answer"):
            allowed = needed.get(field, set())
            found = PLACEHOLDER.findall(getattr(self, field))
            for name in found:
                if name not in allowed:
                    raise ValueError(f"{field}: no such placeholder: {{{name}}}")
            for name in sorted(allowed):
                if found.count(name) != 1:
                    raise ValueError(f"{field}: needs the placeholder {{{name}}} once")

    @cached_property
    def hash(self) -> str:
        """SHA-256 of what is asked; layout, comments and key order of the file do not matter.

        What came after the first rubrics counts where it is used, so that theirs stay the same.
        """
        content = {"assembly": ASSEMBLY, **self.model_dump(mode="json", exclude={"labels"})}
        content["criteria"] = dict.fromkeys(USUAL, "") | self.criteria
        if set(self.captions) != set(_USUAL_ROLES):
            content["roles"] = list(self.captions)
        keys = {score: self.vocabulary.labels[score].key for score in self.scores}
        if own := {score: key for score, key in keys.items() if key != usual_key(score)}:
            content["keys"] = own
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8")).hexdigest()

    @property
    def label(self) -> str:
        return f"{self.name} v{self.version} ({self.hash[:8]})"

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest score."""
        low, _, top = self.scale.partition("-")
        return int(low), int(top)

    def share(self, value: float) -> float:
        """A score of this rubric on 0-1."""
        low, top = self.limits
        return (value - low) / (top - low)

    @property
    def vocabulary(self) -> Vocabulary:
        """The names that answers are read by; a score without a label goes by its own name."""
        given = self.labels | {one: Label() for one in self.scores if one not in self.labels}
        keys = {name: one.key or usual_key(name) for name, one in given.items()}
        labels = tuple(
            (name, one.model_copy(update={"key": keys[name]})) for name, one in given.items()
        )
        return _vocabulary(labels, self.scores, *self.limits)

    @property
    def _references(self) -> list[str]:
        return [role for role in self.captions if role.startswith("reference")]

    @property
    def roles(self) -> list[str]:
        """What is shown, in order; of the reference, what this rubric never shows is left out."""
        first = [role for role in self.captions if role not in self._references]
        if set(first) == {"previous", "output"}:
            first = ["previous", "output"]
        return first + (self._references if self.reference != "never" else [])

    @property
    def looks_at(self) -> tuple[OutputPart, ...]:
        """The parts of an output that are shown."""
        shown: dict[str, OutputPart] = {"output": "image", "output_text": "text"}
        return tuple(part for role, part in shown.items() if role in self.captions)

    def fill(self, case: Case, there: Collection[str]) -> Filled:
        """The rubric for one case of which the roles `there` can be shown.

        Raises Undefined where it lacks what the rubric needs. Nothing of the case but its
        description or prompt goes in: no id, path, organ or source.
        """
        expected = self._expected(case)
        references = [role for role in self.roles if role.startswith("reference")]
        if not all(role in there for role in references):
            if self.reference == "required":
                raise Undefined(self._no_reference())
            references = []
        looking: list[Part] = []
        for role in self.roles:
            if not role.startswith("reference"):
                if role not in there:
                    words = f"there is no {role}, which rubric '{self.name}' shows"
                    kind = "no-part" if role.startswith("output") else "undefined"
                    raise Undefined(Reason(kind, words))
                looking += [self.captions[role], Slot(role)]
        criteria = "\n".join(f"- {self.criteria[score]}" for score in self.scores)
        scoring: list[Part] = []
        for role in references:
            scoring += [self.captions[role], Slot(role)]
        if references and self.reference_note:
            scoring.append(self.reference_note)
        scoring.append(put(self.step2, expected=expected, criteria=criteria))
        if not self.step1:
            return Filled(self.system, (self._turn(looking + scoring, False, self.scores),))
        looking.append(self.step1)
        if self.calls == 1:
            return Filled(self.system, (self._turn(looking + scoring, True, self.scores),))
        first, second = self._turn(looking, True, ()), self._turn(scoring, False, self.scores)
        return Filled(self.system, (first, second))

    def _expected(self, case: Case) -> str:
        if self.guide == "none":
            return ""
        expected = visible_line(case.description if self.guide == "description" else case.prompt)
        if not expected:
            raise Undefined(f"the case has no {self.guide}, which rubric '{self.name}' needs")
        return delimited(expected)

    def _no_reference(self) -> str:
        hint = f"; take one without, such as '{self.guide}-no-reference'"
        return f"the case has no reference, which rubric '{self.name}' shows" + (
            hint if self.guide != "none" else ""
        )

    def _turn(self, parts: list[Part], differences: bool, scores: tuple[str, ...]) -> Turn:
        keys = [self.vocabulary.labels[score].key for score in scores]
        form = put(self.answer, skeleton=_skeleton(differences, keys))
        return Turn((*parts, form), _schema(differences, keys, *self.limits))


def usual_key(score: str) -> str:
    return USUAL.get(score, score.replace("-", "_"))


@lru_cache(maxsize=64)
def _vocabulary(
    labels: tuple[tuple[str, Label], ...], scores: tuple[str, ...], low: int, top: int
) -> Vocabulary:
    return Vocabulary(dict(labels), scores, low, top)


def _skeleton(differences: bool, keys: list[str]) -> str:
    lines = ['  "differences": ["<one visible difference>", "<the next>"]'] if differences else []
    form = '{"reason": "<one or two sentences>", "score": <number>}'
    lines += [f'  "{key}": {form}' for key in keys]
    return "{\n" + ",\n".join(lines) + "\n}"


def _schema(differences: bool, keys: list[str], low: int, top: int) -> dict[str, Any]:
    """Only keywords that all servers with structured output accept: no minimum, no maximum.

    The range is checked when the answer is read. Reasons come before numbers, as models write in
    this order.
    """
    members: dict[str, Any] = {}
    if differences:
        members["differences"] = {"type": "array", "items": {"type": "string"}}
    for key in keys:
        number = {"type": "number", "description": f"from {low} to {top}"}
        members[key] = _object({"reason": {"type": "string"}, "score": number})
    return _object(members)


def _object(members: dict[str, Any]) -> dict[str, Any]:
    rest = {"required": list(members), "additionalProperties": False}
    return {"type": "object", "properties": members, **rest}
