"""Scores of whole sets of outputs: one for a run, and one for each of its organs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from medebench.cases import OpenCase
from medebench.cases.image import Picture, read_file
from medebench.encoders.base import Encoder, Features
from medebench.encoders.extract import Extractor, Shown
from medebench.encoders.sharing import shared_extractor
from medebench.errors import ImageError, MedebenchError, one_line
from medebench.files import sha256
from medebench.metrics import SetMetric, SetScore
from medebench.parallel import in_parallel
from medebench.progress import Progress
from medebench.runs.batching import broke, impossible
from medebench.runs.failed_calls import Failures
from medebench.runs.ledger import WHOLE, Ledger, OutputRow, SetRow
from medebench.runs.run import Run
from medebench.runs.work import Wanted, Work, open_outputs, plan_work

#: In the detail of a score: outputs whose file is gone.
MISSING = "missing"
#: No ledger holds this score, so every output is looked at.
_ALL: Wanted = {"\0 every output": None}


@dataclass(frozen=True)
class _Seen:
    """The pictures of one case as the encoder is to see them, or why it cannot."""

    case_id: str
    #: By run; several where a run has several outputs a case.
    outputs: list[tuple[int, Shown | str]]
    reference: Shown | str


@dataclass
class _Gathered:
    """The vectors of one run, in the order in which they came."""

    outputs: list[tuple[str, Features]] = field(default_factory=list)
    references: dict[str, Features] = field(default_factory=dict)
    #: Why outputs are not among them, and how many.
    left_out: Counter[str] = field(default_factory=Counter)


def score_sets(
    runs: Sequence[Run],
    ledgers: Sequence[Ledger],
    metrics: Sequence[SetMetric],
    workers: int | None,
    retry_failed: bool,
    progress: Progress,
    failures: Failures,
) -> None:
    """Compute what is missing or was computed from other outputs; features come from the store."""
    groups: dict[tuple[str, str], list[SetMetric]] = {}
    for metric in metrics:
        groups.setdefault((metric.encoder.name, metric.encoder.identity), []).append(metric)
    missing = [_look(run, ledger) for run, ledger in zip(runs, ledgers, strict=True)]
    for together in groups.values():
        stale = [
            index
            for index, ledger in enumerate(ledgers)
            if any(
                _is_stale(runs[index], ledger, metric, missing[index], retry_failed)
                for metric in together
            )
        ]
        if not stale:
            continue
        chosen = [runs[index] for index in stale]
        own = [ledgers[index] for index in stale]
        gathered = _gather(chosen, own, together[0].encoder, workers, progress)
        for index, found in zip(stale, gathered, strict=True):
            for metric in together:
                rows = _rows(runs[index], ledgers[index], metric, found, missing[index])
                ledgers[index].write_sets(metric.name, rows)
                failures.note_set({}, (row.reason for row in rows))
            failures.note_set(found.left_out, ())


def _look(run: Run, ledger: Ledger) -> int:
    """Take over outputs whose file was replaced; how many files are gone."""
    gone, replaced = 0, []
    for (case_id, k), row in ledger.outputs().items():
        try:
            sha = sha256(read_file(run.output_path(case_id, k)))
        except ImageError:
            gone += row.sha256 is not None
            continue
        if sha != row.sha256:
            replaced.append(OutputRow(case_id, k, sha, None, None, {"replaced": True}))
    ledger.write(*replaced)
    return gone


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


def _gather(
    runs: Sequence[Run],
    ledgers: Sequence[Ledger],
    encoder: Encoder,
    workers: int | None,
    progress: Progress,
) -> list[_Gathered]:
    work = plan_work(runs, ledgers, _ALL, retry_failed=False)
    found = [_Gathered() for _ in runs]
    extractor = shared_extractor(encoder)
    results = in_parallel(lambda one: _see(one, extractor), work, workers)
    progress(0, len(work))
    waiting: list[_Seen] = []
    try:
        for done, seen in enumerate(results, start=1):
            waiting.append(seen)
            if sum(len(one.outputs) + 1 for one in waiting) >= encoder.batch:
                _settle(waiting, extractor, found)
                waiting = []
            progress(done, len(work))
        _settle(waiting, extractor, found)
    finally:
        results.close()
        extractor.close()
    return found


def _see(work: Work, extractor: Extractor) -> _Seen:
    outputs: list[tuple[int, Shown | str]] = []
    reference: Shown | str | None = None
    for opened in open_outputs(work, _ALL):
        if opened.picture is None:
            outputs.append((opened.output.run, opened.reason or "no output"))
            continue
        case = opened.case
        if reference is None:
            reference = "the case has no reference"
            if work.case.reference is not None:
                reference = _show(extractor, case)
        outputs.append((opened.output.run, _show(extractor, case, opened.picture)))
    return _Seen(work.case.id, outputs, reference or "the case has no output")


def _show(extractor: Extractor, case: OpenCase, output: Picture | None = None) -> Shown | str:
    """An output, or without one the reference."""
    try:
        return extractor.show(case.reference if output is None else output, case.data_range)
    except ImageError as error:
        return one_line(str(error))
    except Exception as error:
        return broke("encoder", error)


def _settle(waiting: Sequence[_Seen], extractor: Extractor, found: list[_Gathered]) -> None:
    shown = [one for seen in waiting for one in _shown(seen)]
    vectors = dict(zip((one.key for one in shown), _vectors(extractor, shown), strict=True))
    for seen in waiting:
        reference = _vector(seen.reference, vectors)
        for run, output in seen.outputs:
            vector = _vector(output, vectors)
            if isinstance(reference, str) or isinstance(vector, str):
                found[run].left_out[vector if isinstance(vector, str) else str(reference)] += 1
                continue
            found[run].outputs.append((seen.case_id, vector))
            found[run].references[seen.case_id] = reference


def _shown(seen: _Seen) -> Iterator[Shown]:
    for one in (seen.reference, *(output for _, output in seen.outputs)):
        if isinstance(one, Shown):
            yield one


def _vector(one: Shown | str, vectors: dict[str, Features | str]) -> Features | str:
    return one if isinstance(one, str) else vectors[one.key]


def _vectors(extractor: Extractor, shown: Sequence[Shown]) -> list[Features | str]:
    """A vector each, or why not: a picture that breaks the encoder takes no other along."""
    if not shown:
        return []
    try:
        return list(extractor.features(shown))
    except MedebenchError:
        # About the weights: nothing can be scored with them.
        raise
    except Exception as error:
        if len(shown) == 1:
            return [broke("encoder", error)]
    return [vector for one in shown for vector in _vectors(extractor, [one])]


def _rows(
    run: Run, ledger: Ledger, metric: SetMetric, found: _Gathered, missing: int
) -> list[SetRow]:
    cases = ledger.cases()
    organs: dict[str, set[str]] = {}
    for case_id, _ in found.outputs:
        organs.setdefault(cases[case_id].organ, set()).add(case_id)
    parts: list[tuple[str, set[str]]] = [(WHOLE, set(found.references))]
    if len(organs) > 1:
        # A case without an organ has no part of its own: '' is the whole.
        parts += sorted((organ, ids) for organ, ids in organs.items() if organ)
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
        rows.append(
            SetRow(
                metric.name,
                part,
                digest,
                metric.variant,
                score.value,
                score.reason,
                score.interval,
                len(own),
                len(others),
                detail,
                time.perf_counter() - start,
            )
        )
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
