"""The figures of a study, one file each."""

from __future__ import annotations

from medebench.study.results.figures.draw import draw_results

__all__ = ["draw_results"]
