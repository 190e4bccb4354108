"""A histogram of the edit scores of completed and failed edits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from medebench.phantoms.training.chest_encoder.attempted_edits import FAILURES
from medebench.phantoms.training.chest_encoder.encoder_evaluation import THRESHOLD, ScoredAttempt

BINS = np.linspace(-1, 1, 41)


def draw_scores(scored: Sequence[ScoredAttempt], path: Path) -> None:
    """One row per outcome, with a line at the threshold below which edits are discarded."""
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
