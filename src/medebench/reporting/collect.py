"""Everything the report is about, read once from the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeVar

import polars as pl

from medebench.analysis.failure_cost import (
    AS_END,
    AS_NOTHING,
    AS_WORST,
    Better,
    count_failures,
    is_failure,
)
from medebench.analysis.score_frame import with_common_sources
from medebench.audit import Remaining
from medebench.cases import Case
from medebench.errors import InputError
from medebench.page.private_paths import without_folders
from medebench.page.score_columns import (
    DESCRIBED,
    DIAGNOSTIC,
    HEADLINES,
    Score,
    describe,
    dimensions,
    is_likeness,
    leading,
)
from medebench.reason import Reason
from medebench.reporting.case_groups import Group, groups_of
from medebench.reporting.score_provenance import Judges, Reading, Weights
from medebench.runs.case_state import CasesNow, CaseState
from medebench.runs.ledger import STALE, STALE_CASE, CaseRow, OutputRow, ScoreRow, SetRow
from medebench.runs.run_folder import Contents, Run
from medebench.settings import in_words
from medebench.tasks import MixedTask, Task, find_task

UNSCORED = Reason("not-scored", "not scored yet")
ABSENT = Reason("no-output", "no output: the folder has no file for this case")
#: The kind of the reason where a score is not about a case: it counts nowhere.
NOT_APPLICABLE = "not-applicable"
Row = TypeVar("Row", OutputRow, SetRow)
Failures = Literal["count", "omit"]


@dataclass(frozen=True)
class Entry:
    """One run in the report; models come before controls, and `index` gives it its colour."""

    run: Run
    index: int
    #: Case keys (see `Material`) it was asked for: with outputs, with failures, and `absent` ones.
    cases: frozenset[str]
    outputs: dict[tuple[str, int], OutputRow]
    #: What judging and what making it has cost, in US dollars.
    cost: float = 0.0
    editing_cost: float = 0.0
    #: Scores of the outputs as a set; one of other outputs than those of now is a reason.
    sets: tuple[SetRow, ...] = ()
    #: Scores that are left out because the case changed after them, and the cases' ids.
    outdated: int = 0
    outdated_cases: frozenset[str] = frozenset()
    #: Rows of the ledger from before rows had checksums.
    unchecked: int = 0
    #: What the ledger knows of the cases, by id; and scores with more to tell than their value.
    rows: dict[str, CaseRow] = field(default_factory=dict)
    told: list[ScoreRow] = field(default_factory=list)
    #: Cases that other runs of the report have, and for which an adopted folder has no file.
    absent: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def control(self) -> bool:
        return self.run.info.control

    @property
    def sees(self) -> str:
        """ "sees the ROI", "was not shown the input", or nothing."""
        what = ["the ROI" if s == "roi" else f"the {s}" for s in self.run.info.sees]
        told = [f"sees {' and '.join(what)}"] if what else []
        return " and ".join([*told, *self._blind])

    @property
    def _blind(self) -> list[str]:
        """Pictures that were painted from words alone, by what the ledger says of each."""
        rows = [one for one in self.outputs.values() if one.reason is None]
        blind = sum(one.detail.get("input_shown") is False for one in rows)
        if not blind:
            return []
        few = "" if blind == len(rows) else f" of {blind:,} of {len(rows):,} outputs"
        return [f"was not shown the input{few}"]

    @property
    def steered(self) -> str:
        """ "steps=8, tuned on 65 other cases", "refined by offline-2", or nothing."""
        info, tuned = self.run.info, ""
        if info.tuned is not None:
            chosen = in_words(info.tuned.tried[info.tuned.best].settings)
            tuned = f"{chosen}, tuned on {info.tuned.cases} other cases"
        return ", ".join(
            filter(None, [tuned, f"refined by {info.judged_by}" if info.judged_by else ""])
        )

    @property
    def extent(self) -> str:
        """ "69 cases", or "9 of 69 cases" where the run covers only part of the set."""
        cases = self.run.info.cases
        few, noun = len(self.cases - self.absent), "case" if cases.of == 1 else "cases"
        return f"{few:,} {noun}" if few == cases.of else f"{few:,} of {cases.of:,} {noun}"


@dataclass(frozen=True)
class Material:
    """Runs and their scores; a case is known by its key.

    The key is the case's id, unless two runs hold different cases under one id: then the later one
    gets a key of its own, so that nothing is compared that is not the same.
    """

    #: What all runs were to do.
    task: Task
    entries: tuple[Entry, ...]
    frame: pl.DataFrame
    scores: tuple[Score, ...]
    #: key -> (entry that has it, id there, digest)
    places: dict[str, tuple[int, str, str]]
    clashes: tuple[str, ...] = ()
    #: metric -> judge and version -> runs it scored
    judges: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    cases: dict[str, Case] = field(default_factory=dict)
    #: metric -> the values of each output that was judged several times, of models if there are any
    repeats: dict[str, list[list[float]]] = field(default_factory=dict)
    #: The scores of the diagnosis, which are not in `frame`.
    grounded: pl.DataFrame = field(default_factory=pl.DataFrame)
    #: metric -> which weights -> runs they scored
    variants: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    #: metric -> what of the texts it could read
    readings: dict[str, Reading] = field(default_factory=dict)
    #: Whether a failure counts as doing nothing where the tables begin, or is left out.
    failures: Failures = "count"
    #: Which cases were left out for what an audit found, if any.
    without: Remaining | None = None
    #: By run and metric, how many outputs it is not about.
    aside: pl.DataFrame = field(default_factory=pl.DataFrame)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """By which tables break results down, the leading one first."""
        return groups_of(self.task)

    @property
    def editing(self) -> bool:
        """Whether this is about MedEBench's own task, with all that is published about it."""
        return self.task.name == "editing"

    @property
    def mixed(self) -> bool:
        """Whether cases are of several kinds of work, of which not every run does all."""
        return isinstance(self.task, MixedTask)

    @property
    def mean(self) -> Literal["micro", "macro"]:
        """What is averaged over: cases, or groups, so that large ones do not weigh most."""
        return "macro" if self.task.macro else "micro"

    @property
    def maker(self) -> str:
        """What a reader calls a system of this task."""
        return "editor" if self.editing else "system"

    def group_values(self, key: str) -> list[str]:
        """The groups that a case is in, in the order of `groups`."""
        entry, case_id, _ = self.places[key]
        row = self.entries[entry].rows[case_id]
        return [group.of(row, self.cases.get(key)) for group in self.groups]

    @property
    def models(self) -> list[Entry]:
        return [entry for entry in self.entries if not entry.control]

    @property
    def controls(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.control]

    @property
    def outdated(self) -> tuple[int, int] | None:
        """How many scores are left out because cases or outputs changed, and of how many cases."""
        cases = {case for entry in self.entries for case in entry.outdated_cases}
        scores = sum(entry.outdated for entry in self.entries)
        return (scores, len(cases)) if scores else None

    @cached_property
    def _shared_rows(self) -> pl.DataFrame:
        """Of several kinds of work: in each group, what all models have that do such work at all.

        Who gives only texts is not asked for images; that makes no other case less comparable. The
        best over several groups is found among the cases that all models have scored.
        """
        runs = pl.col("run").n_unique()
        place = ["metric", "case"]
        models = self.frame.filter(~pl.col("control"))
        models = self.frame if models.is_empty() else models
        work = ["metric", "group"]
        every = models.group_by(work).agg(runs=runs)
        # What no model does is done by controls alone: nothing to make comparable.
        alone = self.frame.select(*place, "group").unique().join(every, on=work, how="anti")
        found = models.group_by(*place, "group").agg(own=runs).join(every, on=work)
        whole = found.filter(pl.col("own") == pl.col("runs"))
        shared = pl.concat([one.select(place) for one in (whole, alone)])
        return self.frame.join(shared, on=place, how="semi", maintain_order="left")

    @cached_property
    def shared(self) -> frozenset[str]:
        """The cases that every run has."""
        if self.mixed:
            return frozenset(self._shared_rows["case"].unique())
        return frozenset.intersection(*(entry.cases for entry in self.entries))

    @cached_property
    def same_cases(self) -> bool:
        if self.mixed:
            return len(self._shared_rows) == len(self.frame)
        return all(entry.cases == self.shared for entry in self.entries)

    @property
    def comparable(self) -> str:
        """Over which of the delivered outputs runs are compared: of shared cases, if any."""
        return "own" if self.same_cases or not self.shared else "shared"

    @cached_property
    def bases(self) -> dict[str, pl.DataFrame]:
        """What the tables can be about, each with its rows.

        "own": what each run delivered; "shared": of that, the cases that all runs have; "asked":
        all that was asked for, where a failure counts as doing nothing.
        """
        found = {"own": self.frame}
        if self.comparable == "shared":
            cut = self.frame.filter(pl.col("case").is_in(list(self.shared)))
            found["shared"] = self._shared_rows if self.mixed else cut
        better: dict[str, Better] = {
            score.name: "neither" if score.described else score.better for score in self.scores
        }
        ends = {one.name: one.worst for one in self.scores if one.worst is not None}
        counted = count_failures(found[self.comparable], better, {} if self.editing else ends)
        return (
            found if counted["charged"].null_count() == len(counted) else found | {"asked": counted}
        )

    @property
    def basis(self) -> str:
        """What the tables are about unless asked otherwise."""
        return "asked" if self.failures == "count" and "asked" in self.bases else self.comparable

    @cached_property
    def delivered(self) -> dict[str, tuple[int, int]]:
        """By run, how many usable outputs it delivered, of how many that it was asked for."""
        outputs = self.frame.with_columns(is_failure()).group_by("run", "case", "k")
        found = (
            outputs.agg(failed=pl.col("failed").any())
            .group_by("run")
            .agg(asked=pl.len(), failed=pl.col("failed").sum())
        )
        return {run: (asked - failed, asked) for run, asked, failed in found.rows()}

    @property
    def cost_rules(self) -> dict[str, list[Score]]:
        """How failures are counted, and for which scores."""
        charged = self.bases["asked"].filter(pl.col("charged").is_not_null())
        kinds = dict(charged.group_by("metric").agg(pl.col("charged").unique()).rows())
        found: dict[str, list[Score]] = {AS_NOTHING: [], AS_END: [], AS_WORST: []}
        for score in self.scores:
            for kind in kinds.get(score.name, ()):
                found[kind].append(score)
        return {kind: scores for kind, scores in found.items() if scores}

    @property
    def leading(self) -> list[Score]:
        """What the headline table shows; of several kinds of work, what leads each of them."""
        leads = dimensions(self.scores, "", self.task) if self.mixed else []
        return leads or leading(self.scores)

    @property
    def learned(self) -> list[Score]:
        return [score for score in self.scores if score.family]

    def headline(self, asked: str | None) -> str:
        """The score that leads: the one that was asked for if it is there, else the task's."""
        if self.editing:
            names = [s.name for s in self.scores if s.dimension == "cp"]
            asked = asked or "cp"
            return asked if asked in names or not names else names[0]
        leads = dimensions(self.scores, asked or "", self.task)
        chosen = [score.name for score in leads if asked and score.stands_for(asked)]
        return next(iter([*chosen, *(score.name for score in leads)]), "")

    def score(self, name: str) -> Score | None:
        return next((score for score in self.scores if score.name == name), None)


def check_runs(runs: Sequence[Run], headline: str | None = None) -> Task:
    """The task of the runs; refuses what cannot be reported together."""
    if not runs:
        raise InputError("no run given; a report needs at least one")
    first = runs[0]
    for run in runs:
        if run.info.task != first.info.task:
            raise InputError(
                f"{run.path}: its task is '{run.info.task}', that of {first.path} is "
                f"'{first.info.task}'; report the runs of each task separately"
            )
    task = find_task(first.info.task)
    choices = HEADLINES if task.name == "editing" else (*HEADLINES, *task.headline)
    if headline is not None and headline not in choices:
        there = HEADLINES if task.name == "editing" else task.headline
        raise InputError(f"headline '{headline}': choose {' or '.join(there)}")
    seen: dict[str, Run] = {}
    for run in runs:
        if (other := seen.setdefault(run.name, run)) is not run:
            raise InputError(
                f"two runs are called '{run.name}' ({other.path} and {run.path}); rename one folder"
            )
    return task


def collect(
    runs: Sequence[Run],
    headline: str | None = None,
    failures: Failures = "count",
    without: Remaining | None = None,
) -> Material:
    """Read the runs, but for cases that are left out for what an audit found.

    `failures` says what the tables begin with, a failure counted or left out.
    """
    task = check_runs(runs, headline)
    keys, judges, weights = _Keys(), Judges(), Weights()
    entries, frames = [], []
    cases_now = CasesNow()
    for index, run in enumerate(sorted(runs, key=lambda run: run.info.control)):
        run.look_again(cases_now)
        run.look_at_outputs()
        read = run.contents()
        rows, outputs = read.cases, read.outputs
        own = {row.case_id: keys.key(index, row, run.states) for row in rows.values()}
        _listen(run, read, own, judges, weights)
        costs = read.cost, read.editing_cost
        with run.ledger() as ledger:
            unchecked = ledger.unchecked()
        sets = tuple(_clean(run, row) for row in run.set_scores())
        for one in sets:
            weights.hear_set(run.name, one)
        frame = run.table(read)
        outdated, outdated_cases = run.outdated(frame)
        if frame.is_empty() and not sets:
            raise InputError(f"{run.path}: has no scores yet; run `medebench score {run.path}`")
        frame = pl.concat([frame, _unscored(frame, rows, outputs)])
        reasons = frame["reason"].drop_nulls().unique().to_list()
        hidden = {reason: without_folders(run, reason) for reason in reasons}
        frames.append(
            frame.drop("organ", "task").with_columns(
                *(_grouped(group, rows, run) for group in groups_of(task)),
                pl.col("case").replace(own),
                pl.col("reason").replace(hidden),
            )
        )
        held = {
            (own[case_id], k): _clean(run, row)
            for (case_id, k), row in outputs.items()
            if case_id in own
        }
        places = frozenset(key for key, _ in held)
        gone = frozenset(outdated_cases)
        told = [one for one in run.scores(read) if one.detail or one.metric in DIAGNOSTIC]
        entries.append(
            Entry(run, index, places, held, *costs, sets, outdated, gone, unchecked, rows, told)
        )
    if without is not None:
        gone_ids = {case_id for ids in without.left_out.values() for case_id in ids}
        left_out = {key for key, (_, case_id, _) in keys.places.items() if case_id in gone_ids}
        entries = [_cut(entry, left_out, gone_ids) for entry in entries]
        frames = [frame.filter(~pl.col("case").is_in(sorted(left_out))) for frame in frames]
        keys.places = {key: one for key, one in keys.places.items() if key not in left_out}
    entries = _with_absent(entries, keys.places, task)
    frames += [rows for entry in entries if entry.absent for rows in absent_rows(entry, frames)]
    # Runs of some of the cases may lack a group that the others have.
    joined = with_common_sources(pl.concat(frames, how="diagonal"))
    every = _opened(joined, entries, keys.places, task, judges)
    every = _not_asked(every) if isinstance(task, MixedTask) else every
    aside = (pl.col("kind") == NOT_APPLICABLE).fill_null(False)
    frame, grounded = _split(every.filter(~aside))
    scores = describe(frame["metric"].unique().sort().to_list(), judges.details)
    return Material(
        task,
        tuple(entries),
        frame,
        tuple(scores),
        keys.places,
        tuple(keys.clashes),
        judges.names,
        repeats=judges.repeats,
        grounded=grounded,
        variants=weights.variants,
        readings=weights.readings,
        failures=failures,
        without=without,
        aside=every.filter(aside).group_by("run", "metric").len().sort("run", "metric"),
    )


def _cut(entry: Entry, keys: Set[str], ids: Set[str]) -> Entry:
    """Without these cases; scores of whole sets are over all of them, and go."""
    return replace(
        entry,
        cases=entry.cases - keys,
        outputs={place: row for place, row in entry.outputs.items() if place[0] not in keys},
        sets=() if keys else entry.sets,
        told=[row for row in entry.told if row.case_id not in ids],
    )


def _with_absent(
    entries: Sequence[Entry], places: Mapping[str, tuple[int, str, str]], task: Task
) -> list[Entry]:
    """Adopted folders were to hold every case that a model of the report has.

    With a single model, every case that a control has: it was run on the whole set. A case that a
    run has with other content is none that it lacks, nor is one of a kind of work it does not do.
    """
    models = [entry for entry in entries if not entry.control]
    asked = frozenset[str]().union(*(e.cases for e in (models if len(models) > 1 else entries)))
    found = []
    for entry in entries:
        if entry.run.info.adopted_from is not None and entry in models:
            held = {places[key][1] for key in entry.cases}
            done = {task.of(case).gives for case in entry.run.cases}
            absent = frozenset(
                key
                for key in asked
                if places[key][1] not in held and _gives(entries, places[key], task) in done
            )
            entry = replace(entry, cases=entry.cases | absent, absent=absent)
        found.append(entry)
    return found


def _gives(entries: Sequence[Entry], place: tuple[int, str, str], task: Task) -> tuple[str, ...]:
    """What a case asks for; one that has left its set, what the task does."""
    index, case_id, _ = place
    cases = entries[index].run.cases
    return task.of(cases[case_id]).gives if case_id in cases else task.gives


def absent_rows(entry: Entry, frames: Sequence[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """A row for each case that a run lacks and each of its scores: a failure, not a gap."""
    own = next((f for f in frames if len(f) and f["run"][0] == entry.name), None)
    if own is None:
        return  # nothing but scores of sets
    about = own.select("metric", "run", "editor", "control").unique("metric", maintain_order=True)
    others = pl.concat(frames, how="diagonal").filter(pl.col("case").is_in(sorted(entry.absent)))
    cases = others.drop("metric", "run", "editor", "control").unique("case", maintain_order=True)
    none = {"value": None, "finding": None, "reason": str(ABSENT), "kind": ABSENT.kind, "k": 0}
    rows = cases.with_columns(**{n: pl.lit(v, own.schema[n]) for n, v in none.items()})
    aside = others.filter(pl.col("kind") == NOT_APPLICABLE).select("case", "metric").unique()
    every = rows.join(about, how="cross").select(own.columns)
    yield every.join(aside, on=["case", "metric"], how="anti", maintain_order="left")


def _listen(
    run: Run,
    read: Contents,
    keys: dict[str, str],
    judges: Judges,
    weights: Weights,
) -> None:
    for row, valid in run.scores_now(read):
        if valid.reason in (STALE, STALE_CASE):
            # It still tells who judged, but nothing of what was said counts.
            detail = {name: one for name, one in row.detail.items() if name != "values"}
            row = replace(row, value=None, reason=valid.reason, detail=detail)
        judges.hear(run.name, run.info.control, row)
        if row.case_id in keys and valid.value is not None:
            weights.hear(run.name, keys[row.case_id], row)


def _grouped(group: Group, rows: Mapping[str, CaseRow], run: Run) -> pl.Expr:
    cases = {case.id: case for case in run.cases}
    found = {case_id: group.of(row, cases.get(case_id)) for case_id, row in rows.items()}
    return pl.col("case").replace_strict(found, return_dtype=pl.String).alias(group.column)


def _split(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What the tables show, and what only the diagnosis does; where there is no other, both."""
    own = pl.col("metric").is_in(sorted(DIAGNOSTIC))
    shown, grounded = frame.filter(~own), frame.filter(own)
    return (frame if shown.is_empty() else shown), grounded


def _opened(
    frame: pl.DataFrame,
    entries: Sequence[Entry],
    places: Mapping[str, tuple[int, str, str]],
    task: Task,
    judges: Judges,
) -> pl.DataFrame:
    """Likeness to the reference under a name of its own where many images are right.

    There it is a description: it must not rank, nor be averaged with what does.
    """
    cases = {i: {case.id: case for case in entries[i].run.cases} for i, _, _ in places.values()}
    found = [
        key
        for key, (index, case_id, _) in places.items()
        if case_id in cases[index] and task.is_open(cases[index][case_id])
    ]
    names = frame["metric"].unique().to_list()
    likeness = [name for name in names if is_likeness(name, judges.details.get(name, {}))]
    judges.details |= {
        name + DESCRIBED: judges.details[name] for name in likeness if name in judges.details
    }
    here = pl.col("case").is_in(found) & pl.col("metric").is_in(likeness)
    renamed = pl.when(here).then(pl.col("metric") + DESCRIBED).otherwise(pl.col("metric"))
    return frame.with_columns(metric=renamed) if found and likeness else frame


def _not_asked(frame: pl.DataFrame) -> pl.DataFrame:
    """A failed output has failed in no score that is not about such work at all.

    Of one that was never made nobody could tell; those of the same kind of work tell. And of a
    control that gives images alone nobody expects a text.
    """
    aside = (pl.col("kind") == NOT_APPLICABLE).fill_null(False)
    place = ["metric", "group"]
    none = aside.any() & pl.col("value").is_null().all()
    told = frame.group_by(place).agg(none=none)
    rows = frame.join(told, on=place, how="left", maintain_order="left")
    lacks = pl.col("control") & (pl.col("kind") == "no-part").fill_null(False)
    kind = pl.when((pl.col("none") & is_failure()) | lacks).then(pl.lit(NOT_APPLICABLE))
    return rows.with_columns(kind=kind.otherwise(pl.col("kind"))).drop("none")


def _clean(run: Run, row: Row) -> Row:
    if row.reason is None:
        return row
    return replace(row, reason=Reason(row.reason.kind, without_folders(run, row.reason)))


def _unscored(
    frame: pl.DataFrame, cases: dict[str, CaseRow], outputs: dict[tuple[str, int], OutputRow]
) -> pl.DataFrame:
    """Rows for outputs that were made after the run was scored: they are missing, not absent."""
    # A row that says "not made yet" or "score again" is known, and counts once.
    known = set(frame.select("case", "k", "metric").rows())
    if not known:
        return frame
    first = frame.row(0, named=True)
    rows = [
        first
        | {"case": case_id, "k": k}
        | {"metric": metric, "value": None, "reason": UNSCORED, "kind": UNSCORED.kind}
        | {"source": cases[case_id].source}
        for metric in frame["metric"].unique().sort().to_list()
        for case_id, k in outputs
        if case_id in cases and (case_id, k, metric) not in known
    ]
    return pl.DataFrame(rows, schema=frame.schema)


class _Keys:
    def __init__(self) -> None:
        self.places: dict[str, tuple[int, str, str]] = {}
        self.clashes: list[str] = []
        self._known: dict[tuple[str, str], str] = {}

    def key(self, entry: int, row: CaseRow, states: Mapping[str, CaseState]) -> str:
        """That of the case as it is now, unless its outputs were made from an earlier one."""
        case_id, state = row.case_id, states.get(row.case_id)
        digest = row.digest if state is None or state.reason else state.digest
        if found := self._known.get((case_id, digest)):
            return found
        key = case_id
        if key in self.places:
            key = f"{case_id} (other content, {digest[:6]})"
            self.clashes.append(case_id)
        # Pictures are drawn as they are now.
        self.places[key] = (entry, case_id, state.digest if state else digest)
        self._known[case_id, digest] = key
        return key
