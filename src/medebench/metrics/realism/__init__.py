"""Distances between two sets of pictures, seen through an encoder: FID and KID."""

from __future__ import annotations

from medebench.metrics.realism.fid import fid
from medebench.metrics.realism.kid import Kid, kid
from medebench.metrics.realism.set_metrics import INFOS, fid_metric, kid_metric

__all__ = ["INFOS", "Kid", "fid", "fid_metric", "kid", "kid_metric"]
