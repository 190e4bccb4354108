"""Runs: making them, taking them over, scoring and grounding them."""

from medebench.runs.adoption import adopt
from medebench.runs.generate_run import edit, generate
from medebench.runs.ground_run import ground
from medebench.runs.run_folder import Run, RunInfo, open_run
from medebench.runs.run_table import COLUMNS
from medebench.runs.score_run import score

__all__ = ["COLUMNS", "Run", "RunInfo", "adopt", "edit", "generate", "ground", "open_run", "score"]
