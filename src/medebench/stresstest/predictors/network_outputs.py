"""From what a network puts out to probabilities and masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.errors import InputError

Output: TypeAlias = Literal["logit", "logits", "probability"]


def probabilities_of(
    out: NDArray[Any], count: int, output: Output, index: int | None
) -> NDArray[np.float64]:
    """Of the positive class, for each of `count` pictures."""
    rows = out.astype(np.float64).reshape(count, -1) if out.size and not out.size % count else None
    if rows is None or (out.ndim and out.shape[0] != count):
        raise ValueError(f"the network gives {_shape(out)} for {count} pictures")
    wide = rows.shape[1]
    column = _column(wide, output, index)
    if output == "logits":
        rows = np.exp(rows - rows.max(axis=1, keepdims=True))
        return np.asarray(rows[:, column] / rows.sum(axis=1))
    chosen = rows[:, column]
    return sigmoid(chosen) if output == "logit" else chosen


def masks_of(
    out: NDArray[Any],
    shapes: Sequence[tuple[int, int]],
    output: Output,
    classes: Sequence[int] | None,
    threshold: float,
) -> list[NDArray[Any]]:
    """One for each picture, in its own (height, width); NaN where the network gives some.

    Resized before it is decided: a mask that is enlarged afterwards has steps.
    """
    maps = out[:, None] if out.ndim == 3 else out
    if maps.ndim != 4 or maps.shape[0] != len(shapes):
        raise ValueError(
            f"the network gives {_shape(out)} for {len(shapes)} pictures instead of"
            " (pictures, classes, height, width)"
        )
    columns = [_column(maps.shape[1], output, one) for one in classes or (None,)]
    return [
        _mask(one, shape, output, columns, threshold)
        for one, shape in zip(maps, shapes, strict=True)
    ]


def sigmoid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Without overflow, however large the value."""
    small = np.exp(-np.abs(values))
    return np.where(values >= 0, 1 / (1 + small), small / (1 + small))


def resized(plane: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.float32]:
    image = Image.fromarray(np.ascontiguousarray(plane, np.float32))
    return np.asarray(image.resize((shape[1], shape[0]), Image.Resampling.BILINEAR))


def _mask(
    maps: NDArray[Any],
    shape: tuple[int, int],
    output: Output,
    columns: Sequence[int],
    threshold: float,
) -> NDArray[Any]:
    planes = maps if output == "logits" else maps[list(columns)]
    if not np.isfinite(planes).all():
        return np.full(shape, np.nan)
    if output == "logits":
        return np.isin(np.stack([resized(one, shape) for one in planes]).argmax(0), columns)
    values = np.max([resized(one, shape) for one in planes], axis=0).astype(np.float64)
    if output == "logit":
        return sigmoid(values) >= threshold
    # What is no probability is told by who checks the answers.
    inside = planes.min() >= 0 and planes.max() <= 1
    return np.asarray(values >= threshold) if inside else values


def _column(wide: int, output: Output, index: int | None) -> int:
    if output == "logits" and wide == 1:
        raise InputError(
            "output: the network has a single output, not logits of several classes; use logit"
        )
    if index is None and wide > 1:
        raise InputError(f"index: the network gives {wide} classes; choose one (0 to {wide - 1})")
    if index is not None and index >= wide:
        raise InputError(f"index: {index} is not among the network's {wide} classes")
    return index or 0


def _shape(out: NDArray[Any]) -> str:
    return f"an array of shape {out.shape}" if out.ndim else "a single number"
