"""What an experiment shows in sentences, derived from its numbers alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from medebench.analysis.crossed_mean import LEAST_DRAWS, MOST_OVERLAP
from medebench.analysis.estimate import Estimate
from medebench.page.number import counted, listed
from medebench.page.score_columns import Score
from medebench.reason_groups import group_reasons, reasons_in_words
from medebench.tuning.tuning_answers import (
    ALL,
    Contrast,
    CurvePoint,
    Forgetting,
    Question,
    Trend,
    TuningAnswers,
)
from medebench.tuning.tuning_arms import REAL

if TYPE_CHECKING:
    from medebench.tuning.tuning_outcome import TuningOutcome

LEVEL = 0.05
Verdict = Literal["better", "worse", "higher", "lower", "unseen", "unknown"]

_SHORT = {
    "per-sample": "with a fixed number of steps per pair",
    "same-steps": "with the same number of steps at every number of pairs",
}
_WRONG = {"shuffled": "shuffled pairs", "other-task": "another task's pairs"}
_RIGHT = {
    "own-pairs": "training on as many pairs whose targets were shuffled",
    "own-task": "training on as many pairs of another task",
    "beats-copy": "copying the input",
    "beats-blank": "the untouched model with a blank instruction",
}
_MEANS: Mapping[tuple[Question, str], str] = {
    ("own-pairs", "better"): "it is the pairs that teach, not the updates alone.",
    (
        "own-pairs",
        "unseen",
    ): "that it learns from the pairs, and not from any updates, is not shown.",
    ("own-pairs", "worse"): "the right pairs harm more than wrong ones do.",
    ("own-task", "unseen"): "that pairs of this very task are needed is not shown.",
    ("beats-copy", "unseen"): "returning the input untouched may be as good.",
    ("beats-copy", "worse"): "returning the input untouched is better.",
    ("beats-blank", "unseen"): "that it needs the instruction to be as good is not shown.",
}


def words(
    answers: TuningAnswers, outcome: TuningOutcome, scores: Mapping[str, Score]
) -> tuple[str, ...]:
    """Paragraphs, the most important first: all about the primary score."""
    score = scores.get(answers.primary)
    if score is None:
        known = f"; there are {listed(scores, len(scores))}" if scores else ""
        missing = f"There are no scores of the primary measure, {answers.primary or 'none'}{known}."
        return tuple(filter(None, [missing, _missing(outcome)]))
    tasks = sorted({point.task for point in answers.points} - {ALL})
    told = _Words(answers, score, tasks, outcome)
    paragraphs = [
        told.helped(),
        told.more_pairs(),
        *told.controls(),
        told.by_task(),
        told.in_context(),
        told.forgotten(),
        told.remembered(),
        _about(outcome),
        _missing(outcome),
    ]
    return tuple(filter(None, paragraphs))


def verdict(change: Estimate, score: Score, p: float | None = None) -> Verdict:
    """Whether a difference is one, and which way; by its interval, or by `p` where that is given.

    >>> from medebench.analysis.interval import Interval
    >>> from medebench.page.score_columns import describe
    >>> verdict(Estimate(0.2, Interval(0.1, 0.3)), describe(["ssim"], {})[0])
    'better'
    """
    if change.value is None or change.interval is None:
        return "unknown"
    low, high = change.interval
    if (p is not None and p > LEVEL) or low <= 0 <= high:
        return "unseen"
    if score.better == "neither":
        return "higher" if change.value > 0 else "lower"
    return "better" if (change.value > 0) == (score.better == "higher") else "worse"


class _Words:
    def __init__(
        self, answers: TuningAnswers, score: Score, tasks: Sequence[str], outcome: TuningOutcome
    ) -> None:
        self.answers, self.score, self.tasks, self.outcome = answers, score, tasks, outcome
        name = score.name
        self.points: list[CurvePoint] = [p for p in answers.points if p.metric == name]
        self.trends: list[Trend] = [t for t in answers.trends if t.metric == name]
        self.contrasts: list[Contrast] = [c for c in answers.contrasts if c.metric == name]
        self.forgetting: list[Forgetting] = [f for f in answers.forgetting if f.metric == name]

    def amount(self, one: Estimate) -> str:
        """ "0.21 (0.12 to 0.30)"; without a sign, where the verb says which way."""
        if one.value is None:
            return f"an unknown amount ({one.reason})"
        turned = one.value < 0
        ends = [] if one.interval is None else [-e if turned else e for e in one.interval]
        shown = f" ({' to '.join(self.score.text(end) for end in sorted(ends))})" if ends else ""
        return self.score.text(abs(one.value)) + shown

    def unseen(self, one: CurvePoint | Trend | Contrast | Forgetting, more: str = "") -> str:
        """ "no difference that this design could see (it would have found 0.1 or more)"."""
        found = (
            f" (it would have found {self.score.text(one.detectable)}{more} or more in 4 of 5 "
            "repetitions)"
            if one.detectable is not None
            else ""
        )
        return f"no difference that this design could see{found}"

    def place(self, samples: int) -> str:
        mean = "" if len(self.tasks) < 2 else f" (mean of {len(self.tasks)} tasks)"
        return f"{counted(samples, 'pair')}{mean}"

    def helped(self) -> str:
        """Each trained arm at the most pairs, against the untouched model."""
        sentences = []
        for arm, how in self.trained():
            own = [p for p in self.points if p.arm == arm and p.task == ALL]
            if own:
                sentences.append(self._helped(max(own, key=lambda p: p.samples), how))
        zero = self.answers.point(ALL, "untouched", self.score.name, 0)
        if sentences and zero is not None and zero.mean.value is not None:
            low = {"lower": " (lower is better)", "higher": ""}.get(self.score.better, "")
            sentences.insert(
                0,
                f"The primary measure, named beforehand, is {self.score.label}{low}; that of the "
                f"untouched model is {self.score.text(zero.mean.value)}.",
            )
        return " ".join(sentences)

    def trained(self) -> list[tuple[str, str]]:
        """The arms that learn from real pairs, and how; one where the most pairs are the same."""
        design = self.outcome.design
        arms = [one for one in REAL if one in design.arms]
        steps = {design.steps_of(one, max(design.samples)) for one in arms}
        there = any(p.samples == max(design.samples) and p.arm == arms[0] for p in self.points)
        if len(arms) == 2 and len(steps) == 1 and there:
            return [(arms[0], f"with {counted(steps.pop(), 'step')}")]
        return [(one, _SHORT[one]) for one in arms]

    def _helped(self, point: CurvePoint, how: str) -> str:
        start = f"After training on {self.place(point.samples)}, {how},"
        value, found = self.score.text(point.mean.value), verdict(point.change, self.score)
        if found == "unknown":
            why = point.change.reason
            return f"{start} it is {value}; whether that is a change is not known ({why})."
        if found == "unseen":
            return f"{start} it is {value}, {self.unseen(point)}."
        way = "higher" if (point.change.value or 0) > 0 else "lower"
        judged = "" if found == way else f": {found}"
        return f"{start} it is {value}, {way} by {self.amount(point.change)}{judged}."

    def more_pairs(self) -> str:
        """Pairs alone are the cause only where the number of steps stays the same."""
        trends = {t.arm: t for t in self.trends if t.task == ALL}
        same, both = trends.get("same-steps"), trends.get("per-sample")
        sentences = []
        if same is not None:
            sentences.append(self._trend(same, "More pairs", " at the same number of steps"))
        if both is not None:
            sentences.append(self._trend(both, "More pairs and more steps together", ""))
            if verdict(both.slope, self.score) in ("better", "worse", "higher", "lower"):
                if same is None:
                    sentences.append(
                        "Whether it is the pairs or the steps cannot be told: no arm has the same "
                        "number of steps at every number of pairs."
                    )
                elif verdict(same.slope, self.score) in ("unseen", "unknown"):
                    sentences.append("That it is the pairs and not the steps is not shown.")
        return " ".join(sentences)

    def _trend(self, trend: Trend, cause: str, where: str) -> str:
        found = verdict(trend.slope, self.score)
        if found == "unknown":
            return f"{cause}: what they do{where} is not known ({trend.slope.reason})."
        if found == "unseen":
            return f"{cause}{where} made {self.unseen(trend, ' per doubling')}."
        way = "raises" if (trend.slope.value or 0) > 0 else "lowers"
        verb = {"better": " helped", "worse": " did harm"}.get(found, " mattered")
        amount = self.amount(trend.slope)
        return f"{cause}{verb}{where}: each doubling {way} {self.score.label} by {amount}."

    def controls(self) -> Iterator[str]:
        """Shuffled pairs, other tasks, copying, blank instruction."""
        sentences = []
        for question, right in _RIGHT.items():
            own = [c for c in self.contrasts if c.question == question and c.task == ALL]
            if own:
                most = max(own, key=lambda c: (c.left[1], c.left[0] == "per-sample"))
                sentences.append(self._control(most, right))
        if sentences:
            yield " ".join(sentences)
        for control in ("shuffled", "other-task"):
            wrong = [p for p in self.points if p.arm == control and p.task == ALL]
            if wrong:
                yield self._wrong_pairs(max(wrong, key=lambda p: p.samples))

    def _control(self, contrast: Contrast, right: str) -> str:
        found = verdict(contrast.difference, self.score)
        start = f"Training on {counted(contrast.left[1], 'pair')}"
        meaning = _MEANS.get((contrast.question, found), "")
        if found == "unknown":
            return f"{start} and {right} cannot be told apart ({contrast.difference.reason})."
        if found == "unseen":
            said = f"Between {start[0].lower()}{start[1:]} and {right} there is "
            said += self.unseen(contrast)
        else:
            verb = {"better": "beats", "worse": "falls behind"}.get(found, f"is {found} than")
            said = f"{start} {verb} {right} by {self.amount(contrast.difference)}"
        return f"{said}: {meaning}" if meaning else f"{said}."

    def _wrong_pairs(self, point: CurvePoint) -> str:
        found = verdict(point.change, self.score)
        start = f"After training on {_WRONG[point.arm]} ({counted(point.samples, 'pair')})"
        if found == "unknown":
            return ""
        if found == "unseen":
            return f"{start}, there is {self.unseen(point)} from the untouched model."
        more = " That is what updates do without the right pairs." if found == "better" else ""
        return (
            f"{start}, it is {found} than the untouched model by {self.amount(point.change)}.{more}"
        )

    def by_task(self) -> str:
        """Which tasks, after Holm's correction."""
        if len(self.tasks) < 2:
            return ""
        sentences = []
        for arm, how in self.trained():
            own = [p for p in self.points if p.arm == arm and p.task != ALL]
            most = max((p.samples for p in own), default=0)
            found: dict[str, list[str]] = {}
            for point in (p for p in own if p.samples == most):
                found.setdefault(verdict(point.change, self.score, point.p_holm), []).append(
                    point.task
                )
            said = [
                f"{word} in {listed(found[word], len(found[word]))}"
                for word in ("better", "higher", "worse", "lower")
                if word in found
            ]
            if "unseen" in found:
                none = found["unseen"]
                said.append(
                    f"no difference that this design could see in {listed(none, len(none))}"
                )
            if "unknown" in found:
                said.append(f"not known in {listed(found['unknown'], len(found['unknown']))}")
            if said:
                sentences.append(
                    f"By task, after {counted(most, 'pair')} {how} and with Holm's "
                    f"correction over tasks and metrics: {'; '.join(said)}."
                )
        return " ".join(sentences)

    def in_context(self) -> str:
        """Learning the pairs against being shown them."""
        sentences = []
        own = [p for p in self.points if p.arm == "in-context" and p.task == ALL and p.samples]
        if own:
            most = max(own, key=lambda p: p.samples)
            found = verdict(most.change, self.score)
            start = f"Shown {self.place(most.samples)} in its prompt, {self._shown_system()} is"
            if found == "unseen":
                said = f"there is {self.unseen(most)} from being shown none"
                sentences.append(
                    f"Of {self._shown_system()} shown {self.place(most.samples)}: {said}."
                )
            elif found != "unknown":
                sentences.append(f"{start} {found} than shown none by {self.amount(most.change)}.")
        for contrast in self.contrasts:
            if contrast.question != "shown" or contrast.task != ALL:
                continue
            found = verdict(contrast.difference, self.score)
            pairs = counted(contrast.left[1], "pair")
            if found == "unseen":
                sentences.append(
                    f"Between training on the same {pairs} and showing them there is "
                    f"{self.unseen(contrast)}."
                )
            elif found != "unknown":
                amount = self.amount(contrast.difference)
                sentences.append(
                    f"At equal data, training on {pairs} is {found} than showing them by {amount}."
                )
        if own and not any(c.question == "shown" for c in self.contrasts):
            sentences.append("Nothing was trained on as few pairs as were shown: no comparison.")
        return " ".join(sentences)

    def _shown_system(self) -> str:
        return self.outcome.design.in_context or "the system"

    def forgotten(self) -> str:
        own = [f for f in self.forgetting if f.task == ALL]
        if not own:
            return ""
        sentences = []
        for arm, how in self.trained():
            some = [f for f in own if f.arm == arm]
            if not some:
                continue
            most = max(some, key=lambda f: f.samples)
            found = verdict(most.change, self.score)
            start = f"On cases of other tasks, after {counted(most.samples, 'pair')} {how},"
            if found == "unseen":
                sentences.append(f"{start} there is {self.unseen(most)}.")
            elif found == "unknown":
                sentences.append(f"{start} the change is not known ({most.change.reason}).")
            else:
                said = f"{start} {self.score.label} is {found} by {self.amount(most.change)}"
                sentences.append(f"{said}: it forgets." if found == "worse" else f"{said}.")
        return " ".join(sentences)

    def remembered(self) -> str:
        own = [m for m in self.answers.memory if m.task == ALL and m.nearer.value is not None]
        own = [m for m in own if m.arm in REAL]
        if not own:
            return ""
        most = max(own, key=lambda m: (m.samples, m.arm == "per-sample"))
        share, ends = most.nearer.value or 0.0, most.nearer.interval
        shown = f" ({100 * ends.low:.0f} to {100 * ends.high:.0f} %)" if ends else ""
        start = (
            f"After {counted(most.samples, 'pair')}, {100 * share:.0f} %{shown} of the outputs are "
            "nearer to a target that was learned from than to one that was not, where chance gives "
            "50 %"
        )
        if ends is None:
            return f"{start}; there is no interval."
        if ends.low > 0.5:
            return f"{start}: outputs lean towards the training targets, a sign of memorisation."
        return f"{start}: no sign of memorisation."


def _about(outcome: TuningOutcome) -> str:
    """What the intervals are about, where that is less than one would think."""
    sentences = []
    used = [
        (fold.task, most)
        for fold in outcome.folds
        if fold.pool > 0 and (most := max(outcome.design.samples)) / fold.pool > MOST_OVERLAP
    ]
    tasks = sorted({task for task, _ in used})
    if tasks:
        names = listed(tasks) if len(tasks) < len({f.task for f in outcome.folds}) else "every task"
        sentences.append(
            f"In {names} the most pairs are more than half of all there are to draw from: there, "
            "intervals are about other draws from these pairs, not about other pairs."
        )
    if outcome.design.draws < LEAST_DRAWS:
        sentences.append("With a single draw nothing says how much the choice of pairs matters.")
    elif outcome.design.draws == LEAST_DRAWS:
        sentences.append("Two draws say little about how much the choice of pairs matters.")
    return " ".join(sentences)


def _missing(outcome: TuningOutcome) -> str:
    sentences = []
    if outcome.open:
        reasons = reasons_in_words(group_reasons([(why, 1) for why in outcome.open.values()]))
        one = len(outcome.open) == 1
        parts = "1 training or run" if one else f"{len(outcome.open):,} trainings or runs"
        sentences.append(f"{parts} of the design {'is' if one else 'are'} missing: {reasons}.")
    frame = outcome.scores
    lost = frame.filter(frame["value"].is_null())
    if len(lost):
        pairs = [(str(reason or "no reason given"), 1) for reason in lost["reason"].to_list()]
        sentences.append(
            f"{len(lost):,} of {len(frame):,} scores have no value: "
            f"{reasons_in_words(group_reasons(pairs))}. An output that failed counts as doing "
            "nothing to the input."
        )
    return " ".join(sentences)
