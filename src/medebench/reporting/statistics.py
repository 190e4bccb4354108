"""Every number of the report, computed once by `medebench.analysis`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import polars as pl

from medebench.analysis import Comparison, Interval, compare_runs, coverage_text, summarise
from medebench.analysis.estimate import Estimate
from medebench.analysis.score_frame import case_means, clean_scores
from medebench.page.score_columns import Score
from medebench.parallel import in_parallel
from medebench.reporting.case_groups import Group
from medebench.reporting.collect import Material
from medebench.reporting.steering import is_blind

MODELS = "models"
CONTROLS = "against controls"
#: Between two groups in a key, where no name can hold it; the page shows a dot.
UNIT = "\x1f"


Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Summary:
    """One run on one score, over all of its cases, the shared ones, or one group."""

    micro: Estimate
    macro: Estimate
    n_cases: int
    scored: int
    total: int
    reasons: tuple[tuple[str, int], ...]
    #: Outputs without a score that count all the same, as doing nothing.
    charged: int = 0

    def of(self, mean: str) -> Estimate:
        return self.micro if mean == "micro" else self.macro

    @property
    def coverage(self) -> str:
        return coverage_text(self.scored, self.total, self.reasons)


@dataclass(frozen=True)
class Level:
    """Runs on one score over the cases that all of them have scored: what a ranking is made of."""

    cases: frozenset[str]
    #: Whether these are simply all cases that each of them has scored.
    whole: bool
    micro: dict[str, Estimate]
    macro: dict[str, Estimate]

    def of(self, mean: str) -> dict[str, Estimate]:
        return self.micro if mean == "micro" else self.macro


@dataclass(frozen=True)
class Statistics:
    #: (basis, run, metric); see `Material.bases`
    overall: dict[tuple[str, str, str], Summary]
    #: by group: (basis, run, metric, the groups of `parents`)
    finer: dict[str, dict[Key, Summary]]
    #: (basis, family, metric) -> pairs, corrected for the size of the family; basis is "own" (each
    #: pair over the cases that both have scored) or "asked"
    pairs: dict[tuple[str, str, str], list[Comparison]]
    #: (basis, metric) -> the models that have a value
    levels: dict[tuple[str, str], Level]
    #: by basis: one row for each run, metric and case with a value
    values: dict[str, pl.DataFrame]

    def values_of(self, basis: str, run: str, metric: str) -> dict[str, float]:
        """The value of every case that the run has scored."""
        frame = self.values[basis].filter(pl.col("run") == run, pl.col("metric") == metric)
        return dict(frame.select("case", "value").iter_rows())

    def compared(self, basis: str, family: str, metric: str) -> list[Comparison]:
        """The pairs of a family; what was delivered is always compared pair by pair."""
        return self.pairs.get(("asked" if basis == "asked" else "own", family, metric), [])

    def against(
        self, basis: str, metric: str, first: str, second: str, family: str = MODELS
    ) -> Comparison | None:
        """The comparison of two runs, whichever way round it was made."""
        for pair in self.compared(basis, family, metric):
            if {pair.run_a, pair.run_b} == {first, second}:
                return pair
        return None


def compute(material: Material, workers: int | None = None, *, detailed: bool = True) -> Statistics:
    """All of it; without `detailed` only what the headline table needs, in half the time."""
    overall: dict[tuple[str, str, str], Summary] = {}
    levels, values = {}, case_values(material)
    finer: dict[str, dict[Key, Summary]] = {group.name: {} for group in material.groups}
    leading = material.groups[0]
    bounds = {score.name: score.bounds for score in material.scores}
    for basis, part in material.bases.items():
        for row in summarise(part, bounds=bounds).iter_rows(named=True):
            run, metric = row["run"], row["metric"]
            without = overall.get((material.comparable, run, metric)) if basis == "asked" else None
            overall[basis, run, metric] = _summary(row, leading, without)
        for group in material.groups if detailed else ():
            columns = [one.column for one in parents(material, group)]
            means = summarise(part, ("run", "metric", *columns), bounds=bounds)
            for row in means.iter_rows(named=True):
                place = UNIT.join(row[name] for name in columns)
                run, metric, own = row["run"], row["metric"], finer[group.name]
                counted = basis == "asked"
                without = own.get((material.comparable, run, metric, place)) if counted else None
                own[basis, run, metric, place] = _summary(row, leading, without)
        for score in material.scores:
            models = [entry.name for entry in material.models if is_blind(entry, score)]
            if basis == "asked":
                models = [m for m in models if not lifted(overall, material.comparable, m, score)]
            level = _level(material, part, values[basis], score, models, overall, basis)
            levels[basis, score.name] = level
    families: list[str] = [basis for basis in ("own", "asked") if basis in material.bases]
    tested = [score for score in material.scores if not score.described]
    wanted = [(basis, score) for basis in families for score in tested]
    # As they come; the order is that of the scores.
    found = dict(
        in_parallel(
            lambda one: ((one[0], one[1].name), _compare(material, *one, detailed)), wanted, workers
        )
    )
    pairs: dict[tuple[str, str, str], list[Comparison]] = {
        (basis, family, score.name): some
        for basis, score in wanted
        for family, some in found[basis, score.name].items()
        if some
    }
    return Statistics(overall, finer, pairs, levels, values)


def parents(material: Material, group: Group) -> list[Group]:
    """What a breakdown by this group is by: the leading group and this one, or this one alone."""
    leading = material.groups[0]
    alone = group == leading or group.name in material.task.alone
    return [group] if alone else [leading, group]


def case_values(material: Material) -> dict[str, pl.DataFrame]:
    """By basis, one row for each run, metric and case with a value."""
    by = ("run", "metric")
    return {basis: case_means(clean_scores(part), by) for basis, part in material.bases.items()}


def over_cases(row: Mapping[str, Any]) -> Estimate:
    """The mean over cases in a row of `summarise`."""
    return _estimate(row, "mean", "")


def over_groups(row: Mapping[str, Any]) -> Estimate:
    return _estimate(row, "macro", "macro_")


def _estimate(row: Mapping[str, Any], name: str, prefix: str) -> Estimate:
    low, high = row[f"{prefix}low"], row[f"{prefix}high"]
    interval = None if low is None or high is None else Interval(low, high)
    return Estimate(row[name], interval, row["scored"], row["total"], row[f"{prefix}why"] or "")


def _summary(row: Mapping[str, Any], group: Group, without: Summary | None = None) -> Summary:
    """`without`: the same where failures do not count; it says what was really scored."""
    macro = over_groups(row)
    scored, reasons = row["scored"], row["reasons"]
    known = tuple((str(one["reason"]), int(one["count"])) for one in reasons)
    means = over_cases(row), replace(macro, reason=group.reason(macro.reason)), row["n_cases"]
    if without is None:
        return Summary(*means, scored, row["total"], known)
    charged = scored - without.scored
    return Summary(*means, without.scored, row["total"], without.reasons, charged)


def _compare(
    material: Material, basis: str, score: Score, detailed: bool
) -> dict[str, list[Comparison]]:
    """Two questions, two families: which model is better, and does it beat a control?"""
    metric = score.name
    frame = material.bases[basis].filter(pl.col("metric") == metric)
    present = set(frame["run"].unique().to_list())
    ranked = [entry for entry in material.entries if is_blind(entry, score)]
    names = [entry.name for entry in ranked if entry.name in present]
    control = {entry.name for entry in material.entries if entry.control}
    if not detailed:
        names = [name for name in names if name not in control]
    if len(names) < 2:
        return {}
    every = list(combinations(names, 2))
    among = [pair for pair in every if not control & {*pair}]
    across = [(a, b) for a, b in every if (a in control) != (b in control)]
    if not among and not across:
        across = every  # nothing but controls: they are what there is to compare
    return {
        family: compare_runs(frame, metric, pairs=pairs, bounds=score.bounds)
        for family, pairs in ((MODELS, among), (CONTROLS, across))
    }


def lifted(
    overall: Mapping[tuple[str, str, str], Summary], comparable: str, run: str, score: Score
) -> bool:
    """Whether a run has a better mean because its failures count: nobody is the best by failing."""
    asked = overall.get(("asked", run, score.name))
    given = overall.get((comparable, run, score.name))
    if not asked or not given or not asked.charged or asked.micro.value is None:
        return False
    return given.micro.value is None or score.wins(asked.micro.value, given.micro.value)


def _level(
    material: Material,
    frame: pl.DataFrame,
    values: pl.DataFrame,
    score: Score,
    models: Sequence[str],
    overall: Mapping[tuple[str, str, str], Summary],
    basis: str,
) -> Level:
    """Models that have scored different cases are ranked over those that all have scored."""
    metric = score.name
    rows = values.filter(pl.col("metric") == metric, pl.col("run").is_in(list(models)))
    scored = {str(run): set(part["case"]) for (run,), part in rows.group_by("run")}
    cases = frozenset(set.intersection(*scored.values())) if scored else frozenset()
    if all(own == cases for own in scored.values()):
        found = {name: overall[basis, name, metric] for name in models if name in scored}
        whole = True
    else:
        whole = False
        same = frame.filter(
            pl.col("metric") == metric,
            pl.col("run").is_in(list(scored)),
            pl.col("case").is_in(list(cases)),
        )
        means = summarise(same, bounds={metric: score.bounds})
        leading = material.groups[0]
        found = {row["run"]: _summary(row, leading) for row in means.iter_rows(named=True)}
    return Level(
        cases,
        whole,
        {name: one.micro for name, one in found.items()},
        {name: one.macro for name, one in found.items()},
    )
