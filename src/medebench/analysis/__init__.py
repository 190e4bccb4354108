"""From scores to statements: averages, intervals, comparisons.

Everything here is a pure function of a frame of scores (see `clean.COLUMNS`) or of plain arrays,
deterministic in its seed and independent of the order of the rows. Intervals and tests take the
source picture, not the case, as the unit that was sampled.
"""

from medebench.analysis.aggregate import coverage_text, summarise
from medebench.analysis.bootstrap import Interval, cluster_interval, macro_interval
from medebench.analysis.clean import clean_scores
from medebench.analysis.compare import Comparison, compare_runs
from medebench.analysis.correlation import Correlation, cluster_spearman
from medebench.analysis.reliability import Reliability, reliability
from medebench.analysis.signflip import holm, least_p, sign_flip_test

__all__ = [
    "Comparison",
    "Correlation",
    "Interval",
    "Reliability",
    "clean_scores",
    "cluster_interval",
    "cluster_spearman",
    "compare_runs",
    "coverage_text",
    "holm",
    "least_p",
    "macro_interval",
    "reliability",
    "sign_flip_test",
    "summarise",
]
