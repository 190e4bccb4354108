"""What a tuning experiment consists of: every training and every run, before any work is done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from medebench.tuning.train_settings import TrainSettings

#: `per-sample`: a fixed number of steps for each training pair, so that pairs and updates grow
#: together, as published. `same-steps`: as many updates at every number of pairs. `shuffled`: the
#: targets are those of other pairs. `other-task`: the pairs are another task's.
Arm = Literal["per-sample", "same-steps", "shuffled", "other-task"]
#: What is not trained: the model as it is, the same without an instruction, the input returned, the
#: reference returned, and a model that is shown the pairs in its prompt.
Untrained = Literal["untouched", "blank", "copy", "reference", "in-context"]


@dataclass(frozen=True)
class Training:
    """One training: what is learned from which pairs, for how many steps, from which seed."""

    task: str
    arm: Arm
    #: Pairs learned from.
    samples: int
    draw: int
    seed: int
    fold: int
    steps: int
    #: Cases to learn from, in order: a smaller number of samples has the first of them.
    cases: tuple[str, ...]

    @property
    def name(self) -> str:
        fold = f"-fold{self.fold}" if self.fold else ""
        return f"{self.arm}-n{self.samples}-draw{self.draw}-seed{self.seed}{fold}"


@dataclass(frozen=True)
class Fold:
    """Test cases of a task, and the pairs that they may be learned from, as drawn."""

    task: str
    fold: int
    test: tuple[str, ...]
    #: For each draw, the cases of the largest number of samples in order; smaller ones are its
    #: beginning.
    draws: tuple[tuple[str, ...], ...]
    #: Pairs to draw from, of as many independent groups.
    pool: int


@dataclass(frozen=True)
class TuningDesign:
    """All settings of an experiment."""

    system: str
    samples: tuple[int, ...] = (0, 4, 8, 16)
    draws: int = 5
    seeds: int = 3
    steps_per_sample: int = 50
    #: Of every training of the arm `same-steps`; None: those of the most samples.
    steps: int | None = None
    arms: tuple[Arm, ...] = ("per-sample", "same-steps", "shuffled", "other-task")
    #: Numbers of samples at which controls are trained; empty: at the most only.
    controls_at: tuple[int, ...] = ()
    #: Tasks by name, or `Organ/Task`; empty: all that have cases enough.
    tasks: tuple[str, ...] = ()
    test: int = 30
    #: Cases of other tasks, on which forgetting is measured.
    elsewhere: int = 12
    #: A system that takes several images, shown the same pairs in the same order.
    in_context: str = ""
    demonstrations: tuple[int, ...] = (0, 1, 2, 3)
    metrics: tuple[str, ...] = ()
    judge: str = ""
    #: The score that decides, named before anything is run.
    primary: str = ""
    seed: int = 0
    train: TrainSettings = field(default_factory=TrainSettings)

    def steps_of(self, arm: Arm, samples: int) -> int:
        """Controls are trained as long as what they are compared with."""
        control = arm in ("shuffled", "other-task") and "per-sample" not in self.arms
        if arm == "same-steps" or control:
            return self.steps or self.steps_per_sample * max(self.samples)
        return self.steps_per_sample * samples
