"""A picture's frame with its masks: on the picture's grid, and as the model's cells."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.cases.open_case import OpenCase
from medebench.images.picture import Picture
from medebench.systems.diffusion.model_frame import Frame, eight_bits
from medebench.systems.radedit.mask_sources import Given, Region, Sources, to_cells
from medebench.systems.request import Refused


@dataclass(frozen=True, eq=False)
class Framed(Frame):
    #: Pixels that are put back at the end, if `original` is there.
    keep: Region | None = None
    #: Cells of the model, (height, width); None: edited everywhere, kept nowhere.
    edit_cells: Region | None = None
    keep_cells: Region | None = None
    #: The input in 8 bits, where its pixels are put back under the keep mask.
    original: Picture | None = None
    #: For the ledger: who gave the masks, and how much of the picture they are.
    told: dict[str, Any] = field(default_factory=dict)

    def from_model(self, values: NDArray[Any]) -> Picture:
        picture = super().from_model(values)
        if self.original is None or self.keep is None:
            return picture
        return np.where(self.keep[..., None], self.original, picture)


def framed(frame: Frame, case: OpenCase, sources: Sources, cell: int) -> Framed:
    """The masks of a case in its frame; `Refused` where there is nothing to edit.

    A cell is edited or kept if any of its pixels is to be: nothing of either mask is lost. Where
    both claim a cell, it is kept.
    """
    settings = sources.settings
    own = {one.name: getattr(frame, one.name) for one in fields(frame)}
    if settings.masks == "none":
        return Framed(**own, told={"masks": "none"})
    edit, keep = sources.find(case)
    if edit is None:
        raise Refused(_no_edit_mask(sources))
    if settings.masks == "edit":
        keep = None
    elif settings.masks == "complement":
        keep = Given(~edit.region, "complement of the edit mask")
    shape = (frame.canvas[1] // cell, frame.canvas[0] // cell)
    edited = to_cells(edit.region, shape)
    kept = None if keep is None else _kept(keep, edited, shape, settings.masks == "complement")
    if not edited.any():
        raise Refused("the edit mask is empty: nothing may change")
    if kept is not None and kept.all():
        raise Refused("the keep mask is the whole picture: nothing may change")
    if kept is not None:
        edited = edited & ~kept
        if not edited.any():
            raise Refused("the keep mask covers the edit mask: nothing may change")
    told: dict[str, Any] = {"masks": settings.masks, "edit_mask": edit.origin}
    told |= {"keep_mask": "none" if keep is None else keep.origin}
    told |= {"edited": _share(edited), "kept": 0.0 if kept is None else _share(kept)}
    original = None
    if settings.paste and keep is not None:
        original = eight_bits(case.previous, case.data_range)
    return Framed(
        **own,
        keep=None if keep is None else keep.region,
        edit_cells=edited,
        keep_cells=kept,
        original=original,
        told=told,
    )


def _kept(keep: Given, edited: Region, shape: tuple[int, int], complement: bool) -> Region:
    # Cells on the border belong to the edit mask here: what is its complement follows it.
    return ~edited if complement else to_cells(keep.region, shape)


def _share(cells: Region) -> float:
    return round(float(cells.mean()), 6)


def _no_edit_mask(sources: Sources) -> str:
    settings = sources.settings
    looked = [
        *(["the segmenter gave none"] if settings.segmenter else []),
        *([f"{settings.edit_masks} has none for it"] if settings.edit_masks else []),
        "the case has no ROI",
    ]
    return f"no edit mask: {', '.join(looked)}; give one, or use masks=none"
