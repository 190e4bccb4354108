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

#: A mask, and how its border is drawn: colour, halo, dashes.
Layer = tuple[Bools, tuple[str, str, str]]
LARGE, SMALL = 512, 256
#: A change by this share of the data range is drawn at full strength.
FULL_CHANGE = 0.25
#: From much darker over unchanged to much brighter; the lightness grows all the way, so that the
#: map can be read in grey as well.
CHANGE_STOPS = ("#0a2450", "#3f76b0", "#9a9a9a", "#e8a838", "#fff1b8")
#: Light and solid, dark and dashed; one is told from the other in grey.
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
    writer = _Writer(outcome, pictures, folder, colours)
    found = {}
    for done, edit in enumerate(outcome.edits, 1):
        found[edit.intended.id] = writer.write(edit)
        progress(done, len(outcome.edits))
    return found


@dataclass(frozen=True)
class _Writer:
    outcome: StressOutcome
    pictures: Pictures
    folder: Folder
    colours: Mapping[str, Colour]

    def write(self, edit: EditOutcome) -> EditImages:
        pictures, bits = self.pictures, edit.intended.sample.bits
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
            self._picture(to_bytes(before, top)),
            "" if after is None else self._picture(to_bytes(after, top)),
            "" if change is None else self._picture(colour_change(change)),
            "" if wanted is None else self._picture(to_bytes(wanted, top)),
            self._outlines([(mask, line) for mask, line in layers if mask is not None]),
            may is not None,
            keep is not None,
            {} if after is None else self._predicted(edit, width, height),
            (None, None, None) if change is None else mean_changes(change, may, keep),
            "; ".join(dict.fromkeys(trouble)),
        )

    def _picture(self, shown: NDArray[np.uint8]) -> str:
        """Write the views of a picture that are not there yet; their common name."""
        large = np.ascontiguousarray(shrink(shown, LARGE))
        key = key_of("stress", str(large.shape), sha256(large.tobytes()))
        self._keep(f"assets/pictures/{key}.webp", lambda: webp(large, 90))
        if max(large.shape[:2]) > SMALL:
            self._keep(f"assets/small/{key}.webp", lambda: webp(shrink(large, SMALL), 80))
        return key

    def _predicted(self, edit: EditOutcome, width: int, height: int) -> dict[str, str]:
        if self.outcome.task != "segmentation":
            return {}
        path = edit.intended.sample.mask
        found = None if path is None else _try([], read_mask, path)
        truth = _region(None if found is None else found > 127, width, height)
        names = {}
        for one in self.outcome.predictors:
            mask = _region(_try([], self.pictures.predicted, edit, one.name), width, height)
            if mask is None:
                continue
            layers = [(mask, (self.colours[one.name].dark, "#000", ""))]
            if truth is not None:
                layers.append((truth, TRUTH_LINE))
            names[one.name] = self._outlines(layers)
        return names

    def _outlines(self, layers: list[Layer]) -> str:
        layers = [(mask, line) for mask, line in layers if mask.any()]
        if not layers:
            return ""
        parts = [
            part for mask, line in layers for part in (sha256(np.packbits(mask).tobytes()), *line)
        ]
        key = key_of("stress outlines", str(layers[0][0].shape), *parts)
        self._keep(f"assets/outlines/{key}.svg", lambda: outlines_svg(layers))
        return key

    def _keep(self, name: str, make: Callable[[], str | bytes]) -> None:
        if not self.folder.has(name):
            self.folder.write(name, make())
        self.folder.keep(name)


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


def outlines_svg(layers: list[Layer]) -> str:
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
