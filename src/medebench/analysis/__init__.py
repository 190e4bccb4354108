"""From scores to statements: averages, intervals, comparisons.

Everything here is a pure function of a frame of scores (see `score_frame.COLUMNS`) or of plain
arrays, deterministic in its seed and independent of the order of the rows. Intervals and tests
take the source picture, not the case, as the unit that was sampled.
"""

from medebench.analysis.aggregate import coverage_text, summarise
from medebench.analysis.compare import Comparison, compare_runs
from medebench.analysis.correlation import Correlation, cluster_spearman
from medebench.analysis.difference import Difference
from medebench.analysis.interval import Bounds, Interval
from medebench.analysis.macro import macro_mean
from medebench.analysis.means import Mean, mean
from medebench.analysis.reliability import Reliability, reliability
from medebench.analysis.score_frame import clean_scores
from medebench.analysis.shares import share
from medebench.analysis.signflip import holm, least_p, sign_flip_test

__all__ = [
    "Bounds",
    "Comparison",
    "Correlation",
    "Difference",
    "Interval",
    "Mean",
    "Reliability",
    "clean_scores",
    "cluster_spearman",
    "compare_runs",
    "coverage_text",
    "holm",
    "least_p",
    "macro_mean",
    "mean",
    "reliability",
    "share",
    "sign_flip_test",
    "summarise",
]
