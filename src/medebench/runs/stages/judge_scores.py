"""A model as judge: pictures are encoded where they are decoded, then it is asked, once each."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from medebench.errors import ImageError, MedebenchError, one_line
from medebench.judge import Judge, Judgement
from medebench.metrics import Undefined
from medebench.models import AnswerCache, Caller, Limits, Plan
from medebench.reason import Reason, reason_of, with_kind
from medebench.runs.ledger import ScoreRow
from medebench.runs.run_folder import Run, open_ledgers
from medebench.runs.stages.output_stage import Found, Held, ModelStage, NotDone, Rows
from medebench.runs.visits import Opened, open_wanted, plan_visits


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
class Question:
    """One output as the judge gets it."""

    run: int
    key: tuple[str, int]
    sha: str | None
    shown: Any
    missing: Sequence[str]
    begun: float


class JudgeScores(ModelStage):
    """What the judge is to see travels; the judge, who has a key and an account, stays here."""

    at_home = frozenset({"judge", "limits"})
    needs = "output"

    def __init__(self, judge: Judge, limits: JudgeLimits) -> None:
        self.judge, self.limits = judge, limits
        # With `fresh`, scores that are there do not count: no ledger holds that variant.
        self.wanted = dict.fromkeys(judge.scores, "fresh" if limits.fresh else judge.variant)
        self._show = judge.show
        self._facts = judge.facts()

    def do(self, opened: Opened, names: Sequence[str]) -> list[Found]:
        assert opened.output is not None
        begun = time.perf_counter()
        try:
            shown = self._show(opened.case, opened.output)
        except (Undefined, ImageError) as error:
            return [*self._reasons(opened.key, opened.sha, names, reason_of(error))]
        where = opened.target.run, opened.key, opened.sha
        return [Held(Question(*where, shown, names, begun))]

    def caller(self) -> Caller:
        assert self.judge.client is not None
        return Caller(
            self.judge.client,
            limits=Limits(timeout=self.limits.timeout, deadline=self.limits.deadline),
            cache=AnswerCache(),
            max_cost=self.limits.max_cost,
            fresh=self.limits.fresh,
        )

    async def ask(self, caller: Caller, item: Question) -> Rows:
        found = await self.judge.assess(item.shown, caller)
        return [(item.run, row) for row in _rows(item, found)]

    def failed(self, item: Question, reason: str, not_asked: bool) -> Rows:
        if not_asked:
            return [(item.run, NotDone(reason))]
        told = Reason("unanswered", one_line(f"the judge could not be asked: {reason}"))
        return [(item.run, row) for row in self._reasons(item.key, item.sha, item.missing, told)]

    def _reasons(
        self, key: tuple[str, int], sha: str | None, names: Sequence[str], reason: Reason
    ) -> list[ScoreRow]:
        return [ScoreRow(*key, name, sha, None, reason, self._facts) for name in names]


def estimate_judging(
    runs: Sequence[Run], judge: Judge, limits: JudgeLimits, retry_failed: bool = False
) -> Plan:
    """Calls, tokens and money that judging would take; no call is made, nothing is written."""
    stage = JudgeScores(judge, limits)

    with open_ledgers(runs) as ledgers:
        visits = plan_visits(runs, ledgers, [stage], retry_failed)
        with stage.caller() as caller:
            return caller.plan(
                ask
                for visit in visits
                for opened, wants in open_wanted(visit, [stage])
                if opened.output is not None
                for one in stage.do(opened, wants[0])
                if isinstance(one, Held)
                for ask in judge.asks(one.item.shown)
            )


def _rows(item: Question, result: Judgement) -> Iterator[ScoreRow]:
    seconds = (time.perf_counter() - item.begun) / len(result.verdicts)
    cost = result.cost / len(result.verdicts)
    for name, verdict in result.verdicts.items():
        detail = verdict.detail if result.priced else verdict.detail | {"price": "not known"}
        reason = with_kind(verdict.reason)
        yield ScoreRow(*item.key, name, item.sha, verdict.value, reason, detail, seconds, cost)
