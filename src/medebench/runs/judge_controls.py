"""Auditing a judge of texts, and of images with text: what is known to be better must get more.

Of every case the reference is judged, and answers that are worse beyond doubt. How often the
reference comes first says what the judge's scores are worth, whatever scale it has in mind.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from medebench.cases import Case, CaseSet, OpenCase, open_case
from medebench.cases.choice_options import find_option, read_options
from medebench.cases.source_clusters import joined_sources
from medebench.errors import ImageError, InputError, MedebenchError
from medebench.judge import Judgement, ModelJudge
from medebench.judge.asked_parts import asked_parts
from medebench.judge.shown import Shown
from medebench.judge.wrong_texts import negated, other_side
from medebench.metrics import Undefined
from medebench.models import Failure
from medebench.outputs import Output, Part
from medebench.progress import Progress, silent
from medebench.runs.failed_calls import Failures
from medebench.runs.judge_trials import ENOUGH, ask_trials, refuse_silence
from medebench.runs.stages.judge_scores import JudgeLimits

REFERENCE = "reference"
#: Scores nearer to each other than this are one score.
_SAME = 1e-9


@dataclass(frozen=True)
class _Known:
    """A case with its reference, and another case that asks for the same parts."""

    case: OpenCase
    other: OpenCase
    parts: tuple[Part, ...]

    @property
    def expected(self) -> Output:
        return _of_parts(self.case.expected, self.parts)


_Couple = tuple[Case, Case, tuple[Part, ...]]


@dataclass(frozen=True)
class WorseAnswer:
    """A kind of answer that is worse than the reference; None where a case has none."""

    name: str
    says: str
    make: Callable[[_Known], Output | None]


def _empty(known: _Known) -> Output:
    blank = np.zeros_like(known.case.reference) if "image" in known.parts else None
    return Output(blank, "" if "text" in known.parts else None)


def _question(known: _Known) -> Output:
    image = known.case.previous if "image" in known.parts else None
    return Output(image, known.case.case.prompt if "text" in known.parts else None)


def _side(known: _Known) -> Output | None:
    return _reworded(known, other_side)


def _negated(known: _Known) -> Output | None:
    # That one of several options is denied says nothing about the others.
    return None if known.case.case.choices else _reworded(known, negated)


def _reworded(known: _Known, change: Callable[[str], str | None]) -> Output | None:
    if "text" not in known.parts:
        return None
    text = change(known.case.case.answer)
    return None if text is None else replace(known.expected, text=text)


def _other(known: _Known) -> Output | None:
    """Another option where there are any, else what is right for another case."""
    about = known.case.case
    if about.choices:
        right = find_option(read_options(about.choices), about.answer)
        if right is None:
            return None
        return replace(known.expected, text=about.choices[0 if right else 1])
    made = _of_parts(known.other.expected, known.parts)
    image = None if made.image is None else known.case.fit(made.image)
    return Output(image, made.text)


WORSE = (
    WorseAnswer("empty", "an empty text, a blank image", _empty),
    WorseAnswer("question", "the question as the answer, the input as the image", _question),
    WorseAnswer("wrong-side", "left and right exchanged in the text", _side),
    WorseAnswer("negated", "the findings of the text denied, or asserted", _negated),
    WorseAnswer("other-case", "another option, or what is right for another case", _other),
)


@dataclass(frozen=True)
class AnswerTrial:
    """One answer whose worth is known; `value` is higher the better the judge takes it to be."""

    control: str
    case: str
    source: str
    value: float | None
    reason: str | None = None
    cost: float = 0.0
    answered: bool = True


@dataclass(frozen=True)
class Pair:
    """How far the reference is ahead of a worse answer to the same case."""

    case: str
    source: str
    #: None: one of the two has no score.
    ahead: float | None
    reason: str | None = None

    @property
    def right(self) -> bool:
        return self.ahead is not None and self.ahead > _SAME

    @property
    def tied(self) -> bool:
        return self.ahead is not None and abs(self.ahead) <= _SAME


@dataclass(frozen=True)
class OrderResult:
    """The pairs of one kind; a pair of which a call was not answered counts nowhere else."""

    name: str
    says: str
    pairs: tuple[Pair, ...]
    unanswered: int = 0
    #: Mean of the judge's scores of these answers, and how many it gave.
    mean: float | None = None

    @property
    def right(self) -> int:
        return sum(one.right for one in self.pairs)

    @property
    def tied(self) -> int:
        return sum(one.tied for one in self.pairs)

    @property
    def unread(self) -> int:
        return sum(one.ahead is None for one in self.pairs)

    @property
    def passed(self) -> bool:
        return bool(self.pairs) and self.right >= ENOUGH * len(self.pairs)


@dataclass(frozen=True)
class AnswerAudit:
    """How often a judge puts the right answer before a wrong one."""

    judge: str
    rubric: str
    cases: int
    results: tuple[OrderResult, ...]
    #: Mean score of the references.
    reference: float | None
    trials: tuple[AnswerTrial, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        tested = [one for one in self.results if one.pairs]
        return bool(tested) and all(one.passed for one in tested)

    @property
    def cost(self) -> float:
        return sum(one.cost for one in self.trials)

    @property
    def failures(self) -> Failures:
        """Trials without a score, by reason."""
        return Failures(one.reason for one in self.trials if one.value is None and one.reason)

    def verdict(self) -> str:
        right = sum(one.right for one in self.results)
        total = sum(len(one.pairs) for one in self.results)
        tied = sum(one.tied for one in self.results)
        head = (
            f"{self.judge} (rubric {self.rubric}) put the reference before a worse answer in "
            f"{right} of {total} pairs over {self.cases} cases"
        )
        head += f" and held the two to be equal in {tied}" if tied else ""
        if lost := sum(one.unanswered for one in self.results):
            head += f" ({lost} more pairs lack a call that was answered)"
        if untested := [one.name for one in self.results if not one.pairs]:
            head += f"; it was not tested on {', '.join(untested)}"
        if failed := [one.name for one in self.results if one.pairs and not one.passed]:
            return f"{head}; it failed {', '.join(failed)}: do not rely on its scores there."
        return f"{head}; it passed all controls."


@dataclass(frozen=True)
class _Item:
    control: str
    source: str
    shown: Shown


def audit_answers(
    judge: ModelJudge,
    cases: CaseSet,
    limits: JudgeLimits | None = None,
    *,
    progress: Progress = silent,
) -> AnswerAudit:
    """Show `judge` the reference of every case and worse answers, and compare its scores.

    A judge of whom no call was answered was not audited: that is an error.
    """
    couples = list(_couples(cases))
    if len(couples) < 2:
        raise MedebenchError(
            f"{cases.name}: auditing a judge takes two cases of one kind with a reference that "
            "differ in it"
        )
    begun = time.perf_counter()
    most = len(couples) * (1 + len(WORSE))
    asked = ask_trials(judge, _items(judge, couples), limits or JudgeLimits(), most, progress)
    trials = _clustered([_trial(judge, item, result) for item, result in asked])
    if not trials:
        raise InputError(
            f"rubric '{judge.rubric.name}': shows nothing of the cases of {cases.name}; choose "
            "another, such as --rubric medgen-clinical"
        )
    progress(len(trials), len(trials))
    refuse_silence(judge, [(one.answered, one.reason) for one in trials])
    found: dict[str, dict[str, AnswerTrial]] = {}
    for one in trials:
        found.setdefault(one.control, {})[one.case] = one
    references = found.get(REFERENCE, {})
    return AnswerAudit(
        judge.client.name,
        judge.rubric.label,
        len(references),
        tuple(_result(one, found.get(one.name, {}), references) for one in WORSE),
        _mean(references.values()),
        trials,
        time.perf_counter() - begun,
    )


def _couples(cases: CaseSet) -> Iterator[_Couple]:
    """The cases whose right answer is there, each with another of its kind that differs."""
    kinds: dict[tuple[Part, ...], list[Case]] = {}
    for case in cases:
        parts = asked_parts(case, ())
        there = {"image": case.reference is not None, "text": bool(case.answer)}
        if parts and all(there[part] for part in parts):
            kinds.setdefault(parts, []).append(case)
    for parts, some in kinds.items():
        for number, case in enumerate(some):
            following = (*some[number + 1 :], *some[:number])
            other = next((one for one in following if _differs(case, one)), None)
            if other is not None:
                yield case, other, parts


def _differs(case: Case, other: Case) -> bool:
    return (case.answer.casefold(), case.reference) != (other.answer.casefold(), other.reference)


def _items(judge: ModelJudge, couples: Iterable[_Couple]) -> Iterator[_Item]:
    for case, other, parts in couples:
        one = _Known(open_case(case).compared(), open_case(other).compared(), parts)
        try:
            source = one.case.source
            right = _Item(REFERENCE, source, _shown(judge, one, REFERENCE, one.expected))
            worse = [(kind.name, kind.make(one)) for kind in WORSE]
        except (ImageError, InputError, Undefined):
            continue
        yield right
        for name, output in worse:
            if output is not None and not _equal(output, one.expected):
                yield _Item(name, source, _shown(judge, one, name, output))


def _shown(judge: ModelJudge, known: _Known, control: str, output: Output) -> Shown:
    # Each answer comes in an order of its own: who goes by the place is found out.
    return replace(judge.view.show(known.case, output), seed=control)


def _of_parts(output: Output, parts: tuple[Part, ...]) -> Output:
    image = output.image if "image" in parts else None
    return Output(image, output.text if "text" in parts else None)


def _equal(one: Output, other: Output) -> bool:
    if (one.text or "").casefold() != (other.text or "").casefold():
        return False
    images = one.image, other.image
    if images[0] is None or images[1] is None:
        return images[0] is images[1]
    return np.array_equal(images[0], images[1])


def _trial(judge: ModelJudge, item: _Item, result: Judgement | Failure) -> AnswerTrial:
    place = item.control, item.shown.case.id, item.source
    if isinstance(result, Failure):
        return AnswerTrial(*place, None, result.reason, answered=False)
    value, reason = _worth(judge, result)
    return AnswerTrial(*place, value, reason, result.cost)


def _clustered(trials: Sequence[AnswerTrial]) -> tuple[AnswerTrial, ...]:
    """Cases that share any of their images have one source."""
    joined = joined_sources({one.case: one.source for one in trials})
    return tuple(replace(one, source=joined[one.case]) for one in trials)


def _worth(judge: ModelJudge, result: Judgement) -> tuple[float | None, str | None]:
    """What the judge makes of the whole: what the rubric computes, else the mean of its scores."""
    rubric = judge.rubric
    names = (rubric.computed,) if rubric.computed else rubric.scores
    asked = [result.verdicts[f"{name}_{judge.name}"] for name in names]
    values = [one.value for one in asked if one.value is not None]
    if len(values) < len(asked):
        return None, next(one.reason for one in asked if one.value is None)
    mean = sum(values) / len(values)
    return (-mean if rubric.counts else mean), None


def _result(
    kind: WorseAnswer, found: dict[str, AnswerTrial], references: dict[str, AnswerTrial]
) -> OrderResult:
    pairs = []
    lost = 0
    for case_id, trial in found.items():
        right = references[case_id]
        if not (trial.answered and right.answered):
            lost += 1
        elif trial.value is None or right.value is None:
            pairs.append(Pair(case_id, trial.source, None, trial.reason or right.reason))
        else:
            pairs.append(Pair(case_id, trial.source, right.value - trial.value))
    return OrderResult(kind.name, kind.says, tuple(pairs), lost, _mean(found.values()))


def _mean(trials: Iterable[AnswerTrial]) -> float | None:
    values = [abs(one.value) for one in trials if one.value is not None]
    return sum(values) / len(values) if values else None
