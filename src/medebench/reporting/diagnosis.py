"""Why edits fail: types by editor and organ, where editors look, place against accuracy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from medebench.analysis import Bounds, Correlation, cluster_spearman, share, summarise
from medebench.analysis.estimate import Estimate, estimate
from medebench.analysis.interval import UNIT
from medebench.grounding import FAILURE_TYPES, FailureType
from medebench.reporting.collect import Entry, Material
from medebench.reporting.floor_rows import FloorRow, Lead, leads_over, make_floors
from medebench.reporting.run_findings import Found, clearest, judges_of, read_findings
from medebench.reporting.statistics import over_cases, over_groups
from medebench.runs.stages.attention_scores import ATTENTION

#: IoU of the attention less its chance level, output by output.
GAIN = "attention_gain"


@dataclass(frozen=True)
class Profile:
    """How often each type occurs in a group of outputs."""

    name: str
    counts: dict[FailureType, int]
    #: Outputs without a finding.
    none: int
    success: Estimate
    entry: Entry | None = None

    @property
    def outputs(self) -> int:
        return sum(self.counts.values()) + self.none

    @property
    def known(self) -> int:
        return sum(self.counts.values())

    def share(self, kind: FailureType) -> float | None:
        return self.counts[kind] / self.known if self.known else None


@dataclass(frozen=True)
class Attention:
    """The table after the paper's: each estimate by (run, metric), and by organ."""

    entries: tuple[Entry, ...]
    organs: tuple[str, ...]
    overall: dict[tuple[str, str], Estimate]
    macro: dict[tuple[str, str], Estimate]
    by_organ: dict[tuple[str, str, str], Estimate]
    #: (run, metric) -> scored and total; (run, organ) -> cases with an IoU
    coverage: dict[tuple[str, str], tuple[int, int]]
    cases: dict[tuple[str, str], int]
    #: Maps that never saw the picture; their estimates are above, under `FloorRow.run`.
    floors: tuple[FloorRow, ...] = ()
    #: run -> how far it is above the strongest floor
    leads: dict[str, Lead] = field(default_factory=dict)


@dataclass(frozen=True)
class Link:
    """IoU of one kind against EA, over outputs of models; where there are none, of controls.

    Without a judge, against how much of the intended change was made.
    """

    kind: str
    judge: str
    #: What stands on the other axis.
    label: str
    points: tuple[tuple[int, float, float], ...]
    pooled: Correlation | None
    by_run: tuple[tuple[Entry, Correlation | None], ...]

    def of(self, entry: Entry) -> Correlation | None:
        """Of one run, if it has any pairs."""
        return next((found for one, found in self.by_run if one is entry), None)


@dataclass(frozen=True)
class Diagnosis:
    found: tuple[Found, ...]
    profiles: tuple[Profile, ...]
    organs: tuple[Profile, ...]
    everything: Profile
    attention: Attention | None
    links: tuple[Link, ...]
    examples: dict[FailureType, list[Found]]
    judges: tuple[tuple[str, bool, int], ...]
    #: Sets of thresholds that differ from the default, by run; empty: all default.
    thresholds: dict[str, list[str]]
    ungrounded: tuple[str, ...]

    @property
    def types(self) -> dict[FailureType, str]:
        return FAILURE_TYPES


def make_diagnosis(material: Material) -> Diagnosis | None:
    """None where nothing was grounded, or where there are no edits."""
    found = read_findings(material) if material.editing else []
    if not found:
        return None
    grounded = {one.entry.name for one in found}
    pooled = _shown(found)
    return Diagnosis(
        tuple(found),
        tuple(
            profile(entry.name, [one for one in found if one.entry is entry], entry)
            for entry in material.entries
            if entry.name in grounded
        ),
        tuple(
            profile(organ, [one for one in pooled if one.organ == organ])
            for organ in sorted({one.organ for one in pooled})
        ),
        profile("all", pooled),
        _attention(material),
        tuple(
            link
            for kind in ("attention", "change")
            if (link := _link(pooled, kind, material)) is not None
        ),
        {kind: some for kind in FAILURE_TYPES if (some := clearest(found, kind))},
        tuple(judges_of(found, material)),
        _thresholds(found),
        tuple(entry.name for entry in material.entries if entry.name not in grounded),
    )


def _shown(found: Sequence[Found]) -> list[Found]:
    """Outputs of models; where there are none, of controls."""
    return [one for one in found if not one.entry.control] or list(found)


def profile(name: str, found: Sequence[Found], entry: Entry | None = None) -> Profile:
    counts = Counter(one.type for one in found)
    known = [one for one in found if one.type]
    right = [one.type == "success" for one in known]
    success = _rate(right, [one.source for one in known])
    return Profile(
        name, {kind: counts[kind] for kind in FAILURE_TYPES}, counts[None], success, entry
    )


def _rate(right: Sequence[bool], sources: Sequence[str]) -> Estimate:
    """A share with its interval."""
    if not right:
        return Estimate()
    codes = np.unique(np.array(sources, dtype=str), return_inverse=True)[1]
    found = share(np.array(right), codes, int(codes.max()) + 1)
    return estimate(found)


def _thresholds(found: Iterable[Found]) -> dict[str, list[str]]:
    sets: dict[str, list[str]] = {}
    for one in found:
        text = ", ".join(f"{name} {value:g}" for name, value in one.given) or "default"
        names = sets.setdefault(text, [])
        if one.entry.name not in names:
            names.append(one.entry.name)
    return {} if set(sets) == {"default"} else sets


def _attention(material: Material) -> Attention | None:
    frame = material.grounded
    names = [*ATTENTION, *(f"{name}_chance" for name in ATTENTION)]
    rows = frame.filter(pl.col("metric").is_in(names))
    if rows["value"].drop_nulls().is_empty():
        return None
    leading = material.groups[0]
    floors, beside = make_floors(material, rows)
    rows = pl.concat([rows, _gain(rows), beside])
    overall, macro, coverage = {}, {}, {}
    ends = dict.fromkeys(names, UNIT) | {GAIN: Bounds(-1.0, 1.0)}
    for one in summarise(rows, bounds=ends).iter_rows(named=True):
        key = one["run"], one["metric"]
        overall[key] = over_cases(one)
        macro[key] = replace(over_groups(one), reason=leading.reason(one["macro_why"] or ""))
        coverage[key] = one["scored"], one["total"]
    by_organ, cases = {}, {}
    finer = rows.filter(pl.col("metric").is_in(["attention_iou", "attention_iou_chance"]))
    for one in summarise(finer, ("run", "metric", "group"), bounds=ends).iter_rows(named=True):
        place = one["run"], one["metric"], one["group"]
        by_organ[place] = over_cases(one)
        if one["metric"] == "attention_iou":
            cases[one["run"], one["group"]] = one["n_cases"]
    entries = tuple(e for e in material.entries if (e.name, "attention_iou") in overall)
    organs = sorted(
        {organ for _, _, organ in by_organ}, key=lambda organ: _order(by_organ, entries, organ)
    )
    leads = leads_over(finer, floors, overall)
    return Attention(
        entries, tuple(organs), overall, macro, by_organ, coverage, cases, floors, leads
    )


def _order(
    by_organ: dict[tuple[str, str, str], Estimate], entries: Sequence[Entry], organ: str
) -> tuple[float, str]:
    """As in the paper: the organ that is found worst comes first."""
    known = [by_organ.get((e.name, "attention_iou", organ)) for e in entries]
    means = [one.value for one in known if one is not None and one.value is not None]
    return (sum(means) / len(means) if means else 2.0), organ


def _gain(rows: pl.DataFrame) -> pl.DataFrame:
    level = rows.filter(pl.col("metric") == "attention_iou_chance")
    keys = ["run", "case", "k"]
    both = rows.filter(pl.col("metric") == "attention_iou").join(
        level.select(*keys, pl.col("value").alias("chance")), on=keys, how="left"
    )
    value = pl.col("value") - pl.col("chance")
    return both.with_columns(value=value, metric=pl.lit(GAIN)).select(rows.columns)


def _link(found: Sequence[Found], kind: str, material: Material) -> Link | None:
    def place(one: Found) -> float:
        seen = one.evidence
        iou = seen.attention_iou if kind == "attention" else seen.change_iou
        return math.nan if iou is None or math.isnan(worth(one)) else iou

    def worth(one: Found) -> float:
        value = one.evidence.ea if one.judge else one.evidence.intended
        return math.nan if value is None else value

    # Scores of different judges are different scales: the one who judged most is taken, pixels
    # only where there is none.
    judged = [one for one in found if not math.isnan(place(one))]
    if not judged:
        return None
    names = Counter(one.judge for one in judged)
    judge = min(names, key=lambda name: (not name, -names[name], name))
    judged = [one for one in judged if one.judge == judge]

    def linked(some: Sequence[Found]) -> Correlation | None:
        sources = [one.source for one in some]
        return cluster_spearman(list(map(place, some)), list(map(worth, some)), sources)

    entries = [entry for entry in material.entries if any(o.entry is entry for o in judged)]
    return Link(
        kind,
        judge,
        "EA" if judge else "Intended change made (stand-in)",
        tuple((one.entry.index, place(one), worth(one)) for one in judged),
        linked(judged),
        tuple((entry, linked([o for o in judged if o.entry is entry])) for entry in entries),
    )
