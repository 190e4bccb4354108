"""What a plan may say, and reading one with errors that name the file and the field."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from medebench.aliases import current_name
from medebench.cases.case import id_problem
from medebench.cases.load import is_named_set
from medebench.errors import InputError
from medebench.runs.run_folder import MOST_OUTPUTS
from medebench.tuning.tuning_plan import TuningEntry
from medebench.yamlfile import parse_fields, read_text


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SystemEntry(_Part):
    """`- inpaint:radius=3`, or a mapping with a name of its own; `editor` stands for `system`."""

    system: str
    name: str | None = None
    settings: dict[str, Any] = {}
    outputs: int | None = Field(None, ge=1, le=MOST_OUTPUTS)
    seed: int | None = None
    #: Lists of values to try, all combinations; the best is chosen as the plan's `choose` says.
    sweep: dict[str, list[Any]] = {}
    #: Left out, with a word, where it is not ready (an extra or weights are missing).
    optional: bool = False

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"system": value}
        if isinstance(value, dict) and "editor" in value and "system" not in value:
            return {"system" if key == "editor" else key: one for key, one in value.items()}
        return value


class ChooseEntry(_Part):
    """How the best of a sweep is found: by which score, on which share of the cases."""

    metric: Annotated[str, AfterValidator(current_name)]
    #: Of the cases; they are not reported.
    share: float = Field(0.5, gt=0, lt=1)
    seed: int = 0


class AdoptEntry(_Part):
    folder: str
    name: str | None = None
    control: bool = False


class JudgeEntry(_Part):
    """`judge: offline`, or a mapping with the options of a model."""

    name: str
    base_url: str | None = None
    rubric: str | None = None
    image_size: int | None = None
    repeats: int | None = None
    max_cost: float | None = Field(None, ge=0)

    def options(self) -> dict[str, Any]:
        given = self.model_dump(exclude={"name", "max_cost"})
        return {name: value for name, value in given.items() if value is not None}


class ReportEntry(_Part):
    headline: Literal["cp", "cp_published"] = "cp"
    title: str | None = None
    published: bool = True
    #: Whether a failed output counts as doing nothing in what the page begins with, or is left out.
    failures: Literal["count", "omit"] = "count"
    #: Whether to work out what doing nothing gets, where no control is among the runs.
    scale: bool = True
    #: Whether to say what is wrong with the case set.
    audit: bool = True


class GroundEntry(_Part):
    """`ground: true`, or a mapping with thresholds that differ from the default."""

    thresholds: dict[str, float] = {}


class PlanModel(_Part):
    cases: str
    #: Of a folder with a table; other sets say it themselves.
    task: str | None = None
    organs: list[str] | None = None
    limit: int | None = Field(None, ge=1)
    out: str | None = None
    seed: int = 0
    outputs: int = Field(1, ge=1, le=MOST_OUTPUTS)
    systems: list[SystemEntry] = []
    #: The same by their other name; they come after the systems.
    editors: list[SystemEntry] = []
    choose: ChooseEntry | None = None
    adopt: list[AdoptEntry] = []
    metrics: list[str] | None = None
    #: Findings of an audit; cases that have one are run, but neither scored nor reported.
    without: list[str] = []
    judge: JudgeEntry | None = None
    ground: GroundEntry | None = GroundEntry()
    report: ReportEntry | None = ReportEntry()
    #: An experiment on learning from few pairs, in the folder `tuning`.
    tuning: TuningEntry | None = None

    @property
    def entries(self) -> list[SystemEntry]:
        return self.systems + self.editors

    @field_validator("judge", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @field_validator("ground", "report", mode="before")
    @classmethod
    def _yes_or_no(cls, value: Any) -> Any:
        return {} if value is True else None if value is False else value


@dataclass(frozen=True)
class Plan:
    """A checked plan: what to do, and where."""

    name: str
    model: PlanModel
    out: Path
    #: Relative paths in the plan start here.
    folder: Path

    def __repr__(self) -> str:
        return f"Plan({self.name!r}, out={str(self.out)!r})"

    def path(self, text: str) -> str:
        """A path of the plan as seen from its file; built-in names stay as they are."""
        if ".py:" not in text and (is_named_set(text) or text.startswith("hub:")):
            return text
        return str(self.folder / Path(text).expanduser())


def builtin_plans() -> list[str]:
    folder = resources.files("medebench.plan") / "builtin"
    return sorted(one.name[:-5] for one in folder.iterdir() if one.name.endswith(".yaml"))


def load_plan(plan: str, out: Path | None = None) -> Plan:
    """Read a plan and check it; nothing is done yet.

    Args:
        plan: a YAML file, or the name of a built-in plan.
        out: folder for runs and report; by default the plan's.

    Returns:
        The plan, for `run_plan`.

    >>> mb.load_plan("demo").model.cases
    'phantoms:count=130,seed=0'
    """
    path = Path(plan).expanduser()
    if plan in builtin_plans() and not path.suffix:
        text = (resources.files("medebench.plan") / "builtin" / f"{plan}.yaml").read_text("utf-8")
        where, folder, name = f"built-in plan {plan}", Path.cwd(), plan
    else:
        text = read_text(path, "plan", builtin_plans())
        where, folder, name = str(path), path.absolute().parent, path.stem
    model = _check(where, text)
    target = out if out is not None else folder / (model.out or f"medebench-{name}")
    return Plan(name, model, target.expanduser().absolute(), folder)


def _check(where: str, text: str) -> PlanModel:
    value = parse_fields(where, text, "'cases:' and 'systems:'")
    try:
        model = PlanModel.model_validate(value)
    except ValidationError as error:
        raise InputError(f"{where}: {_first(error)}") from None
    if not model.entries and not model.adopt and model.tuning is None:
        raise InputError(f"{where}: systems: name at least one system, or a folder under 'adopt'")
    _check_sweeps(where, model)
    for name in [one.name for one in model.entries] + [one.name for one in model.adopt]:
        if name is not None and (problem := id_problem(name)):
            raise InputError(f"{where}: name: {name!r} {problem}")
    return model


def _check_sweeps(where: str, model: PlanModel) -> None:
    swept = [one for one in model.entries if one.sweep]
    if swept and model.choose is None:
        raise InputError(
            f"{where}: choose: a sweep needs it; for instance choose: {{metric: cp, share: 0.5}}"
        )
    if model.choose is not None and not swept:
        raise InputError(f"{where}: choose: no system has a sweep to choose from")
    for one in swept:
        for name, values in one.sweep.items():
            if not values:
                raise InputError(f"{where}: sweep: {name}: name at least one value")


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        parts: dict[str, type[BaseModel]] = {
            "systems": SystemEntry,
            "editors": SystemEntry,
            "choose": ChooseEntry,
            "adopt": AdoptEntry,
            "report": ReportEntry,
            "judge": JudgeEntry,
            "ground": GroundEntry,
            "tuning": TuningEntry,
        }
        nested = len(first["loc"]) > 1
        model = parts.get(str(first["loc"][0]), PlanModel) if nested else PlanModel
        known = ", ".join(model.model_fields)
        return f"{place}: no such field; there are: {known}"
    return f"{place}: {first['msg'][0].lower()}{first['msg'][1:]}"
