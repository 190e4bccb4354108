"""Runs: making them, taking them over, scoring and grounding them."""

from medebench.runs.adopting import adopt
from medebench.runs.editing import edit
from medebench.runs.grounding import ground
from medebench.runs.run import COLUMNS, Run, RunInfo, open_run
from medebench.runs.scoring import score

__all__ = ["COLUMNS", "Run", "RunInfo", "adopt", "edit", "ground", "open_run", "score"]
