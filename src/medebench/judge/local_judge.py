"""Judges that ask nobody: a class with `judge(case, output)`, built in or a user's own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

from medebench.cases.open_case import OpenCase
from medebench.errors import InputError, one_line
from medebench.images.picture import Picture
from medebench.judge.judge import Judgement, Verdict
from medebench.metrics.metric import Undefined
from medebench.models import Ask, Caller
from medebench.outputs import PARTS, Output, whole
from medebench.reason import Reason, reason_of


@runtime_checkable
class PlainJudge(Protocol):
    """What a user writes; `sees` may be left out.

    So may `of`: what it is given of an output, its "image", its "text" or all of the "output".
    """

    name: str
    summary: str
    stand_in: bool
    scores: tuple[str, ...]

    def judge(self, case: OpenCase, output: Any) -> dict[str, Verdict]: ...


class LocalJudge:
    """A plain judge behind the protocol of all; whatever it does wrong becomes a reason."""

    client = None

    def __init__(self, judge: PlainJudge) -> None:
        self.judge = judge
        self.name, self.variant, self.summary = judge.name, judge.name, judge.summary
        self.stand_in, self.scores = judge.stand_in, judge.scores
        self.needs: str = getattr(judge, "needs", "nothing")
        # It is handed the whole case: what it does not say, it may look at.
        self.sees: tuple[str, ...] = tuple(getattr(judge, "sees", ("reference", "roi")))
        self.of: str = getattr(judge, "of", "image")
        self.looks_at = tuple(part for part in PARTS if part == self.of)

    def facts(self) -> dict[str, Any]:
        return {"judge": self.name, "variant": self.name, "stand_in": self.stand_in}

    def show(self, case: OpenCase, output: Output | Picture) -> tuple[OpenCase, Any]:
        given = whole(output)
        return case, given if self.of == "output" else getattr(given, self.of)

    def asks(self, shown: Any) -> Iterator[Ask]:
        return iter(())

    async def assess(self, shown: Any, caller: Caller | None = None) -> Judgement:
        case, output = shown
        try:
            if output is None:
                raise Undefined(Reason("no-part", f"the output has no {self.of}"))
            given = self.judge.judge(case, output)
            found = {name: _checked(given.get(name)) for name in self.scores}
        except (Undefined, InputError) as error:
            found = dict.fromkeys(self.scores, Verdict(None, reason_of(error)))
        except (Exception, SystemExit) as error:
            words = one_line(f"failed: the judge raised {type(error).__name__}: {error}")
            found = dict.fromkeys(self.scores, Verdict(None, Reason("error", words)))
        facts = self.facts()
        return Judgement(
            {name: Verdict(v.value, v.reason, facts | v.detail) for name, v in found.items()}
        )


def _checked(verdict: Verdict | None) -> Verdict:
    """What a judge of any origin returned: a value that can be one, or a reason."""
    if verdict is None:
        return Verdict(None, Reason("error", "the judge gave no such score"))
    if verdict.value is None:
        reason = one_line(verdict.reason or "the judge gave no reason")
        return Verdict(None, reason, verdict.detail)
    value = float(verdict.value)
    if math.isfinite(value) and -1e-9 <= value <= 1 + 1e-9:
        return Verdict(value, None, verdict.detail)
    # A wrong number is worse than none.
    words = f"failed: the judge returned {value:g}, outside 0 to 1"
    return Verdict(None, Reason("impossible", words), verdict.detail)
