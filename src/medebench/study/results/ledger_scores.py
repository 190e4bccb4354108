"""The scores of the ledgers, laid beside people's ranks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

import numpy as np
import polars as pl

from medebench.analysis.clusters import Floats
from medebench.analysis.ranked import Ranked
from medebench.errors import InputError
from medebench.page.score_columns import Score, describe
from medebench.reporting.collect import Material, collect
from medebench.reporting.methods import out_of_date
from medebench.runs.run_folder import Run
from medebench.study.rankings import About, Rankings

#: How the reason of such a score begins (see `medebench.metrics.pixel`).
INFINITE = "infinite: "
NO_DIRECTION = "it has no better direction"


@dataclass(frozen=True)
class Scores:
    """metric -> (case, model) -> value as the ledger has it."""

    values: dict[str, dict[tuple[str, str], float]] = field(default_factory=dict)
    #: The runs that were read.
    runs: frozenset[str] = frozenset()
    described: dict[str, Score] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    controls: frozenset[str] = frozenset()
    #: Case -> source, from the ledgers.
    sources: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def arrays(self, ranked: Ranked) -> dict[str, Floats]:
        """Case by model, higher is better, NaN where there is no value."""
        found = {}
        for name, values in self.values.items():
            sign = -1.0 if self.described[name].better == "lower" else 1.0
            found[name] = np.array(
                [[sign * values.get((c, m), np.nan) for m in ranked.models] for c in ranked.cases]
            )
        return found

    def with_sources(self, rankings: Rankings) -> Rankings:
        """A table may not know which cases share a source; the ledgers do."""
        if rankings.sources_known:
            return rankings
        cases = {
            case: About(about.group, self.sources.get(case, about.source))
            for case, about in rankings.cases.items()
        }
        known = all(case in self.sources for case in cases)
        return replace(rankings, cases=cases, sources_known=known)


def read_scores(
    runs: Sequence[Run], rankings: Rankings, shown: Mapping[str, Mapping[str, str]], k: int
) -> Scores:
    """Output `k` of the cases that were ranked; one that was replaced since then does not count."""
    _check_names(runs, rankings)
    material = collect(runs)
    frame = _all_scores(material)
    ranked, models = set(rankings.cases), set(rankings.models)
    notes = _missing(material, rankings)
    replaced = {
        (case, entry.name)
        for entry in material.entries
        for case, known in shown.get(entry.name, {}).items()
        if known and case in ranked
        for output in [entry.outputs.get((case, k))]
        if output is None or output.sha256 != known
    }
    if replaced:
        noun = "output is" if len(replaced) == 1 else "outputs are"
        notes.append(
            f"{len(replaced)} {noun} no longer the one that people saw; scores of the new one "
            "are not used."
        )
    if material.outdated:
        notes.append(out_of_date(material, *material.outdated))
    rows = frame.filter(
        pl.col("run").is_in(models) & pl.col("case").is_in(ranked) & (pl.col("k") == k)
    )
    names = rows["metric"].unique().sort().to_list()
    described = {one.name: one for one in material.scores}
    described |= {one.name: one for one in describe(set(names) - set(described), {})}
    values: dict[str, dict[tuple[str, str], float]] = {}
    left_out: dict[str, str] = {}
    for name in names:
        if described[name].better == "neither":
            left_out[name] = NO_DIRECTION
            continue
        own = rows.filter(pl.col("metric") == name)
        kept = {
            (case, run): value
            for case, run, given, reason in own.select("case", "run", "value", "reason").iter_rows()
            if (value := _value(given, reason)) is not None and (case, run) not in replaced
        }
        if kept:
            values[name] = kept
        else:
            left_out[name] = _why(own)
        notes += _mixed(material, name)
    sources = dict(rows.select("case", "source").unique().iter_rows())
    return Scores(
        values,
        frozenset(entry.name for entry in material.entries),
        {name: described[name] for name in names},
        left_out,
        frozenset(entry.name for entry in material.controls),
        {case: source for case, source in sources.items() if source},
        tuple(notes),
    )


def _check_names(runs: Sequence[Run], rankings: Rankings) -> None:
    """A model that is called almost like a run is a slip of the pen, not another model."""
    names = {run.name.casefold(): run.name for run in runs}
    for model in rankings.models:
        if model in names.values():
            continue
        near = [names[name] for name in get_close_matches(model.casefold(), names, 1, 0.8)]
        # Two models of similar names are ranked side by side; a slip stands in the other's place.
        if near and not any({model, near[0]} <= set(one) for one in rankings.given.values()):
            raise InputError(
                f"model '{model}' of the rankings: there is no run of this name; if '{near[0]}' "
                "is meant, call it so"
            )
    if not set(rankings.models) & set(names.values()):
        raise InputError(
            f"none of the runs ({', '.join(names.values())}) is called like a ranked model "
            f"({', '.join(rankings.models)}); rename the models in the table or the run folders"
        )


def _all_scores(material: Material) -> pl.DataFrame:
    """With those of the diagnosis, which the report keeps apart."""
    frame, apart = material.frame, material.grounded
    if apart.is_empty():
        return frame
    known = frame["metric"].unique()
    return pl.concat([frame, apart.filter(~pl.col("metric").is_in(known.implode()))])


def _value(value: float | None, reason: str | None) -> float | None:
    """A score without an upper end has no number to average, but it has a place: the first."""
    if value is None and reason is not None and reason.startswith(INFINITE):
        return math.inf
    return value


def _missing(material: Material, rankings: Rankings) -> list[str]:
    notes = []
    have = {entry.name for entry in material.entries}
    if lacking := [name for name in rankings.models if name not in have]:
        notes.append(f"No scores of {', '.join(lacking)}: no run of this name was given.")
    if unused := [entry.name for entry in material.entries if entry.name not in rankings.models]:
        notes.append(f"Nobody ranked {', '.join(unused)}: not used.")
    if other := [case for case in material.clashes if case in rankings.cases]:
        noun = "case is" if len(set(other)) == 1 else "cases are"
        notes.append(
            f"{len(set(other))} ranked {noun} not the same in all runs (other content under the "
            "same id): scores of later runs are not used there."
        )
    held = {case for entry in material.entries for case in entry.cases}
    if lost := [case for case in rankings.cases if case not in held]:
        notes.append(f"{len(lost)} of {len(rankings.cases)} ranked cases are in none of the runs.")
    return notes


def _mixed(material: Material, name: str) -> list[str]:
    """One name, several judges or weights: the numbers are not one metric's."""
    found = material.judges.get(name) or material.variants.get(name) or {}
    if len(found) < 2:
        return []
    return [f"{name} comes from {len(found)} judges or sets of weights: {'; '.join(found)}."]


def _why(rows: pl.DataFrame) -> str:
    reasons = Counter(reason for reason in rows["reason"].to_list() if reason)
    most = reasons.most_common(1)
    return most[0][0] if most else "no value for the outputs that people saw"
