"""One training as it is handed to a device: names, cases and settings, nothing that is open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from medebench.cases import Case
from medebench.tuning.train_settings import TrainSettings


@dataclass(frozen=True)
class TrainRequest:
    """What to train, on what, for how long; it can be pickled."""

    #: As `--system` takes it.
    system: str
    #: Cases to learn from: input and instruction are those of the first of each two, the target is
    #: the reference of the second. The two differ only where pairs are shuffled on purpose.
    pairs: tuple[tuple[Case, Case], ...]
    steps: int
    seed: int
    settings: TrainSettings = field(default_factory=TrainSettings)
    #: Cases whose outputs are drawn while it trains; never those of the test.
    validation: tuple[Case, ...] = ()
    #: `cpu`, `cuda`, `cuda:1`, `mps`; `auto` takes the first there is.
    device: str = "auto"
    #: What the model card says besides: data fingerprint, task, arm, draw, fold.
    card: Mapping[str, Any] = field(default_factory=dict)
