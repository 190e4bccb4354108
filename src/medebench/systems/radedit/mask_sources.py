"""Where the two masks of a case come from: a segmenter, folders, the case itself; in this order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.cases.open_case import OpenCase
from medebench.errors import InputError, one_line
from medebench.images.picture import SUFFIXES, Picture, read_mask
from medebench.metrics.perceptual.lpips_regions import overlaps
from medebench.registry import Registry
from medebench.systems.radedit.radedit_settings import RadEditSettings
from medebench.systems.request import Refused
from medebench.weights.identity_hash import content_identity

#: Rounding of shares that are 0 in truth.
_NEAR = 1e-9


def to_cells(mask: NDArray[np.bool_], cells: tuple[int, int]) -> NDArray[np.bool_]:
    """True where `mask` covers anything of a cell.

    The grids (height, width) need not divide each other. Nothing of a mask gets lost, however thin
    a line is and however coarse the cells are. Finer grids work, too.

    >>> import numpy as np
    >>> line = np.zeros((16, 16), bool)
    >>> line[:, 7:9] = True
    >>> to_cells(line, (2, 2)).tolist()
    [[True, True], [True, True]]
    """
    rows, columns = overlaps(mask.shape[0], cells[0]), overlaps(mask.shape[1], cells[1])
    return np.asarray(rows @ mask.astype(np.float64) @ columns.T >= _NEAR)


Region = NDArray[np.bool_]
SEGMENTERS = Registry("segmenter", "medebench.segmenters", {})


@dataclass(frozen=True)
class Given:
    """A mask on the picture's grid, and who gave it."""

    region: Region
    origin: str


@dataclass(frozen=True)
class Sources:
    """All that can give masks, as the settings name it."""

    settings: RadEditSettings

    def problems(self) -> list[str]:
        """Folders that are not there, a segmenter that does not load."""
        named = {"edit_masks": self.settings.edit_masks, "keep_masks": self.settings.keep_masks}
        found = [
            f"{key}={folder}: no such folder"
            for key, folder in named.items()
            if folder and not Path(folder).expanduser().is_dir()
        ]
        if self.settings.segmenter:
            try:
                _ = self.segmenter
            except InputError as error:
                found.append(str(error))
        return found

    def identity(self) -> str:
        """What tells these masks from others; those of the cases belong to the cases."""
        said = []
        for key in ("edit_masks", "keep_masks"):
            if folder := getattr(self.settings, key):
                said.append(f"{key} {content_identity(Path(folder).expanduser())}")
        if self.settings.segmenter:
            said.append(f"segmenter {SEGMENTERS.origin(self.settings.segmenter)}")
        return ", ".join(said)

    @cached_property
    def segmenter(self) -> Callable[[Picture], Any]:
        """What the file holds; a class is called once, without anything."""
        name = self.settings.segmenter
        made = SEGMENTERS.find(name)
        if isinstance(made, type):
            try:
                made = made()
            except Exception as error:
                what = one_line(f"{type(error).__name__}: {error}")
                raise InputError(f"segmenter '{name}': cannot be made ({what})") from error
        if not callable(made):
            raise InputError(f"segmenter '{name}': is not callable; (edit, keep) = f(picture)")
        return made  # type: ignore[no-any-return]

    def find(self, case: OpenCase) -> tuple[Given | None, Given | None]:
        """Edit and keep mask of a case; `Refused` where one cannot be used."""
        edit, keep = self._segmented(case)
        edit = edit or self._from_folder(case, "edit_masks")
        keep = keep or self._from_folder(case, "keep_masks")
        if edit is None and case.case.roi is not None:
            edit = Given(case.roi, "case")
        if keep is None and case.keep is not None:
            keep = Given(case.keep, "case")
        return edit, keep

    def _from_folder(self, case: OpenCase, key: str) -> Given | None:
        if not (folder := getattr(self.settings, key)):
            return None
        # On the picture's grid, where the mask was drawn on another one; nothing of it is lost.
        shape = case.previous.shape[:2]
        for suffix in SUFFIXES:
            path = Path(folder).expanduser() / f"{case.case.id}{suffix}"
            if path.is_file():
                mask = read_mask(path) > 127
                return Given(mask if mask.shape == shape else to_cells(mask, shape), "folder")
        return None

    def _segmented(self, case: OpenCase) -> tuple[Given | None, Given | None]:
        if not self.settings.segmenter:
            return None, None
        try:
            made = self.segmenter(case.previous)
        except Exception as error:
            what = one_line(f"{type(error).__name__}: {error}", 200)
            raise Refused(f"the segmenter raised {what}") from error
        if not isinstance(made, tuple | list) or len(made) != 2:
            raise Refused(f"the segmenter returned {type(made).__name__}; (edit, keep) is needed")
        edit, keep = (
            None if one is None else Given(_as_region(one, case.previous), "segmenter")
            for one in made
        )
        return edit, keep


def _as_region(made: Any, picture: Picture) -> Region:
    """Truths, probabilities or greys: what is above half of 0..1 or of 0..255 is in."""
    values = np.asarray(made)
    height, width = picture.shape[:2]
    if values.shape != (height, width) or values.dtype.kind not in "biuf":
        raise Refused(
            f"the segmenter returned a mask of shape {values.shape}, {values.dtype}; "
            f"numbers of shape {(height, width)} are needed"
        )
    if values.dtype.kind == "b":
        return values
    if not np.isfinite(values).all():
        raise Refused("the segmenter returned a mask containing NaN")
    top = values.max(initial=0)
    return np.asarray(values > (127 if top > 1 else 0.5))
