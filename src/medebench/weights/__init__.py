"""Weights: one way to name, find and get them for all of medebench."""

from __future__ import annotations

from medebench.weights.known_weights import KNOWN, Known
from medebench.weights.local_weights import Absent, Found, find_weights, need_weights

__all__ = ["KNOWN", "Absent", "Found", "Known", "find_weights", "need_weights"]
