"""The loss curve as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

#: Points of the curve that are averaged; batches of 16 differ much.
SMOOTHED = 9


def draw_curve(curve: list[dict[str, float]], path: Path, lines: Mapping[str, str]) -> None:
    """`lines` maps the values to draw to their labels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.subplots()
    steps = np.array([point["step"] for point in curve])
    for name, label in lines.items():
        values = np.array([point[name] for point in curve])
        (line,) = axes.plot(steps, values, linewidth=0.6, alpha=0.35)
        axes.plot(steps, _smooth(values), linewidth=1.8, color=line.get_color(), label=label)
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("squared error of the latents")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=160)


def _smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    half = SMOOTHED // 2
    padded = np.pad(values, half, "edge")
    return np.convolve(padded, np.ones(SMOOTHED) / SMOOTHED, "valid")
