"""The loss of a training as a page draws it: means of a few stretches of `loss.jsonl`."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from medebench.tuning.training_loop import LOG


@dataclass(frozen=True)
class LossCurve:
    """Middles of stretches of steps, and the mean loss of each."""

    steps: tuple[int, ...] = ()
    losses: tuple[float, ...] = ()
    #: The last step that was done, and how long all took.
    last: int = 0
    seconds: float = 0.0


def loss_curve(adapter: Path, most: int) -> LossCurve:
    """At most so many points; nothing where there is no file yet."""
    path = adapter / LOG
    try:
        about = path.stat()
    except OSError:
        return LossCurve()
    return _read(path, about.st_size, about.st_mtime_ns, most)


# A file that has not changed is not read again, and there are hundreds of them.
@lru_cache(maxsize=2048)
def _read(path: Path, _size: int, _written: int, most: int) -> LossCurve:
    found: dict[int, float] = {}
    seconds = 0.0
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return LossCurve()
    for line in lines:
        try:
            told = json.loads(line)
            step, loss = int(told["step"]), float(told["loss"])
            seconds = max(seconds, float(told.get("seconds") or 0.0))
        except (ValueError, KeyError, TypeError):
            continue  # the last line may be half written
        if math.isfinite(loss):
            # A training that was continued says some steps twice.
            found[step] = loss
    if not found:
        return LossCurve()
    steps = sorted(found)
    count = min(most, len(steps))
    ends = [round(i * len(steps) / count) for i in range(count + 1)]
    parts = [steps[low:high] for low, high in pairwise(ends)]
    middles = tuple(part[len(part) // 2] for part in parts)
    means = tuple(float(f"{sum(found[s] for s in part) / len(part):.4g}") for part in parts)
    return LossCurve(middles, means, steps[-1], seconds)
