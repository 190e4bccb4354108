"""Auditing a judge: outputs whose answer is known, and what the judge made of them.

A paper that reports a judge's scores can cite the verdict: how often it was right where there is
no doubt.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from medebench.cases import Case, CaseSet, OpenCase, open_case
from medebench.errors import ImageError, InputError, MedebenchError
from medebench.images.picture import Picture
from medebench.judge import Judgement, ModelJudge
from medebench.judge.shown import Shown
from medebench.metrics import Undefined
from medebench.models import Caller, Failure, Image, Limits
from medebench.progress import Progress, silent
from medebench.reason_groups import ReasonGroup, group_reasons
from medebench.runs.failed_calls import Failures
from medebench.runs.stages.judge_scores import JudgeLimits
from medebench.systems import case_seed

#: A judge passes a control if it is right in at least this share of its cases.
ENOUGH = 0.8
#: How far two readings of the same picture may lie apart (0-1).
TOLERANCE = 0.2


@dataclass(frozen=True)
class Trial:
    """One picture with a known answer, and what the judge said."""

    control: str
    case: str
    ea: float | None
    vq: float | None
    reason: str | None = None
    cost: float = 0.0
    #: Whether anything came back, were it only words without a score.
    answered: bool = True


@dataclass(frozen=True)
class Control:
    """A kind of trial: what is shown, and what the right answer is."""

    name: str
    expected: str
    right: Callable[[Trial, dict[str, Trial]], bool]


def _accuracy(trial: Trial) -> float:
    assert trial.ea is not None
    return trial.ea


CONTROLS = (
    Control("identity", "EA at most 0.2: nothing was changed", lambda t, _: _accuracy(t) <= 0.2),
    Control("reference", "EA at least 0.7: it is the answer", lambda t, _: _accuracy(t) >= 0.7),
    Control(
        "noise",
        "EA at most 0.3 and VQ at most 0.4",
        lambda t, _: _accuracy(t) <= 0.3 and (t.vq is None or t.vq <= 0.4),
    ),
    Control(
        "other-reference",
        "EA at most 0.3: the answer of another case",
        lambda t, _: _accuracy(t) <= 0.3,
    ),
    Control(
        "swapped",
        "EA at most 0.3: reference shown as input, input as output",
        lambda t, _: _accuracy(t) <= 0.3,
    ),
    Control(
        "paraphrase",
        f"EA within {TOLERANCE} of the same picture under the first wording",
        lambda t, others: (
            others["reference"].ea is not None
            and abs(_accuracy(t) - others["reference"].ea) <= TOLERANCE
        ),
    ),
)


@dataclass(frozen=True)
class ControlResult:
    """`answered` of `total` answers hold a score; calls without any answer count nowhere else."""

    name: str
    expected: str
    right: int
    answered: int
    total: int
    wrong: tuple[Trial, ...]
    unanswered: tuple[Trial, ...] = ()

    @property
    def passed(self) -> bool:
        return self.answered > 0 and self.right >= ENOUGH * self.total

    def to_json(self) -> dict[str, Any]:
        names = ("expected", "passed", "right", "answered")
        told = {"control": self.name} | {name: getattr(self, name) for name in names}
        keys = ("case", "ea", "vq", "reason")
        wrong = [{key: getattr(trial, key) for key in keys} for trial in self.wrong]
        return told | {"of": self.total, "unanswered": len(self.unanswered), "wrong": wrong}


@dataclass(frozen=True)
class JudgeAudit:
    """What a judge got right and wrong where there is no doubt."""

    judge: str
    rubric: str
    cases: int
    results: tuple[ControlResult, ...]
    cost: float
    seconds: float

    @property
    def passed(self) -> bool:
        return all(result.passed for result in self.results)

    @property
    def failures(self) -> Failures:
        """Trials without a score, by reason."""
        every = [t for result in self.results for t in (*result.wrong, *result.unanswered)]
        return Failures(trial.reason for trial in every if trial.ea is None and trial.reason)

    def verdict(self) -> str:
        right = sum(result.right for result in self.results)
        total = sum(result.total for result in self.results)
        failed = [result.name for result in self.results if result.total and not result.passed]
        silent = [result.name for result in self.results if not result.total]
        head = (
            f"{self.judge} (rubric {self.rubric}) was right in {right} of {total} trials with a "
            f"known answer over {self.cases} cases"
        )
        if lost := sum(len(result.unanswered) for result in self.results):
            head += f" ({lost} more calls were not answered)"
        if silent:
            head += f", was not tested on {', '.join(silent)}"
        if failed:
            head += f" and failed {', '.join(failed)}"
            return f"{head}: its scores should not be relied on there."
        return f"{head} and passed all {'other' if silent else len(self.results)} controls."

    def to_json(self) -> dict[str, Any]:
        names = ("judge", "rubric", "cases", "passed")
        told = {name: getattr(self, name) for name in names} | {"verdict": self.verdict()}
        return told | {"cost": self.cost, "controls": [one.to_json() for one in self.results]}


@dataclass(frozen=True)
class _Item:
    control: str
    shown: Shown


def audit_judge(
    judge: ModelJudge,
    cases: CaseSet,
    limits: JudgeLimits | None = None,
    *,
    progress: Progress = silent,
) -> JudgeAudit:
    """Show `judge` the controls of every case that has a reference and count what it gets right.

    A judge of whom no call was answered was not audited: that is an error.
    """
    if cases.task != "editing":
        raise InputError(f"{cases.name}: cases of task '{cases.task}'; controls exist for editing")
    if "ea" not in judge.rubric.scores or judge.rubric.looks_at != ("image",):
        raise InputError(
            f"rubric '{judge.rubric.name}': an audit needs one that shows the edited image alone "
            "and scores editing accuracy ('ea')"
        )
    usable = [case for case in cases if case.reference is not None]
    if len(usable) < 2:
        raise MedebenchError(f"{cases.name}: auditing a judge takes two cases with a reference")
    begun = time.perf_counter()
    trials: dict[str, dict[str, Trial]] = {}
    total = len(usable) * len(CONTROLS)
    for item, result in ask_trials(
        judge, _items(judge, usable), limits or JudgeLimits(), total, progress
    ):
        trial = _trial(judge, item, result)
        trials.setdefault(item.shown.case.id, {})[item.control] = trial
    every = [trial for one in trials.values() for trial in one.values()]
    refuse_silence(judge, [(trial.answered, trial.reason) for trial in every])
    return JudgeAudit(
        judge.client.name,
        judge.rubric.label,
        len(trials),
        tuple(_count(control, trials) for control in CONTROLS),
        sum(trial.cost for trial in every),
        time.perf_counter() - begun,
    )


class Showing(Protocol):
    """One question of an audit."""

    @property
    def shown(self) -> Shown: ...


Item = TypeVar("Item", bound=Showing)


def ask_trials(
    judge: ModelJudge, items: Iterable[Item], limits: JudgeLimits, total: int, progress: Progress
) -> Iterator[tuple[Item, Judgement | Failure]]:
    """What the judge says to each, within the limits, in any order."""
    caller = Caller(
        judge.client,
        limits=Limits(timeout=limits.timeout, deadline=limits.deadline),
        max_cost=limits.max_cost,
        fresh=limits.fresh,
    )
    with caller:

        async def assess(item: Item) -> Judgement:
            return await judge.assess(item.shown, caller)

        for done, (item, result) in enumerate(caller.run(assess, items), 1):
            progress(done, total)
            yield item, result


def refuse_silence(judge: ModelJudge, trials: Sequence[tuple[bool, str | None]]) -> None:
    """A judge of whom no call was answered was not audited; `trials`: answered, and why not."""
    if not trials or any(answered for answered, _ in trials):
        return
    why = max(group_reasons(Counter(reason or "" for _, reason in trials).items()), key=_size).words
    raise InputError(
        f"{judge.client.name}: none of {len(trials)} calls was answered: {why}; check "
        "the address of the server and the key, then run again"
    )


def _items(judge: ModelJudge, cases: list[Case]) -> Iterator[_Item]:
    for number, case in enumerate(cases):
        try:
            opened = open_case(case)
            other = open_case(cases[(number + 1) % len(cases)])
            pictures = _pictures(opened, other)
            judge.rubric.fill(case, ("previous", "output", "reference"))
        except (ImageError, Undefined):
            continue
        sent = {name: judge.view.encode(opened, one) for name, one in pictures.items()}
        for control in CONTROLS:
            shown = Shown(_worded(case, control.name), _roles(control.name, sent))
            yield _Item(control.name, shown)


def _pictures(opened: OpenCase, other: OpenCase) -> dict[str, Picture]:
    return {
        "previous": opened.previous,
        "reference": opened.reference,
        "noise": _noisy(opened),
        "other": opened.fit(other.reference),
    }


def _noisy(opened: OpenCase) -> NDArray[Any]:
    generator = np.random.default_rng(case_seed(0, opened.case.id, 0))
    top = opened.data_range
    noise = generator.standard_normal(opened.previous.shape) * (0.25 * top)
    return np.clip(np.round(opened.previous + noise), 0, top).astype(opened.previous.dtype)


def _roles(control: str, sent: dict[str, Image]) -> dict[str, Image]:
    output = {"identity": "previous", "noise": "noise", "other-reference": "other"}
    if control == "swapped":
        return sent | {"previous": sent["reference"], "output": sent["previous"]}
    return sent | {"output": sent[output.get(control, "reference")]}


def _worded(case: Case, control: str) -> Case:
    """The same wish in other words: those of the set, or else at least framed differently."""
    if control != "paraphrase":
        return case
    again = case.rephrased_prompt or f"What is wanted is this: {case.prompt}"
    return replace(case, description=again, prompt=again)


def _trial(judge: ModelJudge, item: _Item, result: Judgement | Failure) -> Trial:
    if isinstance(result, Failure):
        return Trial(item.control, item.shown.case.id, None, None, result.reason, answered=False)
    names = dict(zip(judge.rubric.every_score, judge.scores, strict=True))
    ea = result.verdicts[names["ea"]]
    vq = result.verdicts[names["vq"]] if "vq" in names else None
    values = ea.value, vq.value if vq else None
    return Trial(item.control, item.shown.case.id, *values, ea.reason, result.cost)


def _count(control: Control, trials: dict[str, dict[str, Trial]]) -> ControlResult:
    every = [(one[control.name], one) for one in trials.values() if control.name in one]
    shown = [(trial, others) for trial, others in every if trial.answered]
    scored = [(trial, others) for trial, others in shown if trial.ea is not None]
    wrong = [trial for trial, others in scored if not control.right(trial, others)]
    counts = len(scored) - len(wrong), len(scored), len(shown)
    wrong += [trial for trial, _ in shown if trial.ea is None]
    lost = tuple(trial for trial, _ in every if not trial.answered)
    return ControlResult(control.name, control.expected, *counts, tuple(wrong), lost)


def _size(group: ReasonGroup) -> int:
    return group.count
