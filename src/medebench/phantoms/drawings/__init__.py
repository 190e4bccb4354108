"""Medical-looking before/after cases drawn entirely by code, one family per organ."""

from __future__ import annotations

from medebench.phantoms.drawings.phantom_files import write_phantoms, write_unseen_phantoms
from medebench.phantoms.drawings.phantom_renderer import TASKS, render, sample, sample_unseen
from medebench.phantoms.drawings.phantom_spec import ORGANS, VERSION, Phantom, PhantomSpec
from medebench.phantoms.drawings.unseen_tasks import UNSEEN_TASKS, UNSEEN_VERSION

__all__ = [
    "ORGANS",
    "TASKS",
    "UNSEEN_TASKS",
    "UNSEEN_VERSION",
    "VERSION",
    "Phantom",
    "PhantomSpec",
    "render",
    "sample",
    "sample_unseen",
    "write_phantoms",
    "write_unseen_phantoms",
]
