"""The edit scores of edits done and of failed ones, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from medebench.tuning.chest_encoder.attempts import FAILURES
from medebench.tuning.chest_encoder.evaluation import THRESHOLD, Scored

BINS = np.linspace(-1, 1, 41)


def draw_scores(scored: Sequence[Scored], path: Path) -> None:
    """A row for each outcome, with a line where edits below are thrown away."""
    from matplotlib.figure import Figure

    rows = ("done", *FAILURES)
    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    for axes, outcome in zip(figure.subplots(len(rows), sharex=True), rows, strict=True):
        values = [one.score for one in scored if one.attempt.outcome == outcome]
        known = [value for value in values if value is not None]
        axes.hist(known, BINS, color="#2a6f97" if outcome == "done" else "#b0532c")
        axes.axvline(THRESHOLD, color="black", linewidth=1, linestyle="--")
        axes.set_yticks([])
        axes.set_title(f"{outcome} ({len(known)})", loc="left", fontsize=9)
        axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("edit score")
    figure.savefig(path, dpi=150)
