"""`tuning:` in the YAML of a plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from medebench.cases import CaseSet
from medebench.progress import Bar
from medebench.settings import read_settings
from medebench.tuning.train_settings import TrainSettings
from medebench.tuning.tuning_call import ARMS, TuningResult, prepare, tune
from medebench.tuning.tuning_design import TuningDesign
from medebench.tuning.tuning_workers import find_places


class TuningEntry(BaseModel):
    """What `medebench tune` takes, with its defaults; cases, seed and folder are the plan's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    system: str
    samples: list[int] = [0, 4, 8, 16]
    draws: int = 5
    seeds: int = 3
    steps_per_sample: int = 50
    steps: int | None = None
    arms: list[str] | None = None
    controls_at: list[int] = []
    tasks: list[str] = []
    test: int = 30
    elsewhere: int = 12
    in_context: str = ""
    demonstrations: list[int] = [0, 1, 2, 3]
    metrics: list[str] | None = None
    judge: str = ""
    primary: str = ""
    train: dict[str, Any] = {}
    devices: str = ""
    workers: int | None = Field(None, ge=1, le=512)
    keep: Literal["adapters", "scores"] = "adapters"
    max_cost: float | None = Field(None, ge=0)

    @field_validator(
        *("samples", "arms", "controls_at", "tasks", "demonstrations", "metrics"), mode="before"
    )
    @classmethod
    def _several(cls, value: Any) -> Any:
        return [value] if isinstance(value, str | int) else value

    def seen_from(self, local: Callable[[str], str]) -> TuningEntry:
        """With files of the user's own as seen from the plan."""
        names = {name: getattr(self, name) for name in ("system", "in_context", "judge")}
        given: dict[str, Any] = {name: local(one) for name, one in names.items() if one}
        if self.metrics is not None:
            given["metrics"] = [local(one) for one in self.metrics]
        return self.model_copy(update=given)

    def check(self, cases: CaseSet, out: Path, seed: int, bar: Bar) -> None:
        """InputError where it does not make sense, before anything of the plan is done."""
        find_places(self.devices, self.workers)
        told = self.model_dump(exclude={"devices", "workers", "keep", "max_cost"})
        given: dict[str, Any] = {
            name: tuple(one) if isinstance(one, list) else one for name, one in told.items()
        }
        given |= {"train": read_settings(TrainSettings, self.train, "train"), "seed": seed}
        given |= {"arms": given["arms"] or ARMS, "metrics": given["metrics"] or ()}
        if self.devices:
            find_places(self.devices)
        prepare(cases, TuningDesign(**given), out, open_arms=self.arms is None, bar=bar)

    def run(self, cases: CaseSet, out: Path, seed: int, **options: Any) -> TuningResult:
        return tune(cases, out=out, seed=seed, **self.model_dump(), **options)
