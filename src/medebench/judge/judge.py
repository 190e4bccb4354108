"""What a judge is: something that looks at an output and scores it, or says why it cannot.

Judges that ask nobody are a class with `judge(case, output)`, built in or a user's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from medebench.cases.open_case import OpenCase
from medebench.errors import InputError, one_line
from medebench.images.picture import Picture
from medebench.metrics.metric import Undefined
from medebench.models import Ask, Caller, Provider
from medebench.outputs import PARTS, Output, whole
from medebench.reason import Reason, reason_of


@dataclass(frozen=True)
class Verdict:
    """One score of a judge: a value in 0-1, or the reason why there is none."""

    value: float | None
    reason: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Judgement:
    """All scores of one output; what stands beside them in the ledger is in their details."""

    verdicts: dict[str, Verdict]
    #: US dollars for calls made now; kept answers cost nothing.
    cost: float = 0.0
    priced: bool = True


@runtime_checkable
class Judge(Protocol):
    """`show` where the case is open, then `assess` wherever and whenever there is time to wait.

    `name` tells judge and version; `scores` are the metric names it writes to the ledger, and
    those of another `variant` do not count as done. `sees` names what it looks at of a case,
    `looks_at`, which may be left out, the parts that an output must have for it.
    """

    name: str
    summary: str
    stand_in: bool
    scores: tuple[str, ...]
    variant: str
    sees: tuple[str, ...]

    @property
    def client(self) -> Provider | None:
        """Who is asked; None: nobody, and `assess` does not wait."""
        ...

    def facts(self) -> dict[str, Any]:
        """What stands beside every score in the ledger."""
        ...

    def show(self, case: OpenCase, output: Output | Picture) -> Any:
        """What the judge is to see. Raises Undefined where case or output lack it."""
        ...

    def asks(self, shown: Any) -> Iterator[Ask]:
        """The calls to expect, for an estimate."""
        ...

    async def assess(self, shown: Any, caller: Caller | None = None) -> Judgement:
        """The verdicts; a `Fault` is for the caller to handle."""
        ...


def assess_now(judge: Judge, case: OpenCase, output: Output | Picture) -> Judgement:
    """The verdicts of a judge that asks nobody, without an event loop."""
    waiting = judge.assess(judge.show(case, output))
    try:
        waiting.send(None)
    except StopIteration as done:
        judgement: Judgement = done.value
        return judgement
    waiting.close()
    raise TypeError(f"judge {judge.name}: waits, but has no client to wait for")


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
