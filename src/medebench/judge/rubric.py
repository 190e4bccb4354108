"""Rubrics: what a judge is asked, as versioned data, and a case put into it.

The words are in `rubrics/*.yaml`; a user's own file has the same fields, or `extends` one of those.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from medebench.cases.case import Case, id_problem
from medebench.errors import InputError
from medebench.judge.parsing.labels import KEYS
from medebench.metrics.base import Undefined
from medebench.yamlfile import parse_fields, read_text

Score = Literal["ea", "vq", "context"]
Role = Literal["previous", "reference", "output"]
DEFAULT = "description"
#: Raised when the way of putting a rubric together changes, so that hashes change with it.
ASSEMBLY = 1
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_ALLOWED = {"step2": {"expected", "criteria"}, "answer": {"skeleton"}}


@dataclass(frozen=True)
class Slot:
    """The place of the picture of this role."""

    role: Role


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

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(part for turn in self.turns for part in turn.parts)

    @property
    def schema(self) -> dict[str, Any]:
        """The schema of the answer that holds the scores."""
        return self.turns[-1].schema


class _Texts(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="after")
    @classmethod
    def _trimmed(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return "\n".join(line.rstrip() for line in value.strip().split("\n"))


class Captions(_Texts):
    previous: str = Field(min_length=1)
    output: str = Field(min_length=1)
    reference: str = Field(min_length=1)


class Criteria(_Texts):
    ea: str = ""
    vq: str = ""
    context: str = ""


class Rubric(_Texts):
    """What is asked, how, and under which name and version it is cited."""

    name: str
    version: int = Field(ge=1)
    guide: Literal["description", "prompt"] = "description"
    #: `optional` shows the reference where there is one; scores with and without do not compare.
    reference: Literal["required", "optional", "never"] = "required"
    scores: tuple[Score, ...] = Field(("ea", "vq"), min_length=1)
    scale: Literal["0-10"] = "0-10"
    calls: Literal[1, 2] = 1
    temperature: float = Field(0.0, ge=0, le=2)
    system: str = Field(min_length=1)
    captions: Captions
    step1: str = Field(min_length=1)
    step2: str = Field(min_length=1)
    criteria: Criteria
    reference_note: str = ""
    answer: str = Field(min_length=1)

    @model_validator(mode="after")
    def _whole(self) -> Rubric:
        if problem := id_problem(self.name):
            raise ValueError(f"name: {self.name!r} {problem}")
        if len(set(self.scores)) < len(self.scores):
            raise ValueError("scores: names one twice")
        for score in self.scores:
            if not getattr(self.criteria, score):
                raise ValueError(f"criteria.{score}: is missing, and 'scores' asks for {score}")
        for field in ("system", "step1", "step2", "reference_note", "answer"):
            allowed = _ALLOWED.get(field, set())
            found = _PLACEHOLDER.findall(getattr(self, field))
            for name in found:
                if name not in allowed:
                    raise ValueError(f"{field}: no such placeholder: {{{name}}}")
            for name in sorted(allowed):
                if found.count(name) != 1:
                    raise ValueError(f"{field}: needs the placeholder {{{name}}} once")
        return self

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the content; layout, comments and key order of the file do not matter."""
        content = {"assembly": ASSEMBLY, **self.model_dump(mode="json")}
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8")).hexdigest()

    @property
    def label(self) -> str:
        return f"{self.name} v{self.version} ({self.hash[:8]})"

    def fill(self, case: Case, *, reference_there: bool) -> Filled:
        """The rubric for one case. Raises Undefined where the case lacks what the rubric needs.

        Nothing of the case but its description or prompt goes in: no id, path, organ or source.
        """
        expected = visible_line(case.description if self.guide == "description" else case.prompt)
        if not expected:
            raise Undefined(f"the case has no {self.guide}, which rubric '{self.name}' needs")
        if self.reference == "required" and not reference_there:
            raise Undefined(
                f"the case has no reference, which rubric '{self.name}' shows;"
                f" take one without, such as '{self.guide}-no-reference'"
            )
        shown = reference_there and self.reference != "never"
        captions = self.captions
        looking: list[Part] = [captions.previous, Slot("previous")]
        looking += [captions.output, Slot("output"), self.step1]
        criteria = "\n".join(f"- {getattr(self.criteria, score)}" for score in self.scores)
        asked = _put(self.step2, expected=delimited(expected), criteria=criteria)
        scoring: list[Part] = [asked]
        if shown:
            note = [self.reference_note] if self.reference_note else []
            scoring = [captions.reference, Slot("reference"), *note, *scoring]
        if self.calls == 1:
            return Filled(self.system, (self._turn(looking + scoring, True, self.scores),))
        first, second = self._turn(looking, True, ()), self._turn(scoring, False, self.scores)
        return Filled(self.system, (first, second))

    def _turn(self, parts: list[Part], differences: bool, scores: tuple[Score, ...]) -> Turn:
        form = _put(self.answer, skeleton=_skeleton(differences, scores))
        return Turn((*parts, form), _schema(differences, scores))


def _put(text: str, **values: str) -> str:
    """One pass, so that braces inside of a value are never taken for a placeholder."""
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def visible_line(text: str) -> str:
    """Without line breaks and invisible characters: dataset text cannot pose as our own layout."""
    kept = (c for c in text if c.isspace() or unicodedata.category(c)[0] != "C")
    return " ".join("".join(kept).split())


def delimited(text: str) -> str:
    """`text` between tags that it does not contain; the same text always gets the same tags."""
    number = 0
    while True:
        mark = hashlib.sha256(f"{number} {text}".encode()).hexdigest()[:8]
        if mark not in text.lower():
            return f"<data-{mark}>\n{text}\n</data-{mark}>"
        number += 1


def _skeleton(differences: bool, scores: tuple[Score, ...]) -> str:
    lines = ['  "differences": ["<one visible difference>", "<the next>"]'] if differences else []
    lines += [
        f'  "{KEYS[score]}": {{"reason": "<one or two sentences>", "score": <number>}}'
        for score in scores
    ]
    return "{\n" + ",\n".join(lines) + "\n}"


def _schema(differences: bool, scores: tuple[Score, ...]) -> dict[str, Any]:
    """Only keywords that all servers with structured output accept: no minimum, no maximum.

    The range is checked when the answer is read. Reasons come before numbers, as models write in
    this order.
    """
    members: dict[str, Any] = {}
    if differences:
        members["differences"] = {"type": "array", "items": {"type": "string"}}
    for score in scores:
        number = {"type": "number", "description": "from 0 to 10"}
        members[KEYS[score]] = _object({"reason": {"type": "string"}, "score": number})
    return _object(members)


def _object(members: dict[str, Any]) -> dict[str, Any]:
    rest = {"required": list(members), "additionalProperties": False}
    return {"type": "object", "properties": members, **rest}


def builtin_rubrics() -> list[str]:
    folder = resources.files("medebench.judge") / "rubrics"
    return sorted(one.name[:-5] for one in folder.iterdir() if one.name.endswith(".yaml"))


def load_rubric(name_or_path: str | Path = DEFAULT) -> Rubric:
    """A built-in rubric by name, or the one in a YAML file."""
    name = str(name_or_path)
    builtin = name in builtin_rubrics()
    where = f"built-in rubric {name}" if builtin else str(Path(name).expanduser())
    try:
        return Rubric.model_validate(_content(name, where, ()))
    except ValidationError as error:
        raise InputError(f"{where}: {_first(error)}") from None


def _content(name: str, where: str, seen: tuple[str, ...]) -> dict[str, Any]:
    """The fields of a rubric file on top of those of the built-in one that it extends."""
    fields = parse_fields(where, _read(name, where), "'name:', 'version:' and 'step1:'")
    base = fields.pop("extends", None)
    if base is None:
        return fields
    if base not in builtin_rubrics() or base in seen:
        raise InputError(f"{where}: extends: must be one of {', '.join(builtin_rubrics())}")
    below = _content(base, f"built-in rubric {base}", (*seen, base))
    for field in ("captions", "criteria"):
        if isinstance(fields.get(field), dict):
            fields[field] = below[field] | fields[field]
    return below | fields


def _read(name: str, where: str) -> str:
    if name in builtin_rubrics():
        file = resources.files("medebench.judge") / "rubrics" / f"{name}.yaml"
        return file.read_text("utf-8")
    return read_text(Path(where), "rubric", builtin_rubrics())


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = f"no such field; there are: {', '.join(Rubric.model_fields)}"
    elif first["type"] == "missing":
        message = "is missing"
    return " ".join(f"{place}: {message[0].lower()}{message[1:]}".lstrip(": ").split())
