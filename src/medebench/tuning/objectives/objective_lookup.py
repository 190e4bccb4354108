"""Which objective trains a pipeline, or why none does."""

from __future__ import annotations

import importlib
import json
import pkgutil
from functools import cache
from typing import Any

from medebench.systems.diffusion.pipeline_weights import Weights
from medebench.tuning import objectives as room
from medebench.tuning.objectives.objective import Objective
from medebench.tuning.train_settings import TrainSettings

#: Of a checkpoint in one file, which has no index.
_SINGLE = "StableDiffusionInstructPix2PixPipeline"


@cache
def objectives() -> dict[str, type[Objective]]:
    """By the class of the pipeline; those of every module of this folder."""
    found: dict[str, type[Objective]] = {}
    for family in pkgutil.iter_modules(room.__path__):
        module = importlib.import_module(f"{room.__name__}.{family.name}")
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, Objective) and "kinds" in vars(kind):
                found.update(dict.fromkeys(kind.kinds, kind))
    return found


def objective_for(pipe: Any, settings: TrainSettings, blank: str = "") -> Objective:
    """`blank` is what the pipeline is told where the text is withheld."""
    objective = objectives()[type(pipe).__name__](pipe, settings)
    objective.blank = blank
    return objective


def objective_kind(weights: Weights) -> type[Objective] | None:
    return objectives().get(_kind(weights))


def weights_problem(weights: Weights, settings: TrainSettings) -> str | None:
    """One line why these weights cannot be trained so; nothing is loaded."""
    kind = objective_kind(weights)
    if kind is None:
        known = ", ".join(objectives())
        return f"{weights.name}: {_kind(weights)} is not trained here; trained are {known}"
    index = weights.index or {"_class_name": _SINGLE}
    found = kind.problem(index, settings)
    if found is None and not weights.single:
        found = kind.folder_problem(weights.path) or _quantised(weights, kind.part)
    return None if found is None else f"{weights.name}: {found}"


def _kind(weights: Weights) -> str:
    return _SINGLE if weights.single else str(weights.index.get("_class_name"))


def _quantised(weights: Weights, part: str) -> str | None:
    path = weights.path / part / "config.json"
    try:
        config = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    told = config.get("quantization_config")
    if not told:
        return None
    how = told.get("quant_method", "") if isinstance(told, dict) else ""
    return f"its {part} is quantised{f' ({how})' if how else ''}; train the whole weights"
