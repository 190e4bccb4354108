"""Distances between two sets of pictures, seen through an encoder: FID and KID."""

from __future__ import annotations

from medebench.metrics.realism.fid import Moments, fid, fid_of_moments
from medebench.metrics.realism.kid import Kid, kid
from medebench.metrics.realism.set_metrics import INFOS, fid_metric, kid_metric

__all__ = ["INFOS", "Kid", "Moments", "fid", "fid_metric", "fid_of_moments", "kid", "kid_metric"]
