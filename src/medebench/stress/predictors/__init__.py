"""Predictors under test: the user's own, whatever they were made with."""

from __future__ import annotations

from medebench.stress.predictors.base import Predictor, PredictorError, Value
from medebench.stress.predictors.checking import ask
from medebench.stress.predictors.find import find_predictor
from medebench.stress.predictors.spec import PredictorSpec

__all__ = ["Predictor", "PredictorError", "PredictorSpec", "Value", "ask", "find_predictor"]
