"""The folder of an experiment: its design, written before anything runs, and where things lie.

tuning.json                  design, split, case set, system; never a secret
trainings/TASK/NAME/         adapter/ (a system), run/ (its outputs), finished.json or failed.json
untrained/NAME/              runs of the untouched model and the controls
in-context/TASK/NAME/        runs of the system that is shown pairs; in-context/none without
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from medebench.errors import BusyError, InputError
from medebench.files import TEMPORARY, read_bytes, unwritable, write_json
from medebench.settings import read_settings
from medebench.tuning.train_settings import TrainSettings
from medebench.tuning.tuning_arms import Donor, Planned, TuningSplit, control_samples
from medebench.tuning.tuning_design import Fold, TuningDesign

FILE, FINISHED, FAILED = "tuning.json", "finished.json", "failed.json"
ADAPTER, RUN = "adapter", "run"
#: The pages of results, and of how far it is.
PAGE, PROGRESS = "page", "progress"
VERSION = 1
#: What may grow when an experiment goes on; everything else was declared before it began.
GROWING = ("samples", "controls_at", "draws", "seeds")


@dataclass(frozen=True)
class TuningFolder:
    """An experiment on disk."""

    path: Path
    design: TuningDesign
    split: TuningSplit
    #: Case set, system, versions: for methods and provenance.
    facts: Mapping[str, Any]

    def training(self, one: Planned) -> Path:
        return self.path / "trainings" / slug(one.training.task) / one.training.name

    def untrained(self, name: str) -> Path:
        return self.path / "untrained" / name

    def in_context(self, fold: Fold, draw: int, shown: int) -> Path:
        end = f"-fold{fold.fold}" if fold.fold else ""
        return self.path / "in-context" / slug(fold.task) / f"k{shown}-draw{draw}{end}"

    @property
    def without_any(self) -> Path:
        """The run of the system in context that is shown nothing."""
        return self.path / "in-context" / "none"


def slug(task: str) -> str:
    """A task as the name of a folder; two tasks never have the same."""
    plain = re.sub(r"[^a-z0-9]+", "-", task.casefold()).strip("-")[:60] or "task"
    same = re.sub(r"\W+", " ", task.casefold()).replace(" ", "-").strip("-") == plain
    return plain if same else f"{plain}-{sha256(task.encode()).hexdigest()[:6]}"


def read_tuning(path: str | Path) -> TuningFolder:
    """An experiment that was begun."""
    path = Path(path).expanduser().absolute()
    where = path / FILE
    if not where.is_file():
        raise InputError(f"{path}: not a tuning experiment (it has no {FILE})")
    try:
        told = json.loads(read_bytes(where))
        if told["version"] != VERSION:
            raise InputError(f"{where}: of another version; use the medebench that wrote it")
        return TuningFolder(path, _design(told["design"]), _split(told["split"]), told["facts"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{where}: cannot be read ({error}); restore it from a backup") from error


def begin_tuning(
    path: Path, design: TuningDesign, split: TuningSplit, facts: Mapping[str, Any]
) -> TuningFolder:
    """Write down what was declared, or what has grown; another experiment's folder is refused."""
    folder = TuningFolder(path, design, split, facts)
    if (path / FILE).exists():
        before = read_tuning(path)
        require_same(before, design, split, facts)
        folder = replace(folder, facts={**facts, "begun": before.facts.get("begun")})
    write_json(path / FILE, _told(folder))
    return folder


def require_free(path: Path) -> None:
    """Nobody's files are in the way of a new experiment."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: is a file; choose another --out")
    if path.is_dir() and not (path / FILE).is_file() and any(map(_is_foreign, path.iterdir())):
        raise InputError(f"{path}: is not empty and not a tuning experiment; choose another --out")


def _is_foreign(child: Path) -> bool:
    return child.name != ".lock" and not child.name.startswith(TEMPORARY)


def as_before(design: TuningDesign, before: TuningDesign) -> TuningDesign:
    """What was left open then was decided then; controls stay where they were besides."""
    return replace(
        design,
        steps=design.steps or before.steps,
        primary=design.primary or before.primary,
        controls_at=tuple(sorted({*before.controls_at, *control_samples(design)})),
    )


def require_same(
    before: TuningFolder, design: TuningDesign, split: TuningSplit, facts: Mapping[str, Any]
) -> None:
    """Refused unless it only adds draws, seeds or samples."""
    require_growth(before, design, tuple(one.name for one in fields(TuningDesign)))
    for name, noun in (
        ("cases", "cases have changed or are others"),
        ("weights", "weights differ"),
    ):
        if before.facts.get(name) != facts.get(name):
            raise InputError(f"{before.path}: its {noun}; choose another --out")
    _require_split(before, split)


def require_growth(
    before: TuningFolder, design: TuningDesign, names: Sequence[str] = GROWING[:1] + GROWING[2:]
) -> None:
    """These settings are as they were, or have grown where they may."""
    for name in names:
        old, new = getattr(before.design, name), getattr(design, name)
        if _open(old) == _open(new) or (name in GROWING and _grows(old, new)):
            continue
        raise InputError(
            f"{before.path}: holds another experiment ({_difference(name, _open(old), _open(new))})"
            "; only draws, seeds and samples may be added; choose another --out"
        )


def _require_split(before: TuningFolder, split: TuningSplit) -> None:
    """The same test cases, and draws that begin as they did."""
    same = [(one.task, one.fold, one.test) for one in before.split.folds] == [
        (one.task, one.fold, one.test) for one in split.folds
    ]
    pairs = [
        (old, new)
        for left, right in zip(before.split.folds, split.folds, strict=False)
        for old, new in zip(left.draws, right.draws, strict=False)
    ]
    now = {(one.task, one.fold, one.draw): one.cases for one in split.donors}
    pairs += [
        (one.cases, now.get((one.task, one.fold, one.draw), ())) for one in before.split.donors
    ]
    if not same or any(new[: len(old)] != old for old, new in pairs):
        raise InputError(
            f"{before.path}: samples: so many pairs do not fit beside the test cases that were "
            "drawn; choose another --out for them"
        )


def _open(value: Any) -> Any:
    """Without the password that an address may hold."""
    return re.sub(r"//[^/@,]*@", "//", value) if isinstance(value, str) else value


def _grows(old: Any, new: Any) -> bool:
    return set(old) <= set(new) if isinstance(old, tuple) else bool(new >= old)


def _difference(name: str, old: Any, new: Any) -> str:
    if isinstance(old, TrainSettings):
        told, now = old.model_dump(), new.model_dump()
        differing = next(one for one in told if told[one] != now[one])
        return f"train.{differing} is {told[differing]!r} there, {now[differing]!r} now"
    return f"{name} is {_plain(old)!r} there, {_plain(new)!r} now"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """For one process at a time."""
    from filelock import FileLock, Timeout

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        with FileLock(path / ".lock", timeout=0):
            yield
    except Timeout:
        raise BusyError(
            f"{path}: another medebench is working on this experiment; wait for it to finish"
        ) from None


def _told(folder: TuningFolder) -> dict[str, Any]:
    design = {one.name: getattr(folder.design, one.name) for one in fields(TuningDesign)}
    design |= {name: _open(design[name]) for name in ("system", "in_context", "judge")}
    design["train"] = folder.design.train.model_dump(mode="json")
    split = {
        "folds": [asdict(one) for one in folder.split.folds],
        "elsewhere": dict(folder.split.elsewhere),
        "donors": [asdict(one) for one in folder.split.donors],
    }
    return {"version": VERSION, "design": design, "split": split, "facts": dict(folder.facts)}


def _design(told: Mapping[str, Any]) -> TuningDesign:
    given: dict[str, Any] = {
        name: tuple(one) if isinstance(one, list) else one for name, one in told.items()
    }
    given["train"] = read_settings(TrainSettings, dict(told["train"]), "train")
    return TuningDesign(**given)


def _split(told: Mapping[str, Any]) -> TuningSplit:
    folds = [
        Fold(
            one["task"],
            one["fold"],
            tuple(one["test"]),
            tuple(map(tuple, one["draws"])),
            one["pool"],
        )
        for one in told["folds"]
    ]
    donors = [Donor(**{**one, "cases": tuple(one["cases"])}) for one in told["donors"]]
    elsewhere = {task: tuple(cases) for task, cases in told["elsewhere"].items()}
    return TuningSplit(tuple(folds), elsewhere, tuple(donors))
