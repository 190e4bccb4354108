"""LPIPS: how differently a network that knows photographs sees two pictures."""

from __future__ import annotations

from medebench.metrics.perceptual.distance import lpips
from medebench.metrics.perceptual.metrics import INFOS, lpips_metric

__all__ = ["INFOS", "lpips", "lpips_metric"]
