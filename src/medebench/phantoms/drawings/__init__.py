"""Medical-looking before/after cases drawn entirely by code, one family per organ."""

from __future__ import annotations

from medebench.phantoms.drawings.phantom_files import write_phantoms
from medebench.phantoms.drawings.phantom_renderer import TASKS, render, sample
from medebench.phantoms.drawings.phantom_spec import ORGANS, VERSION, Phantom, PhantomSpec

__all__ = [
    "ORGANS",
    "TASKS",
    "VERSION",
    "Phantom",
    "PhantomSpec",
    "render",
    "sample",
    "write_phantoms",
]
