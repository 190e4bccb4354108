"""A shift of tone of the whole picture: fitted on the pixels that agree, then taken away."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.metrics.colour import Floats, lengths

#: No pixel is excused more than this colour difference: beyond it the picture was recoloured.
MAX_SHIFT = 20.0
#: Differences from the fit (CIE76) at which a pixel's say is down to a quarter, round by round.
#: Starting wide lets the fit find the majority, ending narrow keeps the edit from bending it.
_DOUBTS = (24.0, 16.0, 12.0, 8.0, 6.0, 4.0, 4.0, 4.0)
_AT_MOST = 4_000
#: Pull towards no shift, in pixels' worth: in a picture of one colour, gains cannot be known.
_RIDGE = 0.1


def shift_tone(previous: Floats, output: Floats, where: NDArray[np.bool_]) -> Floats:
    """The input's Lab picture in the output's tone.

    The shift is a polynomial of the pixel's colour, of all terms up to the second power and L³, so
    brightness, contrast, gamma, saturation and cast. It is fitted by least squares with weights
    1 / (1 + (r/s)²)² of the residual r, s shrinking from round to round. The shift of a pixel is
    cut to `MAX_SHIFT`.
    """
    before, after = previous[where], output[where]
    step = max(1, len(before) // _AT_MOST)
    before, after = before[::step], after[::step]
    if len(before) < 16:
        return previous
    centre = np.asarray(before.mean(axis=0), np.float32)
    known = _terms(before, centre)
    made = (after - before).astype(np.float64)
    weights: NDArray[Any] = np.zeros((known.shape[1], 3))
    weights[0] = np.median(made, axis=0)
    pull = np.diag([0.0] + [_RIDGE * len(before)] * (known.shape[1] - 1))
    for doubt in _DOUBTS:
        off = lengths((made - known @ weights).astype(np.float32))
        say = (1 / (1 + (off / doubt) ** 2) ** 2)[:, None]
        weights = np.linalg.solve(known.T @ (known * say) + pull, known.T @ (made * say))
    shift = _terms(previous.reshape(-1, 3), centre) @ weights
    size = np.linalg.norm(shift, axis=1, keepdims=True)
    capped = shift * np.minimum(1.0, MAX_SHIFT / np.maximum(size, 1e-6))
    return np.asarray(previous + capped.reshape(previous.shape), np.float32)


def _terms(rows: Floats, centre: Floats) -> NDArray[np.float64]:
    """1, L, a, b, their squares and products, and L³ of every pixel, about the picture's mean.

    In tens, the cube once more so, that all terms are of about one size.
    """
    light, red, blue = ((rows - centre).astype(np.float64) / 10).T
    squared = (light * light, light * red, light * blue, red * red, red * blue, blue * blue)
    return np.column_stack([np.ones(len(rows)), light, red, blue, *squared, light**3 / 10])
