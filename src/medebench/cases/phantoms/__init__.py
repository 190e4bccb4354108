"""Medical-looking before/after cases drawn entirely by code, one family per organ."""

from __future__ import annotations

from .registry import TASKS
from .render import render, sample
from .sheet import contact_sheet
from .spec import ORGANS, VERSION, Phantom, PhantomSpec, TaskInfo
from .write import write_phantoms

__all__ = [
    "ORGANS",
    "TASKS",
    "VERSION",
    "Phantom",
    "PhantomSpec",
    "TaskInfo",
    "contact_sheet",
    "render",
    "sample",
    "write_phantoms",
]
