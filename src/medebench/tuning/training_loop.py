"""Steps of a training: every one depends on its number and the seed alone, not on what was before.

So a training that was killed and continued is the same training, to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from medebench.errors import MedebenchError
from medebench.progress import Progress
from medebench.tuning.objectives.objective import Objective
from medebench.tuning.pair_augmentation import augmented
from medebench.tuning.pairs import TrainPair
from medebench.tuning.train_settings import TrainSettings
from medebench.tuning.training_checkpoint import (
    Checkpoint,
    cut_log,
    load_checkpoint,
    save_checkpoint,
)

LOG = "loss.jsonl"


@dataclass(frozen=True)
class Course:
    """What is learned from, for how long, and where it is written."""

    pairs: Sequence[TrainPair]
    steps: int
    seed: int
    settings: TrainSettings
    out: Path
    #: Tells this training from any other; checkpoints carry it.
    request: str


#: Called with the number of steps taken, to draw samples.
Watch = Callable[[int], None]


def follow(
    objective: Objective, course: Course, accelerator: Any, watch: Watch, progress: Progress
) -> float:
    """Train the denoiser's open weights in place; returns the seconds of all sittings."""
    return _Training(objective, course, accelerator).run(watch, progress)


class _Training:
    def __init__(self, objective: Objective, course: Course, accelerator: Any) -> None:
        import torch
        from diffusers.optimization import get_scheduler
        from diffusers.training_utils import EMAModel

        self.objective, self.course, self.accelerator = objective, course, accelerator
        settings, denoiser = course.settings, objective.denoiser
        self.open = {name: one for name, one in denoiser.named_parameters() if one.requires_grad}
        weights = list(self.open.values())
        optimizer = torch.optim.AdamW(weights, lr=settings.rate, weight_decay=settings.decay)
        name, warm_up = settings.schedule, settings.warm_up
        schedule = get_scheduler(
            "constant_with_warmup" if name == "constant" else name,
            optimizer,
            num_warmup_steps=warm_up,
            num_training_steps=max(course.steps, warm_up + 1),
        )
        self.optimizer, self.schedule = accelerator.prepare(optimizer, schedule)
        self.averaged = EMAModel(weights, decay=settings.ema) if settings.ema else None
        self.log = course.out / LOG

    def run(self, watch: Watch, progress: Progress) -> float:
        found = load_checkpoint(self.course.out, self.course.request)
        begun, spent, logged = (found.step, found.seconds, found.logged) if found else (0, 0.0, 0)
        if found:
            self._restore(found.state)
        cut_log(self.log, logged)
        progress(begun, self.course.steps)
        self.objective.denoiser.train()
        steps, start = self.course.steps, time.perf_counter()
        if not begun:
            self._watch(watch, 0)
        with self.log.open("a", encoding="utf-8") as log:
            for step in range(begun, steps):
                loss, rate = self._step(step)
                seconds = spent + time.perf_counter() - start
                done = step + 1
                line = {"step": done, "loss": loss, "rate": rate, "seconds": round(seconds, 3)}
                log.write(json.dumps(line) + "\n")
                log.flush()
                if done % self.course.settings.every == 0 or done == steps:
                    self._watch(watch, done)
                    if done != steps:
                        self._save(Checkpoint(done, log.tell(), seconds, {}))
                progress(done, steps)
        if self.averaged is not None:
            self.averaged.copy_to(self.open.values())
        self.objective.denoiser.eval()
        return spent + time.perf_counter() - start

    def _step(self, step: int) -> tuple[float, float]:
        """One update; its loss and learning rate."""
        import torch

        settings, total = self.course.settings, 0.0
        torch.manual_seed(derived(self.course.seed, "step", step))
        rate = float(self.schedule.get_last_lr()[0])
        for turn in range(settings.accumulate):
            with self.accelerator.accumulate(self.objective.denoiser):
                total += self._learn(step, turn)
                if self.accelerator.sync_gradients:
                    self.accelerator.clip_grad_norm_(self.open.values(), settings.clip)
                self.optimizer.step()
                self.schedule.step()
                self.optimizer.zero_grad(set_to_none=True)
        if self.averaged is not None:
            self.averaged.step(self.open.values())
        return total / settings.accumulate, rate

    def _learn(self, step: int, turn: int) -> float:
        """Gradients of one batch; pairs of different canvases go through one after the other."""
        import torch

        course = self.course
        number = step * course.settings.accumulate + turn
        chosen = [
            self._pair(number * course.settings.batch + k) for k in range(course.settings.batch)
        ]
        canvases: dict[tuple[int, ...], list[TrainPair]] = {}
        for pair in chosen:
            canvases.setdefault(pair.previous.shape, []).append(pair)
        generator = torch.Generator("cpu").manual_seed(derived(course.seed, "draw", number))
        total = 0.0
        for pairs in canvases.values():
            batch = self.objective.batch(pairs, generator)
            draw = self.objective.draw(batch, generator)
            with self.accelerator.autocast():
                loss = self.objective.loss(batch, draw) * (len(pairs) / len(chosen))
            self.accelerator.backward(loss)
            total += float(loss.detach())
        if not np.isfinite(total):
            raise MedebenchError(
                f"{course.out}: the loss of step {step + 1} is {total}; lower rate, or use "
                "precision=no"
            )
        return total

    def _pair(self, number: int) -> TrainPair:
        """The pair that is shown as the `number`-th: all once in random order, then again."""
        count, seed = len(self.course.pairs), self.course.seed
        round_, place = divmod(number, count)
        order = np.random.default_rng(derived(seed, "order", round_)).permutation(count)
        rng = np.random.default_rng(derived(seed, "augment", number))
        return augmented(self.course.pairs[order[place]], self.course.settings.augment, rng)

    def _watch(self, watch: Watch, step: int) -> None:
        denoiser = self.objective.denoiser
        with averaged(self.averaged, self.open.values()):
            denoiser.eval()
            watch(step)
        denoiser.train()

    def _save(self, reached: Checkpoint) -> None:
        state: dict[str, Any] = {
            "weights": {name: one.detach().cpu() for name, one in self.open.items()},
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
        }
        if self.averaged is not None:
            state["averaged"] = self.averaged.state_dict()
        if self.accelerator.scaler is not None:
            state["scaler"] = self.accelerator.scaler.state_dict()
        reached.state.update(state)
        save_checkpoint(self.course.out, self.course.request, reached)

    def _restore(self, state: dict[str, Any]) -> None:
        import torch

        with torch.no_grad():
            for name, one in self.open.items():
                one.copy_(state["weights"][name])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        if self.averaged is not None:
            self.averaged.load_state_dict(state["averaged"])
            self.averaged.to(next(iter(self.open.values())).device)
        if self.accelerator.scaler is not None:
            self.accelerator.scaler.load_state_dict(state["scaler"])


@contextmanager
def averaged(ema: Any, weights: Any) -> Iterator[None]:
    """With the averaged weights in place, where there are such."""
    if ema is None:
        yield
        return
    weights = list(weights)
    ema.store(weights)
    ema.copy_to(weights)
    try:
        yield
    finally:
        ema.restore(weights)


def derived(seed: int, what: str, number: int) -> int:
    """A seed of its own for each use of chance."""
    digest = hashlib.sha256(f"{seed}/{what}/{number}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def read_losses(path: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in path.read_text("utf-8").splitlines()]
