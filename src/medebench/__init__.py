"""medebench: benchmark, diagnose and stress-test text-guided medical image editing.

import medebench as mb

cases = mb.load_cases("phantoms:count=26")
run = mb.edit(cases, "inpaint", out="runs/inpaint")
mb.score(run, judge="offline")
print(run.frame())
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Names are imported when they are first used: the command line must start at once.
_PLACES = {
    "Case": "medebench.cases",
    "CaseSet": "medebench.cases",
    "OpenCase": "medebench.cases",
    "load_cases": "medebench.cases",
    "open_case": "medebench.cases",
    "BatchMetric": "medebench.metrics",
    "Measured": "medebench.metrics",
    "Metric": "medebench.metrics",
    "MetricInfo": "medebench.metrics",
    "Subject": "medebench.metrics",
    "Undefined": "medebench.metrics",
    "metric": "medebench.metrics",
    "Thresholds": "medebench.grounding",
    "Edit": "medebench.editors",
    "Editor": "medebench.editors",
    "NotTried": "medebench.editors",
    "Refused": "medebench.editors",
    "Request": "medebench.editors",
    "Settings": "medebench.settings",
    "Verdict": "medebench.judge",
    "Run": "medebench.runs",
    "adopt": "medebench.runs",
    "edit": "medebench.runs",
    "ground": "medebench.runs",
    "open_run": "medebench.runs",
    "score": "medebench.runs",
    "new_study": "medebench.study.making",
    "open_study": "medebench.study",
    "InputError": "medebench.errors",
    "MedebenchError": "medebench.errors",
}

if TYPE_CHECKING:
    from medebench.cases import Case, CaseSet, OpenCase, load_cases, open_case
    from medebench.editors import Edit, Editor, NotTried, Refused, Request
    from medebench.errors import InputError, MedebenchError
    from medebench.grounding import Thresholds
    from medebench.judge import Verdict
    from medebench.metrics import (
        BatchMetric,
        Measured,
        Metric,
        MetricInfo,
        Subject,
        Undefined,
        metric,
    )
    from medebench.runs import Run, adopt, edit, ground, open_run, score
    from medebench.settings import Settings
    from medebench.study import open_study
    from medebench.study.making import new_study

__all__ = [
    "BatchMetric",
    "Case",
    "CaseSet",
    "Edit",
    "Editor",
    "InputError",
    "Measured",
    "MedebenchError",
    "Metric",
    "MetricInfo",
    "NotTried",
    "OpenCase",
    "Refused",
    "Request",
    "Run",
    "Settings",
    "Subject",
    "Thresholds",
    "Undefined",
    "Verdict",
    "adopt",
    "edit",
    "ground",
    "load_cases",
    "metric",
    "new_study",
    "open_case",
    "open_run",
    "open_study",
    "score",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'medebench' has no attribute '{name}'")
    return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
