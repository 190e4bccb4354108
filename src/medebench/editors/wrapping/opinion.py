"""What a judge of any kind thinks of an attempt, as the next one can make use of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from medebench.cases.image import Picture
from medebench.cases.opened import OpenCase
from medebench.clients import Ask, Failure, Image, encode_for_model
from medebench.editors.wrapping.talking import Talker
from medebench.errors import InputError, one_line
from medebench.judge import JUDGES, Judge, ModelJudge, Verdict
from medebench.judge.model import Shown
from medebench.metrics import Undefined


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


class PlainJudge:
    """A judge that is no model behind a client: the offline one, or a user's."""

    def __init__(self, judge: Judge, called: str) -> None:
        self.judge = judge
        self.name = judge.name
        self.identity = " ".join(filter(None, [judge.name, JUDGES.origin(called)]))
        # It is handed the whole case: what it does not say, it may look at.
        self.sees = tuple(getattr(judge, "sees", ("reference", "roi")))

    def look(self, case: OpenCase, picture: Picture) -> Opinion:
        try:
            verdicts = self.judge.judge(case, picture)
            return _opinion(verdicts, 0.0)
        except (Undefined, InputError) as error:
            return Opinion(reason=one_line(str(error)))
        except (Exception, SystemExit) as error:
            return Opinion(
                reason=one_line(f"failed: the judge raised {type(error).__name__}: {error}")
            )


class AskedJudge:
    """A multimodal model; it is shown the same bytes as when it scores the run afterwards."""

    def __init__(self, judge: ModelJudge, talker: Talker) -> None:
        self.judge = judge
        self.talker = talker
        self.name = judge.name
        self.identity = judge.variant
        shown = ["reference"] if judge.rubric.reference != "never" else []
        self.sees = (*shown, *(["description"] if judge.rubric.guide == "description" else []))

    def look(self, case: OpenCase, picture: Picture) -> Opinion:
        try:
            shown = self._show(case, picture)
        except (Undefined, InputError) as error:
            return Opinion(reason=one_line(str(error)))
        got = self.talker.ask(lambda caller: self.judge.assess(caller, case.case, shown))
        if isinstance(got, Failure):
            return Opinion(reason=one_line(f"the judge could not be asked: {got.reason}"))
        return _opinion(got.verdicts, got.cost if got.priced else None)

    def asks(self, case: OpenCase) -> list[Ask]:
        """The calls for one attempt, whose picture is not there yet: the input stands for it."""
        try:
            return list(self.judge.asks(case.case, self._show(case, case.previous)))
        except (Undefined, InputError):
            return []

    def _show(self, case: OpenCase, picture: Picture) -> Shown:
        there = case.case.reference is not None and self.judge.rubric.reference != "never"
        # Tells what the case lacks before anything is encoded.
        self.judge.rubric.fill(case.case, reference_there=there)
        previous = self._encode(case, case.previous)
        reference = self._encode(case, case.reference) if there else None
        return Shown(previous, self._encode(case, picture), reference)

    def _encode(self, case: OpenCase, picture: Picture) -> Image:
        return encode_for_model(picture, self.judge.options.image_size, bits=case.case.bits)


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
    value = float(verdict.value)
    if not math.isfinite(value) or not -1e-9 <= value <= 1 + 1e-9:
        return None, f"failed: the judge returned {value:g}, outside 0 to 1"
    return value, None
