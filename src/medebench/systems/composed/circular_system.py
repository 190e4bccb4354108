"""`circular:SYSTEM`: every question with choices is asked once for each rotation of its options.

The output is the answer to the question as it is; the answers to the rotations stand beside it in
the ledger, for `choice_accuracy_circular`. What is no choice is asked once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from pydantic import Field

from medebench.cases.open_case import OpenCase, open_case
from medebench.cases.option_rotation import ROTATIONS, rotated, rotated_text, rotation_problem
from medebench.errors import InputError, one_line
from medebench.models.tally import Plan, add_costs
from medebench.outputs import PARTS, Output, Part
from medebench.settings import Settings as AnySettings
from medebench.systems.capabilities import declares_parts
from medebench.systems.inner_system import Around
from medebench.systems.request import NotTried, Refused, Request, case_seed
from medebench.systems.returned_output import as_output

#: How much of each answer is kept beside the output.
LONGEST = 20_000
_KEPT = ("finish", "truncated", "cost", "cached")


class CircularSettings(AnySettings):
    system: str = Field(repr=False, description="the system that answers, with its settings")


class Circular(Around):
    summary = "asks another system once for each rotation of the options"
    Settings = CircularSettings
    gives: tuple[Part, ...] = ("text",)
    example = "circular:openai:gpt-4o"

    settings: CircularSettings

    def __init__(self, settings: CircularSettings) -> None:
        super().__init__(settings)
        self.gives = self._inner.gives
        if not declares_parts(type(self._inner)):
            self.gives = PARTS
        elif "text" not in self.gives:
            raise InputError(f"system 'circular': '{self._instance.name}' gives no text to read")
        self.demonstrations = self._inner.demonstrations
        self._room: AbstractContextManager[Any] = nullcontext()
        if self._instance.is_batched:
            # One that owns a device is called by one at a time, a whole question at once.
            self._room = threading.Semaphore(1)

    def estimate(self, requests: Iterable[Request]) -> Plan | None:
        return super().estimate(turn for one in requests for turn in turns_of(one))

    def generate(self, request: Request) -> Output:
        turns = list(turns_of(request))
        with self._room:
            made = self._made(turns)
        first = made[0]
        if isinstance(first, Exception):
            raise first
        problem = rotation_problem(request.case.case)
        if "text" not in request.gives or not request.case.case.choices:
            return first
        told: dict[str, Any] = {"unrotated": problem} if problem else {}
        if problem is None:
            told = {ROTATIONS: [_kept(one) for one in made]}
            if "cost" in first.detail:
                told["cost"] = add_costs([one.get("cost", 0.0) for one in told[ROTATIONS]])
        return replace(first, detail=first.detail | told)

    def _made(self, turns: Sequence[Request]) -> list[Output | Exception]:
        if not self._instance.is_batched:
            first = self._one(turns[0])
            # Without an answer to the question as it is the others are not worth asking.
            others = [] if isinstance(first, Exception) else turns[1:]
            return [first, *map(self._one, others)]
        most = self._inner.batch or 1
        made: list[Output | Exception] = []
        for start in range(0, len(turns), most):
            some = turns[start : start + most]
            made += [_output(one) for one in self._instance.generate_batch(some)]
        return made

    def _one(self, turn: Request) -> Output | Exception:
        try:
            return _output(self._instance.generate(turn))
        except NotTried:
            # Not the case's fault: the whole question is asked again, what was paid is cached.
            raise
        except Exception as error:
            return error


def turns_of(request: Request) -> Iterator[Request]:
    """The request, and where the options can be rotated one for each further rotation."""
    yield request
    case = request.case.case
    if "text" not in request.gives or rotation_problem(case) is not None:
        return
    for turn in range(1, len(case.choices)):
        said = request.said if request.said is None else rotated_text(request.said, case, turn)
        seed = case_seed(request.seed, "rotation", turn)
        yield replace(request, case=_shown(request.case, turn), seed=seed, said=said)


def _shown(case: OpenCase, turn: int) -> OpenCase:
    return open_case(rotated(case.case, turn))


def _output(made: Any) -> Output | Exception:
    return made if isinstance(made, Exception) else as_output(made)


def _kept(made: Output | Exception) -> dict[str, Any]:
    if isinstance(made, Refused):
        return {"failed": one_line(str(made)), "cost": made.detail.get("cost", 0.0)}
    if isinstance(made, Exception):
        return {"failed": one_line(f"{type(made).__name__}: {made}")}
    told = {name: made.detail[name] for name in _KEPT if name in made.detail}
    return told if made.text is None else told | {"text": made.text[:LONGEST]}
