"""Is a run worse than another? Paired over the cases both have, one test for each metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from medebench.analysis import Comparison, Interval, compare_runs, holm, least_p
from medebench.analysis.failure_cost import AS_END, AS_WORST, count_failures, is_failure
from medebench.analysis.score_frame import case_means, clean_scores
from medebench.errors import InputError
from medebench.page.number import between, counted, listed, number, p_value
from medebench.page.score_columns import DIAGNOSTIC, STAND_IN, Score, describe, is_likeness
from medebench.page.table import Cell, Column, Group, Row, Table
from medebench.progress import Progress, silent
from medebench.reporting.baseline import Baseline, CaseFacts, read_side, with_facts
from medebench.reporting.collect import ABSENT, NOT_APPLICABLE, Failures
from medebench.reporting.doing_nothing import scores_of_nothing
from medebench.runs.run_folder import Run
from medebench.runs.score_run import AnyRun

ALPHA = 0.05
#: Whether a usable output came out at all: the one score that no failure can leave out.
DELIVERED = Score(
    "delivered", "delivered", "share of outputs that can be used", "higher", 0.0, 1.0, 3
)
_BEFORE, _NOW = "baseline", "run"


@dataclass(frozen=True)
class Change:
    """One metric of a run against the baseline; `pair` is the run less the baseline."""

    score: Score
    baseline: float | None
    run: float | None
    #: `p_holm` is corrected for the number of metrics.
    pair: Comparison
    tolerance: float = 0.0
    #: Outputs of either side that failed and count as doing nothing.
    charged: int = 0

    @property
    def verdict(self) -> str:
        """ "worse", "better", "within the tolerance", "no difference shown" or why not tested."""
        if self.pair.p_holm is None or self.pair.difference is None:
            return self.pair.why or "not tested: no case with both scores"
        if not self.pair.significant(ALPHA):
            return "no difference shown"
        worse = (self.pair.difference < 0) == (self.score.better == "higher")
        if worse and abs(self.pair.difference) <= self.tolerance:
            return "within the tolerance"
        return "worse" if worse else "better"

    def to_json(self) -> dict[str, Any]:
        pair = self.pair
        told: dict[str, Any] = {"metric": self.score.name, "better": self.score.better}
        told |= {"verdict": self.verdict, "why": pair.why, "tolerance": self.tolerance}
        told |= {"baseline": self.baseline, "run": self.run, "difference": pair.difference}
        told |= {"interval": pair.interval and list(pair.interval), "p": pair.p_holm}
        counts = {"cases": pair.n_cases, "sources": pair.n_clusters, "charged": self.charged}
        return told | counts


@dataclass(frozen=True)
class RunComparison:
    """What `compare` found; `worse` names the metrics that fail a check."""

    baseline: str
    run: str
    cases: int
    changes: tuple[Change, ...]
    failures: Failures
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        worse = ", ".join(self.worse) or "on none"
        return f"RunComparison({self.run!r} against {self.baseline!r}, worse: {worse})"

    @property
    def worse(self) -> list[str]:
        """Metrics on which the run is significantly worse."""
        return [one.score.name for one in self.changes if one.verdict == "worse"]

    @property
    def verdict(self) -> str:
        over = f"of {counted(len(self.changes), 'metric')} over {counted(self.cases, 'case')}"
        if self.worse:
            on = listed(self.worse, len(self.changes))
            return f"{self.run} is significantly worse than {self.baseline} on {on} ({over})"
        return f"{self.run} is significantly worse than {self.baseline} on none {over}"

    def table(self) -> Table:
        """A row for each metric."""
        heads = ["baseline", "run", "difference", "95 % interval", "p", "verdict"]
        return Table(
            [Column("metric", "left"), *map(Column, heads[:-1]), Column(heads[-1], "left")],
            [Group([_row(one) for one in self.changes])],
            title=f"{self.run} less {self.baseline}, paired over {counted(self.cases, 'case')}",
            notes=self.notes,
        )

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def to_json(self) -> dict[str, Any]:
        told = {"baseline": self.baseline, "run": self.run, "cases": self.cases}
        told |= {"failures": self.failures, "alpha": ALPHA, "worse": self.worse}
        changes = [one.to_json() for one in self.changes]
        return told | {"metrics": changes, "verdict": self.verdict, "notes": list(self.notes)}


def compare(
    baseline: AnyRun,
    run: AnyRun,
    *,
    metrics: Sequence[str] | str | None = None,
    failures: Failures = "count",
    tolerance: float | Mapping[str, float] = 0.0,
    identity: AnyRun | None = None,
    progress: Progress = silent,
) -> RunComparison:
    """Compare a run with a baseline over the cases both have, paired, and say where it is worse.

    Each metric has its mean difference with a 95 % interval and a p of `compare_runs`, corrected
    for the number of metrics (Holm). A failed output counts as doing nothing.

    Args:
        baseline: a scored run, opened or as a folder, or a file of `save_baseline`.
        run: what is compared with it; the same.
        metrics: names, with commas or in a list; by default all that both have and that have a
            better end. `delivered` always comes with them unless failures are left out.
        failures: "count" them as doing nothing, or "omit" them.
        tolerance: up to this difference a run is not called worse; one for all, or by metric.
        identity: a scored run of the control `identity`, for metrics that cannot be computed here.
        progress: called with (done, total) while the score of doing nothing is computed.

    Returns:
        The comparison: `worse` lists metrics, `table()` shows all, `to_json()` is for machines.

    >>> before = mb.score(mb.edit("phantoms:count=13", "identity", tmp / "before"), "cp")
    >>> after = mb.score(mb.edit("phantoms:count=13", "blur", tmp / "after"), "cp")
    >>> mb.compare(before, after).worse
    ['cp']
    """
    if failures not in ("count", "omit"):
        raise InputError(f"failures '{failures}': choose count or omit")
    (before, old), (now, new) = read_side(baseline), read_side(run)
    names = (_name(baseline, before), _name(run, now))
    if names[0] == names[1]:
        names = (f"{names[0]} (baseline)", names[1])
    if before.task != now.task:
        raise InputError(
            f"{run}: is about task '{now.task}', the baseline about '{before.task}'; "
            "compare runs of one task"
        )
    keys, changed = _shared(before, now)
    if not keys:
        raise InputError(
            f"{run}: shares no case with {baseline}"
            + (f" ({counted(changed, 'case')} of its ids have other contents)" if changed else "")
            + "; compare runs over the same cases"
        )
    asked = metrics.split(",") if isinstance(metrics, str) else metrics
    scores = _chosen(before, now, str(baseline), str(run), asked)
    limits = _tolerances(tolerance, [*scores, DELIVERED])
    frame = pl.concat([_rows(before, _BEFORE, keys, now), _rows(now, _NOW, keys, before)])
    notes = []
    if changed:
        notes.append(f"{counted(changed, 'case')} changed since the baseline and are left out")
    if most := max(len(before.cases), len(now.cases)) - len(keys) - changed:
        notes.append(f"{counted(most, 'case')} of one side only are left out")
    delivered = _delivered(frame)
    frame = frame.filter(pl.col("metric").is_in([one.name for one in scores]))
    details = {**before.details, **now.details}
    likeness = [one.name for one in scores if is_likeness(one.name, details.get(one.name, {}))]
    opened = [case_id for case_id, one in keys.items() if one.open]
    if likeness and opened:
        frame = _without_likeness(frame, likeness, opened)
        notes.append(
            f"{counted(len(opened), 'case')} with an open target: likeness to one reference "
            f"decides nothing there and is left out of {listed(likeness, 5)}"
        )
    if asked is None:
        scores = _about_both(frame, scores) or scores
    if failures == "count":
        missing = frame.filter(is_failure())
        runs = [one for one in (new, old) if one is not None]
        known = read_side(identity)[0] if identity is not None else None
        frame = pl.concat([frame, scores_of_nothing(missing, known, keys, runs, progress)])
        ends = {one.name: one.worst for one in scores if one.worst is not None}
        frame = count_failures(
            frame, {one.name: one.better for one in scores}, {} if now.task == "editing" else ends
        )
        notes += _cost_notes(frame)
        frame = pl.concat([frame, delivered.with_columns(charged=pl.lit(None, pl.String))])
        scores = [DELIVERED, *(one for one in scores if one.name != DELIVERED.name)]
    changes = [_change(frame, one, limits[one.name]) for one in scores]
    adjusted = holm([1.0 if one.pair.p is None else one.pair.p for one in changes])
    changes = [
        one if one.pair.p is None else replace(one, pair=replace(one.pair, p_holm=p))
        for one, p in zip(changes, adjusted, strict=True)
    ]
    if any(one.stand_in for one in scores):
        notes.append(f"* {STAND_IN}")
    sources = max(one.pair.n_clusters for one in changes)
    if least_p(sources) * len(changes) > ALPHA:
        notes.append(
            f"{counted(sources, 'source image')} cannot show a difference in "
            f"{counted(len(changes), 'metric')}: compare over more, or fewer metrics"
        )
    return RunComparison(*names, len(keys), tuple(changes), failures, tuple(notes))


def _without_likeness(
    frame: pl.DataFrame, likeness: Sequence[str], opened: Sequence[str]
) -> pl.DataFrame:
    here = pl.col("case").is_in(opened) & pl.col("metric").is_in(likeness)
    told = {"value": None, "reason": "the target of the case is open", "kind": NOT_APPLICABLE}
    return frame.with_columns(
        pl.when(here).then(pl.lit(one)).otherwise(pl.col(name)).alias(name)
        for name, one in told.items()
    )


def _about_both(frame: pl.DataFrame, scores: Sequence[Score]) -> list[Score]:
    """Without those that are not about the work of both runs: a test less to correct for."""
    meant = frame.filter(pl.col("kind").ne_missing(NOT_APPLICABLE))
    runs = dict(meant.group_by("metric").agg(pl.col("run").n_unique()).rows())
    return [one for one in scores if runs.get(one.name) == 2]


def _name(given: AnyRun, side: Baseline) -> str:
    return given.name if isinstance(given, Run) else side.run


def _shared(before: Baseline, now: Baseline) -> tuple[dict[str, CaseFacts], int]:
    """The cases that both were asked for, and how many ids stand for other contents now."""
    keys: dict[str, CaseFacts] = {}
    changed = 0
    for case_id in {**now.cases, **before.cases}:
        one, other = before.cases.get(case_id), now.cases.get(case_id)
        if one is not None and other is not None:
            changed += one.digest != other.digest
            if one.digest == other.digest:
                keys[case_id] = other
        elif (there := one or other) and (before if one is None else now).adopted:
            keys[case_id] = there
    return keys, changed


def _chosen(
    before: Baseline, now: Baseline, first: str, second: str, asked: Sequence[str] | None
) -> list[Score]:
    """The metrics to compare; `delivered` is not among them."""
    there = [{line[2] for line in side.scores} for side in (before, now)]
    both = there[0] & there[1]
    every = describe(sorted(both), {**before.details, **now.details})
    if asked is None:
        found = [one for one in every if one.ranked and one.name not in DIAGNOSTIC]
        if not found:
            raise InputError(
                f"{second}: has no metric in common with {first} that has a better end "
                f"({', '.join(sorted(there[0])[:5])} there); score both with the same metrics"
            )
        return found
    names = [name for one in asked if (name := one.strip()) and name != DELIVERED.name]
    if not names:
        raise InputError("--metrics: names no metric besides 'delivered', which always comes along")
    for name in names:
        if name not in both:
            lacking = first if name not in there[0] else second
            raise InputError(
                f"metric '{name}': {lacking} has no scores of it; both have "
                f"{', '.join(sorted(both)) or 'none in common'}"
            )
    found = [one for one in every if one.name in names]
    if directed := [one.name for one in found if one.better == "neither"]:
        raise InputError(f"metric '{directed[0]}': has no better end, so no run is worse on it")
    return found


def _tolerances(given: float | Mapping[str, float], scores: Sequence[Score]) -> dict[str, float]:
    names = [one.name for one in scores]
    limits = dict.fromkeys(names, 0.0)
    if isinstance(given, Mapping):
        if unknown := sorted(set(given) - set(names)):
            raise InputError(
                f"tolerance '{unknown[0]}': is no metric of this comparison ({', '.join(names)})"
            )
        limits |= given
    else:
        limits = dict.fromkeys(names, given)
    if bad := [name for name, one in limits.items() if not 0 <= one < float("inf")]:
        raise InputError(f"tolerance of '{bad[0]}': must be a number from 0")
    return limits


def _rows(
    side: Baseline, name: str, keys: Mapping[str, CaseFacts], other: Baseline
) -> pl.DataFrame:
    """The scores of one side over these cases; a row for each that it should have and lacks."""
    own = side.frame.filter(pl.col("case").is_in(list(keys)))
    absent = [case_id for case_id in keys if case_id not in side.cases]
    named = {line[2] for line in side.scores} & {line[2] for line in other.scores}
    lines = [(c, 0, m, None, str(ABSENT), ABSENT.kind) for c in absent for m in sorted(named)]
    rows = pl.concat([own, pl.DataFrame(lines, schema=own.schema, orient="row")])
    return with_facts(rows, name, side.editor, side.control, keys)


def _delivered(frame: pl.DataFrame) -> pl.DataFrame:
    """1 for every output that can be used, 0 for a failure; nothing for one not made yet."""
    place = [name for name in frame.columns if name not in ("metric", "value", "reason", "kind")]
    waiting = pl.col("kind").is_in(["not-made"]).fill_null(False)
    found = frame.group_by(place, maintain_order=True).agg(
        failed=is_failure().any(), waiting=waiting.all()
    )
    value = pl.when(~pl.col("waiting")).then(1.0 - pl.col("failed").cast(pl.Float64))
    return found.with_columns(
        metric=pl.lit(DELIVERED.name),
        value=value,
        reason=pl.when("waiting").then(pl.lit("not made yet")),
        kind=pl.when("waiting").then(pl.lit("not-made")),
    ).select(frame.columns)


def _cost_notes(frame: pl.DataFrame) -> list[str]:
    """What was not charged as doing nothing: nobody should take it for that."""
    ends = frame.filter(pl.col("charged") == AS_END)["metric"].unique().sort().to_list()
    notes = [f"{listed(ends, 5)}: a failure counts as the bad end of the scale"] if ends else []
    worst = frame.filter(pl.col("charged") == AS_WORST)
    names = worst["metric"].unique().sort().to_list()
    if not names:
        return notes
    return [
        *notes,
        f"{listed(names, 5)}: doing nothing has no score on {worst['case'].n_unique()} of the "
        "cases with a failure; it counts as the worst score on the case, which may cost it "
        "nothing (--identity RUN names a scored run of the control identity)",
    ]


def _change(frame: pl.DataFrame, score: Score, tolerance: float) -> Change:
    own = frame.filter(pl.col("metric") == score.name, pl.col("run").is_in([_BEFORE, _NOW]))
    [pair] = compare_runs(own, score.name, pairs=[(_NOW, _BEFORE)], bounds=score.bounds)
    means = case_means(clean_scores(own), ["run"])
    both = means.group_by("case").len().filter(pl.col("len") == 2)["case"]
    means = means.filter(pl.col("case").is_in(both.to_list()))
    value = dict(means.group_by("run").agg(pl.col("value").mean()).rows())
    charged = own["charged"].drop_nulls().len() if "charged" in own.columns else 0
    return Change(score, value.get(_BEFORE), value.get(_NOW), pair, tolerance, charged)


def _row(one: Change) -> Row:
    digits, pair = one.score.decimals, one.pair
    label = f"{one.score.label} {'↓' if one.score.better == 'lower' else '↑'}"
    ends: Interval | None = pair.interval
    cells = [
        Cell(number(one.baseline, digits), value=one.baseline),
        Cell(number(one.run, digits), value=one.run),
        Cell(number(pair.difference, digits, signed=True), value=pair.difference),
        Cell(between(ends, digits, signed=True) or "–", value=ends and list(ends)),
        Cell(p_value(pair.p_holm).removeprefix("p ") or "–", value=pair.p_holm),
        Cell(one.verdict, bold=one.verdict == "worse"),
    ]
    return Row(label, cells, stand_in=one.score.stand_in)
