"""The pictures of every edit: before, after, difference, and outlines to lay over them.

All pictures of an edit share one grid, that of the picture before. They are named after their
content, so that a picture that was edited in several ways is written once, and one that is still
right is not written again. One edit is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.errors import MedebenchError, one_line
from medebench.files import sha256
from medebench.images.picture import (
    Picture,
    data_range,
    match,
    read_mask,
    read_picture,
    resize_mask,
)
from medebench.page.page_folder import Folder
from medebench.page.palette import Colour
from medebench.page.web_images import contour_path, key_of, shrink, to_bytes, webp
from medebench.progress import Progress, silent
from medebench.stresstest.page.page_facts import Bools, Pictures
from medebench.stresstest.stress_outcome import EditOutcome, StressOutcome

LARGE, SMALL = 512, 256
#: A change by this share of the data range is drawn at full strength.
FULL_CHANGE = 0.25
#: From much darker over unchanged to much brighter; the lightness grows all the way, so that the
#: map can be read in grey as well.
CHANGE_STOPS = ("#0a2450", "#3f76b0", "#9a9a9a", "#e8a838", "#fff1b8")
#: (colour, halo, dashes): light and solid, dark and dashed; one is told from the other in grey.
EDIT_LINE = ("#ffd84d", "#000", "")
KEEP_LINE = ("#1446c8", "#fff", "6 4")
TRUTH_LINE = ("#fff", "#000", "1.5 3")


@dataclass(frozen=True)
class EditImages:
    """Names of the pictures of an edit; empty where there is none, and `trouble` says why."""

    width: int = 0
    height: int = 0
    before: str = ""
    after: str = ""
    difference: str = ""
    #: What a perfect edit looks like, where that is known.
    wanted: str = ""
    masks: str = ""
    has_edit: bool = False
    has_keep: bool = False
    #: By predictor: its outline on the edited picture, beside the true one.
    predicted: Mapping[str, str] = field(default_factory=dict)
    #: Mean absolute change, as a share of the range: edit mask, keep mask, neither.
    changes: tuple[float | None, float | None, float | None] = (None, None, None)
    trouble: str = ""


def write_pictures(
    outcome: StressOutcome,
    pictures: Pictures,
    folder: Folder,
    colours: Mapping[str, Colour],
    progress: Progress = silent,
) -> dict[str, EditImages]:
    """Write what every edit is shown with, by `IntendedEdit.id`."""
    found = {}
    for done, edit in enumerate(outcome.edits, 1):
        found[edit.intended.id] = _write(outcome, edit, pictures, folder, colours)
        progress(done, len(outcome.edits))
    return found


def _write(
    outcome: StressOutcome,
    edit: EditOutcome,
    pictures: Pictures,
    folder: Folder,
    colours: Mapping[str, Colour],
) -> EditImages:
    bits = edit.intended.sample.bits
    trouble: list[str] = []
    before = _try(trouble, pictures.before, edit)
    if before is None:
        return EditImages(trouble="; ".join(trouble) or "the picture is not there")
    height, width = before.shape[:2]
    top = data_range(before, bits)
    after = _fit(_try(trouble, pictures.after, edit), before, bits)
    wanted = None
    if (reference := edit.intended.reference) is not None:
        wanted = _fit(_try(trouble, read_picture, reference), before, bits)
    may, keep = (
        _region(_try(trouble, mask, edit), width, height)
        for mask in (pictures.edit_mask, pictures.keep_mask)
    )
    layers = [(may, EDIT_LINE), (keep, KEEP_LINE)]
    change = None if after is None else signed_change(before, after, top)
    return EditImages(
        width,
        height,
        _picture(folder, to_bytes(before, top)),
        "" if after is None else _picture(folder, to_bytes(after, top)),
        "" if change is None else _picture(folder, colour_change(change)),
        "" if wanted is None else _picture(folder, to_bytes(wanted, top)),
        _outlines(folder, [(mask, line) for mask, line in layers if mask is not None]),
        may is not None,
        keep is not None,
        {} if after is None else _predicted(outcome, edit, pictures, folder, colours, before),
        (None, None, None) if change is None else mean_changes(change, may, keep),
        "; ".join(dict.fromkeys(trouble)),
    )


def _try(trouble: list[str], get: Callable[..., Any], *of: Any) -> Any:
    try:
        return get(*of)
    except MedebenchError as error:
        trouble.append(one_line(str(error)))
        return None


def _fit(picture: Picture | None, like: Picture, bits: int | None) -> Picture | None:
    return None if picture is None else match(picture, like, bits)


def _region(mask: Bools | None, width: int, height: int) -> Bools | None:
    if mask is None:
        return None
    grey = np.where(mask, np.uint8(255), np.uint8(0))
    return np.asarray(resize_mask(grey, width, height) > 127)


def signed_change(before: Picture, after: Picture, top: int) -> NDArray[np.float32]:
    """Mean over channels of after - before, as a share of the range."""
    difference = cv2.subtract(after, before, dtype=cv2.CV_32F)
    return np.asarray(difference.mean(axis=2) / np.float32(top), np.float32)


def mean_changes(
    change: NDArray[np.float32], edit: Bools | None, keep: Bools | None
) -> tuple[float | None, float | None, float | None]:
    """Mean |change| where it was allowed, where it was forbidden, and elsewhere."""
    size = np.abs(change)
    none = np.zeros(change.shape, np.bool_)
    may = ~none if edit is None else edit
    must = none if keep is None else keep
    parts = (may & ~must, must, ~may & ~must)
    inside, kept, rest = (float(size[part].mean()) if part.any() else None for part in parts)
    return inside, kept, rest


def colour_change(change: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The colours of `CHANGE_STOPS`, from -`FULL_CHANGE` to +`FULL_CHANGE`."""
    small = shrink(change, LARGE)
    place = np.clip(small / FULL_CHANGE * 127 + 127, 0, 254)
    return np.asarray(_ramp()[np.round(place).astype(np.uint8)], np.uint8)


def _ramp() -> NDArray[np.uint8]:
    stops = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in CHANGE_STOPS])
    # An odd number of steps: there is one for no change.
    at, knots = np.linspace(0, 1, 255), np.linspace(0, 1, len(stops))
    return np.round(np.stack([np.interp(at, knots, s) for s in stops.T], axis=1)).astype(np.uint8)


def _picture(folder: Folder, shown: NDArray[np.uint8]) -> str:
    """Write the views of a picture that are not there yet; their common name."""
    large = np.ascontiguousarray(shrink(shown, LARGE))
    key = key_of("stress", str(large.shape), sha256(large.tobytes()))
    if not folder.has(name := f"assets/pictures/{key}.webp"):
        folder.write(name, webp(large, 90))
    folder.keep(name)
    if max(large.shape[:2]) > SMALL:
        if not folder.has(small := f"assets/small/{key}.webp"):
            folder.write(small, webp(shrink(large, SMALL), 80))
        folder.keep(small)
    return key


def _predicted(
    outcome: StressOutcome,
    edit: EditOutcome,
    pictures: Pictures,
    folder: Folder,
    colours: Mapping[str, Colour],
    before: Picture,
) -> dict[str, str]:
    if outcome.task != "segmentation":
        return {}
    height, width = before.shape[:2]
    path = edit.intended.sample.mask
    found = None if path is None else _try([], read_mask, path)
    truth = _region(None if found is None else found > 127, width, height)
    names = {}
    for one in outcome.predictors:
        mask = _region(_try([], pictures.predicted, edit, one.name), width, height)
        if mask is None:
            continue
        layers = [(mask, (colours[one.name].dark, "#000", ""))]
        if truth is not None:
            layers.append((truth, TRUTH_LINE))
        names[one.name] = _outlines(folder, layers)
    return names


def _outlines(folder: Folder, layers: list[tuple[Bools, tuple[str, str, str]]]) -> str:
    layers = [(mask, line) for mask, line in layers if mask.any()]
    if not layers:
        return ""
    parts = [part for mask, line in layers for part in (sha256(np.packbits(mask).tobytes()), *line)]
    key = key_of("stress outlines", str(layers[0][0].shape), *parts)
    if not folder.has(name := f"assets/outlines/{key}.svg"):
        folder.write(name, outlines_svg(layers))
    folder.keep(name)
    return key


def outlines_svg(layers: list[tuple[Bools, tuple[str, str, str]]]) -> str:
    """Borders of masks as vectors, each with a halo so that it shows on any grey."""
    height, width = layers[0][0].shape
    line = 'fill="none" stroke-linejoin="round" vector-effect="non-scaling-stroke"'
    parts = []
    for mask, (colour, halo, dashes) in layers:
        path = contour_path(mask)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        parts.append(
            f'<path d="{path}" {line} stroke="{halo}" stroke-opacity=".75" stroke-width="2.8"/>'
            f'<path d="{path}" {line} stroke="{colour}" stroke-width="1.4"{dashed}/>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-.5 -.5 {width} {height}" '
        f'preserveAspectRatio="none">{"".join(parts)}</svg>\n'
    )
