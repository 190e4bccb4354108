"""Rubrics: what a judge is asked, as versioned data, and a case put into it.

Scores, the roles that are shown and the names that answers are read by are all data; the words of
the built-in ones are in `rubrics/*.yaml`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from functools import cached_property, lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from medebench.cases.case import Case, id_problem
from medebench.judge.asked_parts import OUTPUTS, REFERENCES, asked_parts, case_format
from medebench.judge.parser import Label, Vocabulary
from medebench.judge.question_form import Filled, Part, Slot, Turn, answer_schema, skeleton
from medebench.judge.shown_order import neutral_labels, shuffled
from medebench.metrics.metric import Undefined
from medebench.models.prompt_text import PLACEHOLDER, delimited, put, visible_line
from medebench.outputs import Part as OutputPart
from medebench.reason import Reason
from medebench.tasks.medgen_tasks import Format

DEFAULT = "description"
#: Raised when the way of putting a rubric together changes, so that hashes change with it.
ASSEMBLY = 1
#: The scores of the first rubrics with their keys; they have a place in every hash.
USUAL = {"ea": "editing_accuracy", "vq": "visual_quality", "context": "contextual_preservation"}
_USUAL_ROLES = ("previous", "output", "reference")
#: Fields that came later; they count in a hash where they are used.
_LATER = ("shows", "parts", "when", "shuffled", "overall", "counts")
#: What we compute of the scores that apply, and what it is called.
COMPUTED = {"mean": "overall", "sum": "errors"}
#: Under which key a judge writes its own opinion of the whole, and how models call it.
OWN = "overall"
_OWN_LABEL = Label(key=OWN, spellings=("overall score", "overall rating", "overall assessment"))
#: No underscore: in the name of a metric it ends the score and begins the judge.
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


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
    #: "asked": of output and reference only the parts that the case asks for, and all its inputs.
    shows: Literal["all", "asked"] = "all"
    #: By score, the parts that an output must have for it to be asked.
    parts: dict[str, tuple[OutputPart, ...]] = Field(default_factory=dict)
    #: By score, the kinds of work it is asked for, where not for all.
    when: dict[str, tuple[Format, ...]] = Field(default_factory=dict)
    #: Images, and texts, come in an order of the seed, as "Exhibit 1", "Exhibit 2", ...
    shuffled: bool = False
    #: What medebench computes of the scores that apply; of a mean, the judge's own is kept beside.
    overall: Literal["mean", "sum", ""] = ""
    #: Scores are numbers of errors: whole, kept as they are, lower is better.
    counts: bool = False

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
        self._check_choices()
        self._check_placeholders()
        return self

    def _check_choices(self) -> None:
        """The fields that say what is asked when, and what is made of it."""
        for name in ("parts", "when"):
            if unknown := sorted(set(getattr(self, name)) - set(self.scores)):
                raise ValueError(f"{name}.{unknown[0]}: is none of the scores")
        if (self.parts or self.when) and self.shows != "asked":
            raise ValueError("shows: must be 'asked' where a score has 'parts' or 'when'")
        if self.shuffled and self.step1:
            raise ValueError("shuffled: works without step1, which speaks of images by their place")
        if self.overall and COMPUTED[self.overall] in self.scores:
            raise ValueError(f"scores: '{COMPUTED[self.overall]}' is computed, and cannot be asked")
        if self.counts and (self.limits[0] != 0 or self.overall == "mean"):
            raise ValueError("counts: need a scale from 0, and 'overall: sum' if any")
        if self.overall == "sum" and not self.counts:
            raise ValueError("overall: only counts are summed; use 'mean'")

    def _check_placeholders(self) -> None:
        needed = {"step2": {"criteria"}, "answer": {"skeleton"}}
        if self.guide != "none":
            needed["step2"].add("expected")
        for place in ("system", "step1", "step2", "reference_note", "answer"):
            wanted = needed.get(place, set())
            found = PLACEHOLDER.findall(getattr(self, place))
            ends = {"low", "top"} if place == "step2" else set()
            for name in found:
                if name not in wanted | ends:
                    raise ValueError(f"{place}: no such placeholder: {{{name}}}")
            for name in sorted(wanted):
                if found.count(name) != 1:
                    raise ValueError(f"{place}: needs the placeholder {{{name}}} once")

    @cached_property
    def hash(self) -> str:
        """SHA-256 of what is asked; layout, comments and key order of the file do not matter.

        What came after the first rubrics counts where it is used, so that theirs stay the same.
        """
        plain = {name for name in _LATER if not getattr(self, name) or name == "shows"}
        asked = self.model_dump(mode="json", exclude={"labels", *plain})
        content = {"assembly": ASSEMBLY, **asked}
        if self.shows != "all":
            content["shows"] = self.shows
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
        """A score of this rubric on 0-1; a count stays one."""
        low, top = self.limits
        return value if self.counts else (value - low) / (top - low)

    @property
    def computed(self) -> str:
        """The score that we compute, or nothing."""
        return COMPUTED.get(self.overall, "")

    @property
    def every_score(self) -> tuple[str, ...]:
        """All that is written to the ledger: what may be asked, and what is computed of it."""
        return (*self.scores, self.computed) if self.overall else self.scores

    @property
    def asks_own(self) -> bool:
        """Whether the judge is asked for its own opinion of the whole."""
        return self.overall == "mean"

    def scores_for(self, parts: Collection[OutputPart], kind: Format) -> tuple[str, ...]:
        """The scores that apply to an output of these parts, in this kind of work."""
        return tuple(
            score
            for score in self.scores
            if set(self.parts.get(score, ())) <= set(parts)
            and kind in self.when.get(score, (kind,))
        )

    @property
    def vocabulary(self) -> Vocabulary:
        """The names that answers are read by; a score without a label goes by its own name."""
        given = self.labels | {one: Label() for one in self.scores if one not in self.labels}
        keys = {name: one.key or usual_key(name) for name, one in given.items()}
        labels = tuple(
            (name, one.model_copy(update={"key": keys[name]})) for name, one in given.items()
        )
        return _vocabulary(labels, self.scores, *self.limits, self.counts)

    @property
    def own_vocabulary(self) -> Vocabulary:
        """The names that the judge's own opinion of the whole is read by."""
        return _vocabulary(((OWN, _OWN_LABEL),), (OWN,), *self.limits, self.counts)

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
        """The parts that every output must have, because they are shown."""
        if self.shows == "asked":
            return ()
        shown: dict[str, OutputPart] = {"output": "image", "output_text": "text"}
        return tuple(part for role, part in shown.items() if role in self.captions)

    def fill(self, case: Case, there: Collection[str], seed: str = "") -> Filled:
        """The rubric for one case of which the roles `there` can be shown.

        Raises Undefined where it lacks what the rubric needs. Nothing of the case but its
        description or prompt goes in: no id, path, organ or source. `seed` decides the order of
        what is shown, where the rubric shuffles.
        """
        expected = self._expected(case)
        first, references, scores = self._asked(case, there)
        if self.reference != "required" and not all(role in there for role in references):
            references = []
        for role in (*first, *references):
            if role not in there:
                raise Undefined(self._missing(role))
        roles: tuple[str, ...] = (*first, *references)
        inputs = [role for role in roles if role == "previous" or role in case.images]
        if self.shuffled:
            roles = shuffled(roles, inputs, seed)
        labelled = neutral_labels(roles) if self.shuffled else {}
        heads = {role: self._caption(role, labelled, inputs) for role in roles}
        looking: list[Part] = []
        scoring: list[Part] = []
        for role in roles:
            (scoring if role in references and not labelled else looking).extend(
                [heads[role], Slot(role)]
            )
        if references and self.reference_note:
            scoring.append(self.reference_note)
        scoring.append(self._step2(expected, scores))
        turns: tuple[Turn, ...]
        if self.calls == 1:
            step1 = [self.step1] if self.step1 else []
            turns = (self._turn([*looking, *step1, *scoring], bool(step1), scores),)
        else:
            turns = (
                self._turn([*looking, self.step1], True, ()),
                self._turn(scoring, False, scores),
            )
        return Filled(self.system, turns, scores, labelled)

    def _asked(
        self, case: Case, there: Collection[str]
    ) -> tuple[list[str], list[str], tuple[str, ...]]:
        """What is shown of the case and of the output, what as reference, and what is scored."""
        first = [role for role in self.roles if role not in self._references]
        references = [role for role in self.roles if role in self._references]
        if self.shows == "all":
            return first, references, self.scores
        parts = asked_parts(case, [part for part, role in OUTPUTS.items() if role in there])
        scores = self.scores_for(parts, case_format(case, parts)) if parts else ()
        if not scores:
            words = f"rubric '{self.name}' asks nothing about an output of this kind"
            raise Undefined(Reason("not-applicable", words))
        asked = {role[part] for part in parts for role in (OUTPUTS, REFERENCES)}
        other = {*OUTPUTS.values(), *REFERENCES.values()} - asked
        shown = [role for role in first if role not in other and role != "previous"]
        if "choices" not in there:
            shown = [role for role in shown if role != "choices"]
        inputs = list(case.inputs()) if "previous" in self.captions else []
        return [*inputs, *shown], [role for role in references if role in asked], scores

    def _missing(self, role: str) -> Reason:
        if role.startswith("reference"):
            return Reason("undefined", self._no_reference())
        kind = "no-part" if role.startswith("output") else "undefined"
        return Reason(kind, f"there is no {role}, which rubric '{self.name}' shows")

    def _caption(self, role: str, labelled: Mapping[str, str], inputs: list[str]) -> str:
        caption = self.captions[role if role in self.captions else "previous"]
        if role in inputs and len(inputs) > 1:
            caption += f" ({inputs.index(role) + 1} of {len(inputs)})"
        return f"{labelled[role]}: {caption}" if role in labelled else caption

    def _step2(self, expected: str, scores: tuple[str, ...]) -> str:
        criteria = "\n".join(f"- {self.criteria[score]}" for score in scores)
        low, top = map(str, self.limits)
        return put(self.step2, expected=expected, criteria=criteria, low=low, top=top)

    def _expected(self, case: Case) -> str:
        if self.guide == "none":
            return ""
        expected = visible_line(case.description if self.guide == "description" else case.prompt)
        if not expected:
            raise Undefined(f"the case has no {self.guide}, which rubric '{self.name}' needs")
        return delimited(expected)

    def _no_reference(self) -> str:
        without = f"{'medgen-clinical' if self.shows == 'asked' else self.guide}-no-reference"
        hint = f"; take one without, such as '{without}'" if self.guide != "none" else ""
        return f"the case has no reference, which rubric '{self.name}' shows{hint}"

    def _turn(self, parts: list[Part], differences: bool, scores: tuple[str, ...]) -> Turn:
        keys = [self.vocabulary.labels[score].key for score in scores]
        keys += [OWN] if self.asks_own and scores else []
        form = put(self.answer, skeleton=skeleton(differences, keys, self.counts))
        return Turn((*parts, form), answer_schema(differences, keys, *self.limits, self.counts))


def usual_key(score: str) -> str:
    return USUAL.get(score, score.replace("-", "_"))


@lru_cache(maxsize=64)
def _vocabulary(
    labels: tuple[tuple[str, Label], ...],
    scores: tuple[str, ...],
    low: int,
    top: int,
    counts: bool,
) -> Vocabulary:
    return Vocabulary(dict(labels), scores, low, top, counts)
