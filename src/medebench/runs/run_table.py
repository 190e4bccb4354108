"""The scores of a run as tables: one row per output and metric, one per metric of the whole set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from medebench.errors import InputError
from medebench.reason import kind_of
from medebench.runs.ledger import CaseRow

if TYPE_CHECKING:
    import polars as pl

    from medebench.runs.run_folder import Contents, Run

#: The columns of the long table that `medebench export` writes, in this order; further groups of
#: the cases follow.
COLUMNS = (
    *("run", "editor", "organ", "task", "case", "k", "metric", "value", "reason", "finding"),
    *("kind", "cause"),
)
#: Columns of `Run.frame`: a cause is read from the words of a reason, by whoever shows it.
_FRAME = COLUMNS[:-1]
#: Columns of `Run.frame` that an export leaves out.
UNEXPORTED = ("control", "source")
_SETS = (
    *("metric", "part", "value", "low", "high", "n", "n_references", "floor", "reason"),
    "variant",
)
#: What is no text.
_TYPES = dict.fromkeys(("k", "n", "n_references"), "Int64") | {"control": "Boolean"}
_TYPES |= dict.fromkeys(("value", "low", "high", "floor"), "Float64")


def score_table(run: Run, read: Contents) -> pl.DataFrame:
    """One row per case, k and metric, with a value or a reason and its kind."""
    import polars as pl

    groups = further_groups(run, read.cases.values())
    ends = {row.case_id: tuple(row.group(name) for name in groups) for row in read.cases.values()}
    about = run.name, run.info.editor

    def line(case: CaseRow, k: int, metric: str, *found: Any) -> tuple[Any, ...]:
        place = (*about, case.organ, case.task, case.case_id, k, metric)
        return (*place, *found, run.info.control, case.source, *ends[case.case_id])

    rows, made, metrics = [], set(read.outputs), set()
    for row in run.scores(read):
        made.add((row.case_id, row.k))
        metrics.add(row.metric)
        kind = None if row.reason is None else kind_of(row.reason)
        found = (row.value, row.reason, row.detail.get("type"), kind)
        rows.append(line(read.cases[row.case_id], row.k, row.metric, *found))
    for case, k in _not_made(run, read.cases.values(), made):
        missing = (None, "not made yet", None, "not-made")
        rows += [line(case, k, metric, *missing) for metric in sorted(metrics)]
    schema = _schema((*_FRAME, *UNEXPORTED)) | dict.fromkeys(map(_column, groups), pl.String)
    return pl.DataFrame(rows, schema=schema, orient="row")


def _schema(names: Iterable[str]) -> dict[str, Any]:
    import polars as pl

    return {name: getattr(pl, _TYPES.get(name, "String")) for name in names}


def _not_made(
    run: Run, cases: Iterable[CaseRow], made: set[tuple[str, int]]
) -> Iterator[tuple[CaseRow, int]]:
    """Outputs that were asked for and are not there yet: they count as missing."""
    if run.info.adopted_from is None:
        every = ((case, k) for case in cases for k in range(run.info.outputs_per_case))
        yield from (one for one in every if (one[0].case_id, one[1]) not in made)


def further_groups(run: Run, cases: Iterable[CaseRow]) -> list[str]:
    """Named groups besides organ and task: those of the task first, then the others by name.

    The modality is among them where the task says so.
    """
    named = {name for case in cases for name in case.groups}
    try:
        leading = [name for name in run.task.groups if name in named]
    except InputError:
        # Scores can be shown where the file of their task is not at hand.
        leading = []
    rest = sorted(named - {*leading, "modality"})
    return [name for name in (*leading, *rest) if name not in ("organ", "task")]


def _column(group: str) -> str:
    taken = group in COLUMNS or group in UNEXPORTED
    return f"{group} (group)" if taken else group


def set_table(run: Run) -> pl.DataFrame:
    """One row per metric of sets, for all outputs and for each part of them."""
    import polars as pl

    rows = [
        {name: getattr(r, name, None) for name in _SETS}
        | {"floor": r.detail.get("floor")}
        | dict(zip(("low", "high"), r.interval or (None, None), strict=True))
        for r in run.set_scores()
    ]
    table = pl.DataFrame(rows, schema=_schema(_SETS))
    return table.select(pl.lit(run.name).alias("run"), *_SETS)
