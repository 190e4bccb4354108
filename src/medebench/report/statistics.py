"""Every number of the report, computed once by `medebench.analysis`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from medebench.analysis import Comparison, compare_runs, coverage_text, holm, summarise
from medebench.parallel import in_parallel
from medebench.report.collect import Material

MODELS = "models"
CONTROLS = "against controls"


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, where there is one."""

    mean: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Summary:
    """One run on one score, over all of its cases, the shared ones, or one organ."""

    micro: Estimate
    macro: Estimate
    n_cases: int
    n_organs: int
    scored: int
    total: int
    reasons: tuple[tuple[str, int], ...]

    @property
    def coverage(self) -> str:
        return coverage_text(self.scored, self.total, self.reasons)


@dataclass(frozen=True)
class Statistics:
    #: (basis, run, metric); basis is "own" or "shared"
    overall: dict[tuple[str, str, str], Summary]
    #: (basis, run, metric, organ)
    organs: dict[tuple[str, str, str, str], Summary]
    #: (family, metric) -> pairs, corrected for the size of the family
    pairs: dict[tuple[str, str], list[Comparison]]

    def against(self, metric: str, first: str, second: str) -> Comparison | None:
        """The comparison of two models, whichever way round it was made."""
        for pair in self.pairs.get((MODELS, metric), []):
            if {pair.run_a, pair.run_b} == {first, second}:
                return pair
        return None


def compute(material: Material, workers: int | None = None, *, finer: bool = True) -> Statistics:
    """All of it; without `finer` only what the headline table needs, in half the time."""
    frame = material.frame
    shared = frame.filter(pl.col("case").is_in(list(material.shared)))
    bases = {"own": frame} | ({"shared": shared} if material.basis == "shared" else {})
    overall, organs = {}, {}
    for basis, part in bases.items():
        for row in summarise(part).iter_rows(named=True):
            overall[basis, row["run"], row["metric"]] = _summary(row)
        by_organ = summarise(part, ("run", "metric", "organ")) if finer else pl.DataFrame()
        for row in by_organ.iter_rows(named=True):
            organs[basis, row["run"], row["metric"], row["organ"]] = _summary(row)
    names = [score.name for score in material.scores]
    found = dict(in_parallel(lambda name: (name, _compare(material, name, finer)), names, workers))
    pairs = {(family, name): p for name in names for family, p in found[name].items() if p}
    return Statistics(overall, organs, pairs)


def _summary(row: Mapping[str, Any]) -> Summary:
    return Summary(
        Estimate(row["mean"], row["low"], row["high"]),
        Estimate(row["macro"], row["macro_low"], row["macro_high"]),
        row["n_cases"],
        row["n_organs"],
        row["scored"],
        row["total"],
        tuple((str(one["reason"]), int(one["count"])) for one in row["reasons"]),
    )


def _compare(material: Material, metric: str, finer: bool) -> dict[str, list[Comparison]]:
    """Two questions, two families: which model is better, and does it beat a control?"""
    frame = material.frame.filter(pl.col("metric") == metric)
    present = set(frame["run"].unique().to_list())
    names = [entry.name for entry in material.entries if entry.name in present]
    control = {entry.name for entry in material.entries if entry.control}
    if not finer:
        names = [name for name in names if name not in control]
    if len(names) < 2:
        return {}
    pairs = compare_runs(frame, metric, names)
    among = [p for p in pairs if p.run_a not in control and p.run_b not in control]
    across = [p for p in pairs if (p.run_a in control) != (p.run_b in control)]
    if not among and not across:
        across = pairs  # nothing but controls: they are what there is to compare
    return {MODELS: _corrected(among), CONTROLS: _corrected(across)}


def _corrected(pairs: list[Comparison]) -> list[Comparison]:
    adjusted = holm([1.0 if pair.p is None else pair.p for pair in pairs])
    return [
        replace(pair, p_holm=None if pair.p is None else p)
        for pair, p in zip(pairs, adjusted, strict=True)
    ]
