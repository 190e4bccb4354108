"""What people read of an experiment: its page, its progress, and its section in a report."""

from __future__ import annotations

from medebench.tuning.page.experiment_pages import pictures_of, state_of
from medebench.tuning.page.learning_section import tuning_section
from medebench.tuning.page.tuning_examples import Made, RunPictures, TuningPictures
from medebench.tuning.page.tuning_page import write_tuning_page
from medebench.tuning.page.tuning_progress import TrainingState, TuningState, write_progress

__all__ = [
    "Made",
    "RunPictures",
    "TrainingState",
    "TuningPictures",
    "TuningState",
    "pictures_of",
    "state_of",
    "tuning_section",
    "write_progress",
    "write_tuning_page",
]
