"""Trains in children that are killed without warning, until one of them gets to the end.

`python -m tests.tuning.killed_training PIPELINE CASES OUT KILLS SEED`: this process loads torch
once and forks; what is killed is a real process with a real training.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import accelerate  # noqa: F401
import diffusers.optimization
import diffusers.training_utils  # noqa: F401
import peft  # noqa: F401
import torch

from medebench.tuning.base_system import base_system
from medebench.tuning.train_adapter import train_adapter
from medebench.tuning.train_request import TrainRequest
from tests.tuning.tiny_training import request_for, tiny_cases

STEPS = 36


def killed_request(pipeline: Path, cases: Path) -> TrainRequest:
    """Everything that has a state: averages, a schedule, batches put together, augmentation."""
    return request_for(
        f"diffusers:{pipeline},size=64,steps=1",
        tiny_cases(cases),
        STEPS,
        seed=7,
        method="full",
        rate=1e-3,
        schedule="cosine",
        warm_up=4,
        batch=2,
        accumulate=2,
        ema=0.9,
        no_text=0.2,
        no_image=0.2,
        augment="flip+crop",
        every=3,
    )


def begin(request: TrainRequest, out: Path, last: int = STEPS) -> int:
    """A child that trains, and waits for its end after `last` steps; its process id."""
    child = os.fork()
    if child == 0:
        status = 1

        def progress(done: int, total: int) -> None:
            if last <= done < total:
                signal.pause()

        try:
            train_adapter(request, out, progress)
            status = 0
        finally:
            os._exit(status)
    return child


def lines(out: Path) -> int:
    log = out / "loss.jsonl"
    return log.read_bytes().count(b"\n") if log.is_file() else 0


def main(pipeline: Path, cases: Path, out: Path, kills: int, seed: int) -> None:
    torch.set_num_threads(1)
    request, chance = killed_request(pipeline, cases), random.Random(seed)
    # All that is imported on the way is there when the children begin.
    base_system(request.system).loaded(request.settings, "cpu")
    for number in range(kills):
        # However late it is killed, it has not come to its end.
        child = begin(request, out, STEPS - 1)
        # Further each time, and at any place of a step, a checkpoint or the beginning.
        wanted = min(STEPS - 2, number * STEPS // kills + chance.randrange(4))
        while lines(out) < wanted and os.waitpid(child, os.WNOHANG)[0] == 0:
            time.sleep(0.02)
        time.sleep(chance.random() * 0.1)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else f"ended {status}", lines(out), flush=True)
    child = begin(request, out)
    _, status = os.waitpid(child, 0)
    print("ended", os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), *map(int, sys.argv[4:6]))
