"""What doing nothing scores on the cases where an output failed: what a failure costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import polars as pl

from medebench.analysis.failure_cost import NOTHING
from medebench.cases import Case, OpenCase, load_cases, open_case
from medebench.cases.caseset import hash_case
from medebench.errors import InputError, MedebenchError
from medebench.judge import assess_now, find_judge
from medebench.metrics import Metric, Undefined, find_metric
from medebench.outputs import Output
from medebench.parallel import in_parallel
from medebench.progress import Progress
from medebench.reporting.baseline import SCHEMA, Baseline, CaseFacts, with_facts
from medebench.runs.run_folder import Run

#: Scores of the stand-in, which knows pixels only.
_OFFLINE = "_offline"


def scores_of_nothing(
    missing: pl.DataFrame,
    known: Baseline | None,
    keys: Mapping[str, CaseFacts],
    runs: Sequence[Run],
    progress: Progress,
) -> pl.DataFrame:
    """The scores of the control `identity` on the cases where an output failed."""
    wanted = dict(missing.group_by("case").agg(pl.col("metric").unique()).sort("case").rows())
    lines = (
        []
        if known is None
        else [
            (case_id, k, metric, value, None, None)
            for case_id, k, metric, value, *_ in known.scores
            if metric in wanted.get(case_id, ())
            and value is not None
            and known.cases[case_id].digest == keys[case_id].digest
        ]
    )
    told = {(line[0], line[2]) for line in lines}
    work: list[tuple[Case, list[str]]] = []
    for case_id, case in _cases(runs, wanted, keys).items():
        if lacking := [name for name in wanted[case_id] if (case_id, name) not in told]:
            work.append((case, lacking))
    progress(0, len(work))
    for done, found in enumerate(in_parallel(_score_nothing, work), start=1):
        lines += found
        progress(done, len(work))
    rows = pl.DataFrame(lines, schema=missing.select(list(SCHEMA)).schema, orient="row")
    return with_facts(rows, NOTHING, NOTHING, True, keys).select(missing.columns)


def _cases(
    runs: Sequence[Run], wanted: Iterable[str], keys: Mapping[str, CaseFacts]
) -> dict[str, Case]:
    """The cases as they are now, of the whole set of each run, where they are still the same."""
    sets = []
    for run in runs:
        with suppress(InputError):
            sets.append(load_cases(run.info.cases.source, task=run.info.task))
    found: dict[str, Case] = {}
    for case_id in wanted:
        for own in sets:
            if case_id in own and hash_case(own[case_id]).digest == keys[case_id].digest:
                found[case_id] = own[case_id]
    return found


def _score_nothing(item: tuple[Case, Sequence[str]]) -> list[tuple[Any, ...]]:
    """Pixel metrics and the stand-in on the input itself; others are not asked."""
    case, names = item
    lines, opened = [], open_case(case)
    try:
        output = Output(opened.previous)
        values: dict[str, float | None] = {}
        if any(name.endswith(_OFFLINE) for name in names):
            verdicts = assess_now(find_judge("offline"), opened, output).verdicts
            values |= {name: one.value for name, one in verdicts.items()}
        for name in names:
            if (metric := _pixel_metric(name)) is not None:
                values[name] = _value(metric, opened, output)
    except MedebenchError:
        return []
    for name, value in values.items():
        if name in names and value is not None:
            lines.append((case.id, 0, name, float(value), None, None))
    return lines


def _pixel_metric(name: str) -> Metric | None:
    try:
        found = find_metric(name)
    except MedebenchError:
        return None
    return found if isinstance(found, Metric) and found.of == "image" else None


def _value(metric: Metric, case: OpenCase, output: Output) -> float | None:
    try:
        return metric(case, output)
    except (Undefined, MedebenchError):
        return None
