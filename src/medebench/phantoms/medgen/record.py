"""A drawn case of one task: texts, facts and pictures, before it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
#: Told in every instruction in which it matters: patients have other sides than pictures.
OF_THE_PICTURE = "Sides are those of the picture."
HIGHLIGHT = (230, 40, 40)


@dataclass(frozen=True)
class Record:
    """What `cases.jsonl` says of a case, and its pictures by role."""

    prompt: str
    modality: str
    pictures: Mapping[str, Pixels]
    answer: str = ""
    key: str = ""
    choices: Sequence[str] = ()
    subtask: str = ""
    grid: Literal["previous", "reference"] = "previous"
    #: What the release keeps under `metadata`.
    metadata: Mapping[str, Any] = field(default_factory=dict)
    sections: Mapping[str, str] = field(default_factory=dict)


def box_of(mask: NDArray[np.bool_], margin: int) -> tuple[int, int, int, int]:
    """Left, top, right and bottom (exclusive) of what is True, with a margin."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    high, wide = mask.shape
    return (
        max(0, int(columns[0]) - margin),
        max(0, int(rows[0]) - margin),
        min(wide, int(columns[-1]) + 1 + margin),
        min(high, int(rows[-1]) + 1 + margin),
    )


def normalised(box: tuple[int, int, int, int], shape: Sequence[int]) -> list[float]:
    """A box as the release writes it: centre x, centre y, width, height, as shares."""
    left, top, right, bottom = box
    high, wide = shape[:2]
    centre = (left + right) / 2 / wide, (top + bottom) / 2 / high
    return [*centre, (right - left) / wide, (bottom - top) / high]


def roi_of(box: tuple[int, int, int, int], shape: Sequence[int]) -> Pixels:
    left, top, right, bottom = box
    mask = np.zeros(shape[:2], np.uint8)
    mask[top:bottom, left:right] = 255
    return mask
