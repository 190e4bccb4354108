"""Scores of whole sets of outputs: one for a run, and one for each of its organs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from medebench.encoders.base import Encoder, Features
from medebench.encoders.extract import Extractor, Shown
from medebench.encoders.sharing import shared_extractor
from medebench.errors import ImageError, InputError
from medebench.metrics import SetMetric, SetScore
from medebench.parallel import in_parallel
from medebench.progress import Progress
from medebench.runs.batching import broke
from medebench.runs.ledger import WHOLE, Ledger, SetRow
from medebench.runs.run import Run
from medebench.runs.work import Wanted, Work, open_outputs, plan_work

#: No ledger holds this score, so every output is looked at.
_ALL: Wanted = {"\0 every output": None}


@dataclass(frozen=True)
class _Seen:
    """The pictures of one case as the encoder is to see them."""

    case_id: str
    #: By run; several where a run has several outputs a case.
    outputs: list[tuple[int, Shown]]
    reference: Shown | None


@dataclass
class _Gathered:
    """The vectors of one run, in the order in which they came."""

    outputs: list[tuple[str, Features]] = field(default_factory=list)
    references: dict[str, Features] = field(default_factory=dict)
    #: Outputs that have nothing to be compared with.
    left_out: int = 0


def score_sets(
    runs: Sequence[Run],
    ledgers: Sequence[Ledger],
    metrics: Sequence[SetMetric],
    workers: int | None,
    retry_failed: bool,
    progress: Progress,
) -> None:
    """Compute what is missing or was computed from other outputs; features come from the store."""
    groups: dict[tuple[str, str], list[SetMetric]] = {}
    for metric in metrics:
        groups.setdefault((metric.encoder.name, metric.encoder.identity), []).append(metric)
    for together in groups.values():
        stale = [
            index
            for index, ledger in enumerate(ledgers)
            if any(_is_stale(ledger, metric, retry_failed) for metric in together)
        ]
        if not stale:
            continue
        chosen = [runs[index] for index in stale]
        own = [ledgers[index] for index in stale]
        gathered = _gather(chosen, own, together[0].encoder, workers, progress)
        for ledger, found in zip(own, gathered, strict=True):
            for metric in together:
                ledger.write_sets(metric.name, _rows(ledger, metric, found))


def _is_stale(ledger: Ledger, metric: SetMetric, retry_failed: bool) -> bool:
    rows = [row for row in ledger.sets() if row.metric == metric.name]
    if retry_failed and any(row.reason is not None for row in rows):
        return True
    now = ledger.outputs_digest()
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
    outputs: list[tuple[int, Shown]] = []
    reference: Shown | None = None
    for opened in open_outputs(work, _ALL):
        if opened.picture is None:
            continue
        case = opened.case
        if reference is None and work.case.reference is not None:
            try:
                reference = extractor.show(case.reference, case.data_range)
            except ImageError:
                reference = None
        outputs.append((opened.output.run, extractor.show(opened.picture, case.data_range)))
    return _Seen(work.case.id, outputs, reference)


def _settle(waiting: Sequence[_Seen], extractor: Extractor, found: list[_Gathered]) -> None:
    usable = [seen for seen in waiting if seen.reference is not None and seen.outputs]
    for seen in waiting:
        if seen.reference is None:
            for run, _ in seen.outputs:
                found[run].left_out += 1
    shown = [one for seen in usable for one in _shown(seen)]
    vectors: Iterator[Features] = iter(extractor.features(shown) if shown else ())
    for seen in usable:
        reference = next(vectors)
        for run, _ in seen.outputs:
            found[run].outputs.append((seen.case_id, next(vectors)))
            found[run].references[seen.case_id] = reference


def _shown(seen: _Seen) -> Iterator[Shown]:
    assert seen.reference is not None
    yield seen.reference
    yield from (shown for _, shown in seen.outputs)


def _rows(ledger: Ledger, metric: SetMetric, found: _Gathered) -> list[SetRow]:
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
    digest = ledger.outputs_digest()
    rows = []
    for part, members in parts:
        start = time.perf_counter()
        own = [(case_id, vector) for case_id, vector in outputs if case_id in members]
        others = [(case_id, found.references[case_id]) for case_id in sorted(members)]
        score = _measure(metric, own, others, group)
        detail = dict(score.detail)
        if found.left_out and part == WHOLE:
            detail["without_reference"] = found.left_out
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
        return metric.measure(
            np.stack([vector for _, vector in outputs]),
            np.stack([vector for _, vector in references]),
            np.array([group[case_id] for case_id, _ in outputs]),
            np.array([group[case_id] for case_id, _ in references]),
        )
    except InputError:
        raise
    except Exception as error:
        return SetScore(None, broke("metric", error))
