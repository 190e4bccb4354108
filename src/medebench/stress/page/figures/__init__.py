"""The figures of a stress test, one file each."""

from __future__ import annotations

from medebench.stress.page.figures.draw import colours_of, draw_outcome

__all__ = ["colours_of", "draw_outcome"]
