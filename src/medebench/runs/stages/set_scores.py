"""Scores of whole sets of outputs: one for a run, and one for each of its leading groups."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from medebench.cases import OpenCase
from medebench.encoders.encoder import Features
from medebench.encoders.extractor import Extractor, Shown, shared_extractor
from medebench.engine.batches import one_by_one
from medebench.engine.named import Named
from medebench.errors import ImageError, MedebenchError, one_line
from medebench.images.picture import Picture
from medebench.metrics import SetMetric, SetScore
from medebench.reason import with_kind
from medebench.runs.failed_calls import Failures
from medebench.runs.ledger import WHOLE, Ledger, SetRow
from medebench.runs.run_folder import Run
from medebench.runs.stages.output_stage import DeviceStage, Held, Rows
from medebench.runs.stages.value_checks import broke, impossible
from medebench.runs.visits import Opened, Target, take_files

#: In the detail of a score: outputs whose file is gone.
MISSING = "missing"


@dataclass(frozen=True)
class _Seen:
    """An output and its reference as the encoder is to see them, or why it cannot."""

    run: int
    case_id: str
    output: Shown | str
    reference: Shown | str


@dataclass
class _Gathered:
    """The vectors of one run, in the order in which they came."""

    outputs: list[tuple[str, Features]] = field(default_factory=list)
    references: dict[str, Features] = field(default_factory=dict)
    #: Why outputs are not among them, and how many.
    left_out: Counter[str] = field(default_factory=Counter)


def set_stages(
    metrics: Sequence[Named[SetMetric]],
    runs: Sequence[Run],
    ledgers: Sequence[Ledger],
    retry_failed: bool,
) -> list[SetScores]:
    """A stage for each encoder, where scores are missing or were computed from other outputs."""
    if not metrics:
        return []
    gone = [take_files(run, ledger) for run, ledger in zip(runs, ledgers, strict=True)]
    groups: dict[tuple[str, str], list[Named[SetMetric]]] = {}
    for one in metrics:
        encoder = one.thing.encoder
        groups.setdefault((encoder.name, encoder.identity), []).append(one)
    stages = []
    for together in groups.values():
        stale = {
            index: missing
            for index, (run, ledger, missing) in enumerate(zip(runs, ledgers, gone, strict=True))
            if any(_is_stale(run, ledger, one.thing, missing, retry_failed) for one in together)
        }
        if stale:
            stages.append(SetScores(together, stale))
    return stages


class SetScores(DeviceStage):
    """Set metrics of one encoder. `stale` names the runs they are for, with their lost files."""

    at_home = frozenset({"_gathered", "_extractor"})
    needs = ""

    def __init__(self, metrics: Sequence[Named[SetMetric]], stale: dict[int, int]) -> None:
        self._metrics = tuple(metrics)
        self._stale = stale
        self._gathered = {index: _Gathered() for index in stale}

    def wants(self, target: Target, sha: str | None) -> Sequence[str]:
        return ["vector"] if target.run in self._stale else []

    @cached_property
    def _extractor(self) -> Extractor:
        return shared_extractor(self._metrics[0].thing.encoder)

    def do(self, opened: Opened, names: Sequence[str]) -> list[Held]:
        case, run, reference = opened.case, opened.target.run, f"reference {id(self)}"
        if opened.picture is None:
            return [Held(_Seen(run, case.case.id, str(opened.lacks("image")), ""))]
        if reference not in case.memo:
            none = case.case.reference is None
            shown = "the case has no reference" if none else _show(self._extractor, case)
            case.memo[reference] = shown
        shown = _show(self._extractor, case, opened.picture)
        return [Held(_Seen(run, case.case.id, shown, case.memo[reference]))]

    def is_full(self, waiting: Sequence[_Seen]) -> bool:
        pictures = len(waiting) + len({one.case_id for one in waiting})
        return pictures >= self._metrics[0].thing.encoder.batch

    def finish(self, items: Sequence[_Seen]) -> Iterator[Rows]:
        """No rows yet: vectors, from which they follow once all are there."""
        every = (one for seen in items for one in (seen.reference, seen.output))
        shown = list({one.key: one for one in every if isinstance(one, Shown)}.values())
        found = one_by_one(lambda some: list(self._extractor.features(some)), shown, _unseen)
        vectors: dict[str, Features | str] = dict(
            zip((one.key for one in shown), found, strict=True)
        )
        for seen in items:
            own = self._gathered[seen.run]
            reference, vector = _vector(seen.reference, vectors), _vector(seen.output, vectors)
            if isinstance(vector, str) or isinstance(reference, str):
                own.left_out[vector if isinstance(vector, str) else str(reference)] += 1
                continue
            own.outputs.append((seen.case_id, vector))
            own.references[seen.case_id] = reference
        return iter(())

    def close(self) -> None:
        if self._metrics[0].travelled:
            self._extractor.close()

    def release(self) -> None:
        self._extractor.close()

    def conclude(
        self, index: int, run: Run, ledger: Ledger, failures: Failures
    ) -> Sequence[SetRow]:
        if index not in self._stale:
            return ()
        found, missing = self._gathered[index], self._stale[index]
        rows = [_rows(run, ledger, one.thing, found, missing) for one in self._metrics]
        for of_one in rows:
            failures.note_set({}, (row.reason for row in of_one))
        failures.note_set(found.left_out, ())
        return [row for of_one in rows for row in of_one]


def _is_stale(
    run: Run, ledger: Ledger, metric: SetMetric, missing: int, retry_failed: bool
) -> bool:
    rows = [row for row in ledger.sets() if row.metric == metric.name]
    if retry_failed and any(row.reason is not None for row in rows):
        return True
    now = ledger.outputs_digest(run.digests)
    if any(row.detail.get(MISSING, 0) != missing for row in rows if row.part == WHOLE):
        return True
    return not rows or any(row.outputs != now or row.variant != metric.variant for row in rows)


def _unseen(error: BaseException) -> Features | str:
    if isinstance(error, MedebenchError):
        # About the weights: nothing can be scored with them.
        raise error
    return broke("encoder", error)


def _show(extractor: Extractor, case: OpenCase, output: Picture | None = None) -> Shown | str:
    """An output, or without one the reference."""
    try:
        return extractor.show(case.reference if output is None else output, case.data_range)
    except ImageError as error:
        return one_line(str(error))
    except Exception as error:
        return broke("encoder", error)


def _vector(one: Shown | str, vectors: dict[str, Features | str]) -> Features | str:
    return one if isinstance(one, str) else vectors[one.key]


def _rows(
    run: Run, ledger: Ledger, metric: SetMetric, found: _Gathered, missing: int
) -> list[SetRow]:
    cases = ledger.clustered_cases()
    groups: dict[str, set[str]] = {}
    for case_id, _ in found.outputs:
        for leading in run.task.groups[:1]:
            groups.setdefault(cases[case_id].group(leading), set()).add(case_id)
    parts: list[tuple[str, set[str]]] = [(WHOLE, set(found.references))]
    if len(groups) > 1:
        # A case without a group has no part of its own: '' is the whole.
        parts += sorted((name, ids) for name, ids in groups.items() if name)
    # Sorted, so that the numbers do not depend on which thread was first.
    outputs = sorted(found.outputs, key=lambda one: one[0])
    sources = {
        name: number for number, name in enumerate(sorted({c.source for c in cases.values()}))
    }
    group = {case_id: sources[row.source] for case_id, row in cases.items()}
    digest = ledger.outputs_digest(run.digests)
    rows = []
    for part, members in parts:
        start = time.perf_counter()
        own = [(case_id, vector) for case_id, vector in outputs if case_id in members]
        others = [(case_id, found.references[case_id]) for case_id in sorted(members)]
        score = _measure(metric, own, others, group)
        detail = dict(score.detail)
        if part == WHOLE:
            detail |= {MISSING: missing} if missing else {}
            detail |= {"left_out": dict(found.left_out)} if found.left_out else {}
        where = metric.name, part, digest, metric.variant
        given = score.value, with_kind(score.reason), score.interval
        seconds = time.perf_counter() - start
        rows.append(SetRow(*where, *given, len(own), len(others), detail, seconds))
    return rows


def _measure(
    metric: SetMetric,
    outputs: Sequence[tuple[str, Features]],
    references: Sequence[tuple[str, Features]],
    group: dict[str, int],
) -> SetScore:
    if len(outputs) < metric.least:
        count = f"{len(outputs)} output{'' if len(outputs) == 1 else 's'}"
        return SetScore(None, f"too few: {count} beside a reference, {metric.least} are needed")
    try:
        score = metric.measure(
            np.stack([vector for _, vector in outputs]),
            np.stack([vector for _, vector in references]),
            np.array([group[case_id] for case_id, _ in outputs]),
            np.array([group[case_id] for case_id, _ in references]),
        )
    except MedebenchError:
        raise
    except Exception as error:
        return SetScore(None, broke("metric", error))
    if score.value is None:
        return replace(score, reason=score.reason or "the metric gave no reason")
    wrong = impossible(score.value, metric.info.low, metric.info.high, "metric")
    return replace(score, value=None, interval=None, reason=wrong) if wrong else score
