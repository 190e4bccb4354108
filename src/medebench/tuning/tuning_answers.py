"""What an experiment says: every number that a table, a figure or a sentence shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from medebench.analysis.estimate import Estimate
from medebench.tuning.tuning_design import Arm, Untrained

#: All tasks together, as the mean of the tasks.
ALL = ""


@dataclass(frozen=True)
class CurvePoint:
    """A score after learning from so many pairs, and its paired change from the untouched model.

    For a system that is shown the pairs, the change is from the same system shown none.
    """

    task: str
    arm: Arm | Untrained
    metric: str
    samples: int
    mean: Estimate
    #: In the metric's own direction: below 0 is better where a low score is.
    change: Estimate
    p: float | None = None
    p_holm: float | None = None
    #: The smallest true change that this design would have found in 80 of 100 repetitions.
    detectable: float | None = None


@dataclass(frozen=True)
class Trend:
    """How a score goes with each doubling of the pairs, over the points above 0."""

    task: str
    arm: Arm | Untrained
    metric: str
    slope: Estimate
    p: float | None = None
    p_holm: float | None = None
    detectable: float | None = None


#: `own-pairs`: trained on real pairs less on shuffled ones. `own-task`: less on another task's.
#: `beats-copy`: less copying the input. `beats-blank`: less the untouched model without an
#: instruction. `more-pairs`: most pairs less fewest at the same number of steps. `shown`: trained
#: less shown the same pairs in context.
Question = Literal["own-pairs", "own-task", "beats-copy", "beats-blank", "more-pairs", "shown"]


@dataclass(frozen=True)
class Contrast:
    """Two arms side by side on the same cases."""

    question: Question
    task: str
    metric: str
    left: tuple[Arm | Untrained, int]
    right: tuple[Arm | Untrained, int]
    #: Left less right.
    difference: Estimate
    p: float | None = None
    p_holm: float | None = None
    detectable: float | None = None


@dataclass(frozen=True)
class Forgetting:
    """What learning `task` did to the scores of cases of other tasks, against the untouched."""

    task: str
    arm: Arm
    metric: str
    samples: int
    change: Estimate
    p: float | None = None
    p_holm: float | None = None
    detectable: float | None = None


@dataclass(frozen=True)
class Memory:
    """Whether outputs look like what was learned from, rather than like what was not."""

    task: str
    arm: Arm
    samples: int
    to_training: Estimate
    to_other: Estimate
    #: Share of outputs that are nearer to a target of their training; by chance one in two.
    nearer: Estimate


@dataclass(frozen=True)
class TuningAnswers:
    """Everything that follows from an outcome."""

    primary: str
    points: Sequence[CurvePoint]
    trends: Sequence[Trend]
    contrasts: Sequence[Contrast]
    forgetting: Sequence[Forgetting]
    memory: Sequence[Memory]
    #: The answer in sentences, the most important first.
    words: Sequence[str]

    def point(self, task: str, arm: str, metric: str, samples: int) -> CurvePoint | None:
        wanted = (task, arm, metric, samples)
        found = (p for p in self.points if (p.task, p.arm, p.metric, p.samples) == wanted)
        return next(found, None)
