"""Which predictor is meant."""

from __future__ import annotations

import importlib

from pydantic import ValidationError

from medebench.errors import InputError
from medebench.stress.predictors.base import Predictor
from medebench.stress.predictors.spec import Kind, PredictorSpec
from medebench.stress.sample import Task

#: Imported when asked for: most need a heavy package of their own.
_ADAPTERS: dict[Kind, str] = {
    "python": "medebench.stress.predictors.own:OwnPredictor",
    "torchscript": "medebench.stress.predictors.torchscript:TorchScriptPredictor",
    "onnx": "medebench.stress.predictors.onnx:OnnxPredictor",
    "transformers": "medebench.stress.predictors.pretrained:PretrainedPredictor",
    "command": "medebench.stress.predictors.command:CommandPredictor",
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
