"""Predictors under test: the user's own, whatever they were made with."""

from __future__ import annotations

import importlib

from pydantic import ValidationError

from medebench.errors import InputError
from medebench.stresstest.predictors.checked_answers import ask
from medebench.stresstest.predictors.predictor import (
    Kind,
    Predictor,
    PredictorError,
    PredictorSpec,
    Value,
)
from medebench.stresstest.stress_outcome import Task

__all__ = ["Predictor", "PredictorError", "PredictorSpec", "Value", "ask", "find_predictor"]

#: Imported when asked for: most need a heavy package of their own.
_ADAPTERS: dict[Kind, str] = {
    "python": "medebench.stresstest.predictors.own_predictor:OwnPredictor",
    "torchscript": "medebench.stresstest.predictors.network_files:TorchScriptPredictor",
    "onnx": "medebench.stresstest.predictors.network_files:OnnxPredictor",
    "transformers": "medebench.stresstest.predictors.pretrained_predictor:PretrainedPredictor",
    "command": "medebench.stresstest.predictors.command_predictor:CommandPredictor",
}


def find_predictor(spec: PredictorSpec | str, task: Task, positive: str = "") -> Predictor:
    """The predictor that `spec` means; whether it can be used here says its `problem()`.

    `positive` is the class whose probability is wanted. InputError for settings that make no
    sense; nothing is loaded before `problem()`.
    """
    if isinstance(spec, str):
        try:
            spec = PredictorSpec.model_validate(spec)
        except ValidationError as error:
            raise InputError(f"predictor '{spec}': {error.errors()[0]['msg']}") from None
    module, attribute = _ADAPTERS[spec.what].split(":")
    adapter = getattr(importlib.import_module(module), attribute)
    made: Predictor = adapter(spec, task, positive)
    return made
