"""The figures, one file each."""

from __future__ import annotations

from medebench.report.figures.draw import Drawing, draw_diagnosis, draw_figures, draw_learned

__all__ = ["Drawing", "draw_diagnosis", "draw_figures", "draw_learned"]
