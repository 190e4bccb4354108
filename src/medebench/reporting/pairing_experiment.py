"""How far scores depend on the image at all: a system with its cases' images and instructions, and
with others in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from medebench.analysis.compare import Comparison, compare_runs
from medebench.analysis.interval import Bounds
from medebench.analysis.means import Mean, mean
from medebench.analysis.published_medgen import published_pairing
from medebench.analysis.signflip import holm
from medebench.cases import CaseSet, load_cases
from medebench.errors import InputError
from medebench.files import write_json
from medebench.metrics import METRICS, AnyMetric, find_metrics
from medebench.page.number import NONE, between, number, p_value
from medebench.page.table import Cell, Column, Group, Row, Table
from medebench.progress import Bar, no_bar
from medebench.runs import Run, generate, score
from medebench.runs.failed_calls import Failures
from medebench.systems.paired import CONTROLS
from medebench.tasks import MEDGEN

INTACT = "intact"
#: Where the results lie, in the folder of the runs.
RESULT = "pairing.json"
#: Compared where none are named: whether an answer is right can be read off it.
DEFAULT = ("choice_accuracy", "gap_accuracy", "key_accuracy")
ALPHA = 0.05


@dataclass(frozen=True)
class Drop:
    """One metric under one control."""

    metric: AnyMetric
    control: str
    intact: Mean | None
    altered: Mean | None
    #: The run with its own images less the altered one.
    pair: Comparison

    @property
    def depends(self) -> bool | None:
        """Whether the metric is significantly worse with something else in its place."""
        difference = self.pair.difference
        if difference is None or self.pair.p_holm is None:
            return None
        worse = difference < 0 if self.metric.info.better == "lower" else difference > 0
        return worse and self.pair.significant(ALPHA)

    def to_json(self) -> dict[str, Any]:
        pair = self.pair
        means = {"intact": self.intact, "altered": self.altered}
        return {
            "metric": self.metric.name,
            "control": self.control,
            **{name: None if one is None else one.value for name, one in means.items()},
            "drop": pair.difference,
            "interval": pair.interval and list(pair.interval),
            "p_holm": pair.p_holm,
            "depends": self.depends,
            "cases": pair.n_cases,
            "sources": pair.n_clusters,
            "not_compared": pair.n_dropped,
            "why": pair.why,
        }


@dataclass(frozen=True)
class Pairing:
    """What the experiment found."""

    system: str
    cases: str
    drops: tuple[Drop, ...]
    failures: Failures
    #: What the paper found on its own cases, where the set is of its kind.
    published: str = ""

    def __repr__(self) -> str:
        held = sum(one.depends is True for one in self.drops)
        return f"Pairing({self.system!r}, {held} of {len(self.drops)} drops are significant)"

    def table(self) -> Table:
        """A row for each metric and control."""
        heads = ("intact", "altered", "drop", "95 % interval", "p (Holm)", "cases")
        groups = []
        for name in dict.fromkeys(one.metric.name for one in self.drops):
            rows = [_row(one) for one in self.drops if one.metric.name == name]
            groups.append(Group(rows, title=name))
        notes = (
            f"p of a paired test by source image, corrected for {len(self.drops)} comparisons.",
            "drop: with the case's own image and instruction less without; cases: scored in both.",
        )
        return Table(
            [Column("control", "left"), *map(Column, heads)],
            groups,
            title=f"{self.system} on {self.cases}: what is left without the right pair",
            notes=(*notes, self.published) if self.published else notes,
        )

    def to_json(self) -> dict[str, Any]:
        told = {"system": self.system, "cases": self.cases, "alpha": ALPHA}
        return told | {"drops": [one.to_json() for one in self.drops]}


def run_pairing(
    cases: str | Path | CaseSet,
    system: str,
    out: str | Path,
    *,
    metrics: Sequence[str | AnyMetric] | None = None,
    controls: Sequence[str] = CONTROLS,
    seed: int = 0,
    workers: int | None = None,
    retry_failed: bool = False,
    bar: Bar = no_bar,
) -> Pairing:
    """Run a system as it is and under each control, score and compare; run again, it continues.

    Args:
        cases: what `load_cases` takes.
        system: `NAME[:key=value,...]` or `file.py:Name`.
        out: folder of the runs and of `pairing.json`.
        metrics: names; whether answers are right, unless given.
        controls: of `systems.paired.CONTROLS`.
        seed: of the runs.
        workers: threads; all cores by default.
        retry_failed: also outputs that could not be made before.
        bar: opens a progress bar for each part of the work.

    Returns:
        Each metric under each control, with a paired test corrected for all of them.
    """
    chosen = load_cases(cases)
    found = find_metrics(_named(metrics))
    if unknown := [one for one in controls if one not in CONTROLS]:
        raise InputError(f"control '{unknown[0]}': choose of {', '.join(CONTROLS)}")
    calls = {INTACT: system} | {one: f"paired:control={one},{system}" for one in controls}
    folder, failures, runs = Path(out).expanduser(), Failures(), []
    for name, call in calls.items():
        with bar(f"running {name}") as progress:
            runs.append(
                generate(
                    chosen,
                    call,
                    folder / name,
                    seed=seed,
                    workers=workers,
                    retry_failed=retry_failed,
                    progress=progress,
                    failures=failures,
                )
            )
    with bar("scoring") as progress:
        score(runs, found, workers=workers, progress=progress)
    drops = _drops(runs, found, controls)
    published = published_words() if chosen.task == MEDGEN.name else ""
    result = Pairing(system, chosen.source or chosen.name, drops, failures, published)
    write_json(folder / RESULT, result.to_json())
    return result


def published_words() -> str:
    """The drops of the paper, which are those of a judge's score."""
    paper = published_pairing()
    drops = ", ".join(f"{name} {drop:g}" for name, drop in paper.drops.items())
    return f"{paper.source}: {drops} ({paper.note}); not comparable number by number."


def _named(metrics: Sequence[str | AnyMetric] | None) -> Sequence[str | AnyMetric]:
    if metrics:
        return metrics
    if there := [name for name in DEFAULT if name in METRICS]:
        return there
    raise InputError("metrics: name at least one to compare")


def _drops(
    runs: Sequence[Run], metrics: Sequence[AnyMetric], controls: Sequence[str]
) -> tuple[Drop, ...]:
    frame = pl.concat([_scores(run) for run in runs], how="diagonal")
    drops = []
    for metric in metrics:
        own = frame.filter(pl.col("metric") == metric.name)
        if own["value"].null_count() == len(own):
            continue
        bounds = Bounds(metric.info.low, metric.info.high)
        pairs = [(INTACT, one) for one in controls if one in set(own["run"])]
        means = {name: _mean(own, name, bounds) for name in (INTACT, *controls)}
        for pair in compare_runs(own, metric.name, pairs=pairs, bounds=bounds):
            drops.append(Drop(metric, pair.run_b, means[INTACT], means[pair.run_b], pair))
    if not drops:
        names = ", ".join(one.name for one in metrics)
        raise InputError(f"metrics: no case has a score of {names}; name others with --metrics")
    adjusted = holm([1.0 if one.pair.p is None else one.pair.p for one in drops])
    return tuple(
        one if one.pair.p is None else replace(one, pair=replace(one.pair, p_holm=p))
        for one, p in zip(drops, adjusted, strict=True)
    )


def _scores(run: Run) -> pl.DataFrame:
    """The scores that are about their cases, as `compare_runs` takes them."""
    aside = (pl.col("kind") == "not-applicable").fill_null(False)
    return run.table().filter(~aside).with_columns(group=pl.col("task"))


def _mean(frame: pl.DataFrame, run: str, bounds: Bounds) -> Mean | None:
    rows = frame.filter(pl.col("run") == run).drop_nulls("value")
    sources = rows["source"].fill_null(pl.lit("")).rank("dense").to_numpy()
    return mean(rows["value"].to_numpy(), sources, bounds) if len(rows) else None


def _row(one: Drop) -> Row:
    pair = one.pair
    means = [None if each is None else each.value for each in (one.intact, one.altered)]
    interval = pair.interval
    cells = [Cell(number(value, 3), value=value) for value in (*means, pair.difference)]
    cells += [
        Cell(between(interval, 3) or NONE, value=interval and list(interval)),
        Cell(p_value(pair.p_holm).removeprefix("p ") or NONE, value=pair.p_holm),
        Cell(str(pair.n_cases), value=pair.n_cases),
    ]
    return Row(one.control, cells, note=pair.why)
