"""One side of a comparison: the scores of a run by case, from its folder or from a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from medebench.errors import InputError
from medebench.files import read_bytes, unwritable, write_text
from medebench.page.private_paths import without_folders
from medebench.runs.run_folder import Run, open_run
from medebench.runs.score_run import AnyRun

SCHEMA = {"case": pl.String, "k": pl.Int64, "metric": pl.String, "value": pl.Float64}
SCHEMA |= {"reason": pl.String, "kind": pl.String}


class CaseFacts(BaseModel):
    #: Over all texts and files of the case: another one is another case.
    digest: str
    source: str
    #: The leading group, such as the organ.
    group: str = ""
    #: Many images are right: likeness to the one reference describes, and decides nothing.
    open: bool = False


class Baseline(BaseModel):
    """The scores of a run, by case; what `save_baseline` writes."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)
    medebench_baseline: Literal[1] = 1
    run: str
    editor: str
    task: str
    control: bool = False
    #: An adopted folder was to hold every case; what it lacks is a failure.
    adopted: bool = False
    cases: dict[str, CaseFacts] = Field(min_length=1)
    #: case, k, metric, value, reason, kind of reason
    scores: list[tuple[str, int, str, float | None, str | None, str | None]] = Field(min_length=1)
    #: By metric, what its first score says of itself.
    details: dict[str, dict[str, Any]] = {}

    @property
    def frame(self) -> pl.DataFrame:
        return pl.DataFrame(self.scores, schema=SCHEMA, orient="row")


def with_facts(
    rows: pl.DataFrame, run: str, editor: str, control: bool, keys: Mapping[str, CaseFacts]
) -> pl.DataFrame:
    """Rows of scores with what analysis must know of their run and their cases."""
    facts = {"run": run, "editor": editor, "control": control}
    places = {
        column: pl.col("case").replace_strict(
            {case_id: getattr(one, column) for case_id, one in keys.items()},
            return_dtype=pl.String,
        )
        for column in ("group", "source")
    }
    return rows.with_columns(**{name: pl.lit(one) for name, one in facts.items()}, **places)


def read_side(given: AnyRun) -> tuple[Baseline, Run | None]:
    """A run, opened or as a folder, or the file of a baseline."""
    if not isinstance(given, Run):
        path = Path(given).expanduser().absolute()
        if path.is_file():
            return _read(path), None
        given = open_run(path)
    return baseline_of(given), given


def baseline_of(run: Run) -> Baseline:
    """What a comparison needs of a run; scores of changed outputs or cases are reasons."""
    frame, info = run.frame(), run.info
    if frame.is_empty():
        raise InputError(f"{run.path}: has no scores yet; run `medebench score {run.path}`")
    reasons = frame["reason"].drop_nulls().unique().to_list()
    shown = {reason: without_folders(run, reason) for reason in reasons}
    rows = frame.select(list(SCHEMA)).with_columns(pl.col("reason").replace(shown))
    with run.ledger() as ledger:
        known = ledger.clustered_cases()
    leading = next(iter(run.task.groups), "organ")
    opened = {case.id for case in run.cases if run.task.is_open(case)}
    cases = {
        case_id: CaseFacts(
            digest=run.digests.get(case_id, row.digest),
            source=row.source,
            group=row.group(leading),
            open=case_id in opened,
        )
        for case_id, row in known.items()
    }
    details: dict[str, dict[str, Any]] = {}
    for one in run.scores():
        if one.value is not None and one.metric not in details:
            told = ("metric", "judge", "stand_in", "repeats", "version")
            details[one.metric] = {name: one.detail[name] for name in told if name in one.detail}
    return Baseline(
        run=run.name,
        editor=info.editor,
        task=info.task,
        control=info.control,
        adopted=info.adopted_from is not None,
        cases=cases,
        scores=rows.rows(),
        details=details,
    )


def save_baseline(run: AnyRun, out: str | Path) -> Path:
    """Write the scores of a run by case into a file that later runs can be compared with.

    Args:
        run: a scored run, opened or as a folder.
        out: the JSON file; an earlier baseline is replaced, any other file is not.

    Returns:
        The file. It holds no image and no path of this machine.

    >>> run = mb.score(mb.edit("phantoms:count=2", "blur", tmp / "blurred"), "cp")
    >>> mb.save_baseline(run, tmp / "baseline.json").name
    'baseline.json'
    """
    target = Path(out).expanduser().absolute()
    if target.is_dir():
        raise InputError(f"{target}: is a folder; name a file")
    if target.exists():
        try:
            _read(target)
        except InputError as error:
            problem = "exists and is not a baseline; choose another file"
            raise InputError(f"{target}: {problem}") from error
    found = baseline_of(run if isinstance(run, Run) else open_run(run))
    try:
        write_text(target, found.model_dump_json() + "\n")
    except OSError as error:
        raise unwritable(target, error) from error
    return target


def _read(path: Path) -> Baseline:
    try:
        return Baseline.model_validate_json(read_bytes(path))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(
            f"{path}: {field}: {first['msg']}; expected a run's folder, or a file that "
            "`medebench compare RUN --save FILE` wrote"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
