"""The attempts at one output: what a judge thinks of each, what is kept, and which it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from medebench.cases.open_case import OpenCase
from medebench.errors import InputError, one_line
from medebench.images.picture import Picture
from medebench.judge import JUDGES, Judge, Verdict, assess_now
from medebench.metrics import Undefined
from medebench.models import Ask, Failure
from medebench.models.model_lookup import names_model
from medebench.models.tally import add_costs
from medebench.outputs import Output
from medebench.systems.composed.wrapper import LlmSession


@dataclass(frozen=True)
class Opinion:
    """Scores on 0-1; without `ea` there is a reason why."""

    ea: float | None = None
    vq: float | None = None
    reason: str | None = None
    #: What the judge says of each score, and what differences it sees.
    reasons: dict[str, str] = field(default_factory=dict)
    differences: tuple[str, ...] = ()
    #: Numbers the judge gives beside its scores.
    facts: dict[str, float] = field(default_factory=dict)
    #: US dollars for calls made now; None where a price is not known.
    cost: float | None = 0.0

    def told(self) -> dict[str, Any]:
        told: dict[str, Any] = {"ea": self.ea, "vq": self.vq}
        told |= {"reasons": self.reasons} if self.reasons else {}
        told |= {"differences": list(self.differences)} if self.differences else {}
        return told | self.facts


class DraftJudge:
    """A judge of any kind; a model is shown the same bytes as when it scores the run afterwards."""

    def __init__(self, judge: Judge, called: str, session: LlmSession | None) -> None:
        self.judge = judge
        #: Through whom it asks; None: it asks nobody.
        self.session = session
        self.name, self.sees = judge.name, judge.sees
        origin = [] if names_model(called) else [judge.name, JUDGES.origin(called)]
        self.identity = " ".join(filter(None, origin)) or judge.variant

    def look(self, case: OpenCase, picture: Picture) -> Opinion:
        if self.session is None:
            return _opinion(assess_now(self.judge, case, picture).verdicts, 0.0)
        try:
            shown = self.judge.show(case, picture)
        except (Undefined, InputError) as error:
            return Opinion(reason=one_line(str(error)))
        got = self.session.ask(lambda caller: self.judge.assess(shown, caller))
        if isinstance(got, Failure):
            return Opinion(reason=one_line(f"the judge could not be asked: {got.reason}"))
        return _opinion(got.verdicts, got.cost if got.priced else None)

    def asks(self, case: OpenCase) -> list[Ask]:
        """The calls for one attempt, whose picture is not there yet: the input stands for it."""
        try:
            return list(self.judge.asks(self.judge.show(case, case.previous)))
        except (Undefined, InputError):
            return []


def _opinion(verdicts: dict[str, Verdict], cost: float | None) -> Opinion:
    by_kind = {name.partition("_")[0]: verdict for name, verdict in verdicts.items()}
    reasons: dict[str, str] = {}
    facts: dict[str, float] = {}
    differences: tuple[str, ...] = ()
    # Without a model, how much of the intended change was made stands for accuracy.
    if "intended" in by_kind:
        by_kind.setdefault("ea", by_kind["intended"])
    for kind in ("ea", "vq"):
        detail = by_kind[kind].detail if kind in by_kind else {}
        if isinstance(said := detail.get("reason"), str) and said:
            reasons[kind] = said
        differences = differences or tuple(map(str, detail.get("differences") or ()))
        for name in ("stray", "detail_change"):
            if isinstance(value := detail.get(name), float):
                facts[name] = value
    ea, why = _value(by_kind.get("ea"))
    vq, _ = _value(by_kind.get("vq"))
    return Opinion(ea, vq, why, reasons, differences, facts, cost)


def _value(verdict: Verdict | None) -> tuple[float | None, str | None]:
    if verdict is None:
        return None, "the judge gave no editing accuracy"
    if verdict.value is None:
        return None, one_line(verdict.reason or "the judge gave no reason")
    return verdict.value, None


@dataclass(frozen=True)
class Attempt:
    """One try of the editor inside: a picture with the judge's opinion, or the reason why none."""

    instruction: str
    seed: int
    #: How the instruction was rewritten; None for the case's own.
    rewriter: dict[str, Any] | None = None
    made: Output | None = None
    #: On the case's grid, as the judge saw it.
    picture: Picture | None = None
    opinion: Opinion = field(default_factory=Opinion)
    reason: str | None = None
    #: What the editor inside told of a refusal.
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def ea(self) -> float | None:
        return self.opinion.ea

    @property
    def failure(self) -> str | None:
        """Why it has no picture or no score."""
        return self.reason or self.opinion.reason


def best_of(attempts: Sequence[Attempt], keep: str) -> int | None:
    """By accuracy, then quality, the earliest of equals; unscored ones only among themselves."""
    there = [number for number, one in enumerate(attempts) if one.made is not None]
    if not there:
        return None
    if keep == "last":
        return there[-1]

    def rank(number: int) -> tuple[float, float, int]:
        opinion = attempts[number].opinion
        ea = -1.0 if opinion.ea is None else opinion.ea
        return ea, -1.0 if opinion.vq is None or ea < 0 else opinion.vq, -number

    return max(there, key=rank)


def stuck(attempts: Sequence[Attempt]) -> bool:
    """The same words have failed for the same reason: a third time would be no better."""
    if len(attempts) < 2:
        return False
    before, latest = attempts[-2:]
    same_words = before.instruction == latest.instruction
    return latest.failure is not None and same_words and before.failure == latest.failure


def in_ledger(attempts: Sequence[Attempt]) -> dict[str, Any]:
    """All attempts; `picture` is the number under which an attempt's picture is kept."""
    told: list[dict[str, Any]] = []
    pictures = 0
    for one in attempts:
        entry: dict[str, Any] = {"instruction": one.instruction, "seed": one.seed}
        entry |= one.opinion.told()
        entry["picture"] = None if one.made is None else pictures
        pictures += one.made is not None
        if one.failure is not None:
            entry["reason"] = one.failure
        if one.rewriter is not None:
            entry["rewriter"] = one.rewriter
        entry |= {"inner": inner} if (inner := _inside(one)) else {}
        told.append(entry)
    costs = [one.opinion.cost for one in attempts]
    costs += [one.rewriter.get("cost", 0.0) for one in attempts if one.rewriter is not None]
    costs += [_inside(one).get("cost", 0.0) for one in attempts]
    return {"attempts": told, "cost": add_costs(costs)}


def _inside(attempt: Attempt) -> dict[str, Any]:
    """What the editor inside told of it."""
    return attempt.detail if attempt.made is None else attempt.made.detail
