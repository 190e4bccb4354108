"""medebench: benchmark, diagnose and stress-test text-guided medical image editing.

import medebench as mb

cases = mb.load_cases("phantoms:count=26")
run = mb.edit(cases, "inpaint", out="runs/inpaint")
mb.score(run, judge="offline")
print(run.frame())
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

# Names are imported when they are first used: the command line must start at once.
# The stub beside this file, which type checkers read, says where each one lies.
_STUB = Path(__file__).with_suffix(".pyi").read_text("utf-8")
_PLACES = {name: room for room, name in re.findall(r"^from (\S+) import (\w+) as", _STUB, re.M)}

__all__ = ["__version__", *sorted(_PLACES)]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'medebench' has no attribute '{name}'")
    return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
