"""LPIPS: how differently a network that knows photographs sees two pictures."""

from __future__ import annotations

from medebench.metrics.perceptual.lpips_distance import lpips
from medebench.metrics.perceptual.lpips_metrics import INFOS, lpips_metric

__all__ = ["INFOS", "lpips", "lpips_metric"]
