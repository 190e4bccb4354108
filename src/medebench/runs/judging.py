"""Judging the outputs of runs by a model: asked once, paid once, stopped in time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from medebench.cases.opened import OpenCase
from medebench.clients import (
    NOT_ASKED,
    AnswerCache,
    Ask,
    Caller,
    Failure,
    Image,
    Limits,
    Plan,
    encode_for_model,
)
from medebench.errors import ImageError, MedebenchError, one_line
from medebench.judge import ModelJudge
from medebench.judge.model import Judgement, Shown
from medebench.metrics import Undefined
from medebench.progress import Progress, silent
from medebench.runs.failed_calls import Failures
from medebench.runs.ledger import Ledger, ScoreRow
from medebench.runs.run import Run
from medebench.runs.work import Opened, Wanted, open_outputs, plan_work


@dataclass(frozen=True)
class JudgeLimits:
    """What judging may take."""

    max_cost: float | None = None
    fresh: bool = False
    timeout: float = 120.0
    deadline: float | None = None


class JudgeStoppedError(MedebenchError):
    """Not everything was judged; what was judged is kept."""


@dataclass(frozen=True)
class _Item:
    opened: Opened
    shown: Shown
    begun: float


def judge_outputs(
    runs: Sequence[Run],
    ledgers: Sequence[Ledger],
    judge: ModelJudge,
    limits: JudgeLimits,
    retry_failed: bool,
    progress: Progress = silent,
    failures: Failures | None = None,
) -> None:
    """Ask `judge` about every output that lacks its scores; each ends in a score or a reason."""
    wanted = _wanted(judge, limits)
    work = plan_work(runs, ledgers, wanted, retry_failed)
    open_ones = (one for group in work for one in group.outputs)
    total = sum(bool(one.missing(wanted, one.row.sha256)) for one in open_ones)
    done, troubles = 0, Counter[str]()
    noted = Failures() if failures is None else failures

    def settle(opened: Opened, rows: list[ScoreRow]) -> None:
        nonlocal done
        if rows:
            ledgers[opened.output.run].write(*opened.replaced(), *rows)
        done += 1
        progress(done, max(done, total))

    def items() -> Iterator[_Item]:
        for one in work:
            shown: dict[str, Image | None] = {}
            for opened in open_outputs(one, wanted):
                try:
                    pictures = _show(opened, judge, shown)
                except (Undefined, ImageError) as error:
                    settle(opened, _reasons(opened, judge, str(error)))
                    continue
                if pictures is None:
                    settle(opened, opened.without_picture())
                else:
                    yield _Item(opened, pictures, time.perf_counter())

    with _caller(judge, limits) as caller:

        async def assess(item: _Item) -> Judgement:
            return await judge.assess(caller, item.opened.case.case, item.shown)

        progress(0, total)
        for item, result in caller.run(assess, items()):
            if isinstance(result, Judgement):
                rows = _rows(item, judge, result)
                noted.note(rows)
                settle(item.opened, rows)
            elif result.kind in NOT_ASKED:
                troubles[result.reason] += 1
                settle(item.opened, [])
            else:
                rows = _reasons(item.opened, judge, _failed(result))
                noted.note(rows)
                settle(item.opened, rows)
    if troubles:
        why, _ = troubles.most_common(1)[0]
        raise JudgeStoppedError(
            f"judge {judge.name}: {sum(troubles.values())} of {total} outputs were not judged: "
            f"{why}; run again to continue"
        )


def estimate_judging(
    runs: Sequence[Run], judge: ModelJudge, limits: JudgeLimits, retry_failed: bool = False
) -> Plan:
    """Calls, tokens and money that judging would take; no call is made, nothing is written."""
    ledgers = [run.ledger() for run in runs]
    try:
        wanted = _wanted(judge, limits)
        work = plan_work(runs, ledgers, wanted, retry_failed)

        def asks() -> Iterator[Ask]:
            for one in work:
                shown: dict[str, Image | None] = {}
                for opened in open_outputs(one, wanted):
                    try:
                        pictures = _show(opened, judge, shown)
                    except (Undefined, ImageError):
                        continue
                    if pictures is not None:
                        yield from judge.asks(opened.case.case, pictures)

        with _caller(judge, limits) as caller:
            return caller.plan(asks())
    finally:
        for ledger in ledgers:
            ledger.close()


def _wanted(judge: ModelJudge, limits: JudgeLimits) -> Wanted:
    """With `fresh`, scores that are there do not count: no ledger holds that variant."""
    return dict.fromkeys(judge.scores, "fresh" if limits.fresh else judge.variant)


def _caller(judge: ModelJudge, limits: JudgeLimits) -> Caller:
    return Caller(
        judge.client,
        limits=Limits(timeout=limits.timeout, deadline=limits.deadline),
        cache=AnswerCache(),
        max_cost=limits.max_cost,
        fresh=limits.fresh,
    )


def _show(opened: Opened, judge: ModelJudge, known: dict[str, Image | None]) -> Shown | None:
    """The three pictures as sent; those of the case are encoded once for all its outputs."""
    if opened.picture is None:
        return None
    case = opened.case
    there = case.case.reference is not None and judge.rubric.reference != "never"
    # Tells what the case lacks before anything is encoded.
    judge.rubric.fill(case.case, reference_there=there)
    if not known:
        known["previous"] = _encode(case, case.previous, judge)
        known["reference"] = _encode(case, case.reference, judge) if there else None
    previous = known["previous"]
    assert previous is not None
    return Shown(previous, _encode(case, opened.picture, judge), known["reference"])


def _encode(case: OpenCase, picture: Any, judge: ModelJudge) -> Image:
    return encode_for_model(picture, judge.options.image_size, bits=case.case.bits)


def _rows(item: _Item, judge: ModelJudge, result: Judgement) -> list[ScoreRow]:
    seconds = (time.perf_counter() - item.begun) / len(judge.scores)
    cost = result.cost / len(judge.scores)
    rows = []
    for name, verdict in result.verdicts.items():
        detail = verdict.detail if result.priced else verdict.detail | {"price": "not known"}
        rows.append(
            ScoreRow(
                *item.opened.key,
                name,
                item.opened.sha,
                verdict.value,
                None if verdict.reason is None else one_line(verdict.reason),
                detail,
                seconds,
                cost,
            )
        )
    return rows


def _reasons(opened: Opened, judge: ModelJudge, reason: str) -> list[ScoreRow]:
    facts, line = judge.facts(), one_line(reason)
    return [ScoreRow(*opened.key, name, opened.sha, None, line, facts) for name in opened.missing]


def _failed(failure: Failure) -> str:
    return f"the judge could not be asked: {failure.reason}"
