"""A user's plan of a stress test, read with errors that name the field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from medebench.cases.case import id_problem
from medebench.encoders.encoder_lookup import encoder_name, reads_texts
from medebench.errors import InputError, MedebenchError
from medebench.settings import split_name
from medebench.stresstest.predictors import Predictor, PredictorSpec, find_predictor
from medebench.stresstest.stress_outcome import StressSet, Task
from medebench.yamlfile import parse_fields, read_text

EDITOR = "radedit:microsoft/radedit"
ENCODER = "biovil-t"
THRESHOLD = 0.2


def _label(value: Any) -> Any:
    """YAML reads a bare `no` as false and 1 as a number; a table holds texts."""
    if isinstance(value, bool):
        raise ValueError(f"is read as the boolean {str(value).lower()}; put the label in quotes")
    return str(value) if isinstance(value, int | float) else value


def _labels(value: Any) -> Any:
    if value == []:
        raise ValueError("is empty; name labels, or leave it out")
    return [_label(one) for one in value] if isinstance(value, list) else [_label(value)]


Label = Annotated[str, BeforeValidator(_label)]
Labels = Annotated[list[str], BeforeValidator(_labels)]


def _source(value: str) -> str:
    if not value.strip():
        raise ValueError("is empty; name a column, a folder or a file, or leave it out")
    return value


#: A column, a folder with <id>.png, or one file for all; "none": there is none.
Source = Annotated[str, AfterValidator(_source)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Columns(_Part):
    """Only if the table names its columns differently; a mask may also be a folder or file."""

    id: str | None = None
    image: str | None = None
    label: str | None = None
    caption: str | None = None
    prompt: str | None = None
    mask: Source | None = None
    edit_mask: Source | None = None
    keep_mask: Source | None = None
    group: str | None = None
    bits: str | None = None


class Change(_Part):
    """One change to make to the pictures."""

    #: Labels of the pictures to edit; default: the positive class, or all (segmentation).
    which: Labels | None = None
    #: What they should show afterwards, all of them; default: the column.
    prompt: str | None = None
    #: Instead of it: the column with a text for each.
    prompt_column: str | None = None
    #: True of them afterwards; default: the other label, where there are two.
    label: Label | None = None
    #: What they show before, where the table does not say.
    caption: str | None = None
    edit_mask: Source | None = None
    keep_mask: Source | None = None
    #: How the picture should look, where that is known; kept beside the edit.
    reference: Source | None = None

    @model_validator(mode="after")
    def _one_prompt(self) -> Change:
        if self.prompt is not None and self.prompt_column is not None:
            raise ValueError("prompt and prompt_column: give only one of them")
        return self


class Kind(Change):
    """One of several edits; fields it leaves out come from the plan's `edit`."""

    kind: Label


class Edit(Change):
    editor: str = EDITOR
    #: Pictures to edit at most, drawn with the plan's seed.
    limit: int | None = Field(None, ge=1)
    kinds: list[Kind] = []


class EditScore(_Part):
    encoder: str = ENCODER
    threshold: float = Field(default=THRESHOLD, ge=-1, le=1)


class StressModel(_Part):
    data: str
    name: str | None = None
    #: Paths in the table start here; default: the table's own folder.
    root: str | None = None
    columns: Columns = Columns()
    task: Task
    positive: Label | None = None
    edit: Edit
    edit_score: EditScore | None = EditScore()
    predictor: PredictorSpec
    reference: list[PredictorSpec] = []
    seed: int = Field(0, ge=0)
    out: str | None = None

    @field_validator("edit_score", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        if value is None or value is False or value == "none":
            return None
        return {"encoder": value} if isinstance(value, str) else value

    @field_validator("reference", mode="before")
    @classmethod
    def _several(cls, value: Any) -> Any:
        return [] if value is None else value if isinstance(value, list) else [value]


@dataclass(frozen=True)
class StressPlan:
    """A checked plan; `load` reads and checks the data as well."""

    name: str
    #: The plan's file, for messages.
    where: str
    #: Relative paths in the plan start here.
    folder: Path
    model: StressModel
    editor: str
    #: Empty where edits are not scored.
    encoder: str
    threshold: float
    #: The one under test, then the references.
    predictors: tuple[PredictorSpec, ...]
    seed: int
    out: Path

    @property
    def task(self) -> Task:
        return self.model.task

    @property
    def positive(self) -> str:
        return self.model.positive or ""

    def load(self) -> StressSet:
        """The pictures, their labels or masks, and the edits; InputError for any mistake."""
        from medebench.stresstest.stress_data import load_data

        return load_data(self)

    def find_predictors(self) -> list[Predictor]:
        """The predictor under test, then the references; each ready to be used."""
        found = []
        try:
            for spec in self.predictors:
                found.append(find_predictor(spec, self.task, self.positive))
                if problem := found[-1].problem():
                    raise InputError(f"{self.where}: {problem}")
        except BaseException:
            for one in found:
                one.close()
            raise
        return found


def read_stress(path: str | Path, out: Path | None = None) -> StressPlan:
    """The plan in a YAML file; data and predictors are not opened yet."""
    path = Path(path).expanduser()
    where, folder = str(path), path.absolute().parent
    text = read_text(path, "stress plan", ["acquisition", "manifestation", "population", "demo"])
    model = _validated(where, parse_fields(where, text, "'data:', 'task:' and 'predictor:'"))
    name = model.name or path.stem
    if problem := id_problem(name):
        raise InputError(f"{where}: name: {name!r} {problem}")
    score = model.edit_score
    plan = StressPlan(
        name=name,
        where=where,
        folder=folder,
        model=model,
        editor=editor_seen_from(folder, model.edit.editor),
        encoder=_encoder(where, folder, score.encoder) if score else "",
        threshold=score.threshold if score else THRESHOLD,
        predictors=tuple(one.seen_from(folder) for one in (model.predictor, *model.reference)),
        seed=model.seed,
        out=(out or folder / (model.out or f"stress-{name}")).expanduser().absolute(),
    )
    _check(plan)
    return plan


def _validated(where: str, value: Mapping[str, Any]) -> StressModel:
    try:
        return StressModel.model_validate(value)
    except ValidationError as error:
        raise InputError(f"{where}: {_first(error)}") from None
    except MedebenchError as error:
        raise InputError(f"{where}: predictor: {error}") from None


#: Settings of editors that may name the user's own files.
_PATHS = frozenset(("model", "segmenter", "edit_masks", "keep_masks"))


def editor_seen_from(folder: Path, given: str) -> str:
    """With the file or folder it names, if it is the user's own, as seen from the plan."""
    name, rest = split_name(given)
    if ".py:" in name:
        file, _, attribute = name.rpartition(":")
        name = f"{folder / Path(file).expanduser()}:{attribute}"
    elif (first := rest.partition(",")[0]) and "=" not in first:
        rest = _seen(folder, first) + rest[len(first) :]
    pairs = [one.partition("=") for one in rest.split(",")]
    told = ",".join(
        f"{key}={_seen(folder, value.strip())}" if key.strip() in _PATHS else key + equals + value
        for key, equals, value in pairs
    )
    return f"{name}:{told}" if told else name


def _seen(folder: Path, given: str) -> str:
    """A file or folder, or `file.py:Name`, seen from the plan; anything else stays."""
    file, colon, attribute = given.rpartition(":") if ".py:" in given else (given, "", "")
    path = folder / Path(file).expanduser()
    # A comma would end the setting.
    return f"{path}{colon}{attribute}" if file and path.exists() and "," not in str(path) else given


def _encoder(where: str, folder: Path, given: str) -> str:
    path = folder / Path(given).expanduser()
    spec = str(path) if path.is_dir() else given
    try:
        encoder_name(spec)
    except InputError as error:
        raise InputError(f"{where}: edit_score.encoder: {error}") from None
    if reads_texts(spec) is False:
        raise InputError(f"{where}: edit_score.encoder: {given} has no text encoder; use biovil-t")
    return spec


def _check(plan: StressPlan) -> None:
    model, where = plan.model, plan.where
    if plan.task == "classification" and not plan.positive:
        raise InputError(
            f"{where}: positive: is missing; name the class whose probability is predicted"
        )
    if plan.task == "segmentation" and plan.positive:
        raise InputError(f"{where}: positive: applies to classification only; leave it out")
    kinds = [one.kind for one in model.edit.kinds]
    for kind in kinds:
        if problem := id_problem(kind):
            raise InputError(f"{where}: edit.kinds: kind: {kind!r} {problem}")
        if kinds.count(kind) > 1:
            raise InputError(f"{where}: edit.kinds: two kinds are called {kind!r}; rename one")
    names = [one.called for one in plan.predictors]
    if twice := next((one for one in names if names.count(one) > 1), None):
        raise InputError(
            f"{where}: reference: two predictors are called {twice!r}; give one a 'name'"
        )


_PARTS: dict[tuple[str, ...], type[BaseModel]] = {
    (): StressModel,
    ("columns",): Columns,
    ("edit",): Edit,
    ("edit", "kinds"): Kind,
    ("edit_score",): EditScore,
    ("predictor",): PredictorSpec,
    ("reference",): PredictorSpec,
}


def _shown(part: type[BaseModel]) -> list[str]:
    """Field names, required ones first."""
    return sorted(part.model_fields, key=lambda one: not part.model_fields[one].is_required())


def _first(error: ValidationError) -> str:
    # A field that is misspelled says more than that the right one is missing.
    found = error.errors()
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    words = tuple(str(one) for one in first["loc"])
    place = ".".join(words) or "plan"
    if first["type"] == "extra_forbidden":
        holder = tuple(one for one in words[:-1] if not one.isdecimal())
        known = ", ".join(_PARTS.get(holder, StressModel).model_fields)
        return f"{place}: no such field; there are: {known}"
    if first["type"] == "missing":
        return f"{place}: is missing"
    if first["type"] in ("model_type", "dict_type"):
        part = _PARTS.get(tuple(one for one in words if not one.isdecimal()))
        some = " and ".join(f"'{one}:'" for one in list(_shown(part))[:2]) if part else "'name:'"
        return f"{place}: expected fields such as {some}"
    said = first["msg"].removeprefix("Value error, ")
    return f"{place}: {said[0].lower()}{said[1:]}"
