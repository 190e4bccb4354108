"""Runs: making them, taking them over, scoring them."""

from medebench.runs.adopting import adopt
from medebench.runs.editing import edit
from medebench.runs.run import COLUMNS, Run, RunInfo, open_run
from medebench.runs.scoring import score

__all__ = ["COLUMNS", "Run", "RunInfo", "adopt", "edit", "open_run", "score"]
