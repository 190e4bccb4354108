"""Weights: one way to name, find and get them for all of medebench."""

from __future__ import annotations

from medebench.weights.finding import Absent, Found, find_weights
from medebench.weights.kinds import Known
from medebench.weights.known import KNOWN

__all__ = ["KNOWN", "Absent", "Found", "Known", "find_weights"]
