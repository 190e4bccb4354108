"""Two masks for an editor: where a picture may change, and what must stay as it is."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.chest.chest_renderer import ChestPhantom
from medebench.phantoms.chest.chest_spec import Device, Finding

Region = NDArray[np.bool_]

#: In pixels of a picture of 128: how far an edit reaches beyond the lung or the device, and how
#: wide the seam is between what may change and the rest, which may adapt to both.
REACH, SEAM = 3, 4


def edit_and_keep(
    thing: Finding | Device, having: ChestPhantom, without: ChestPhantom
) -> tuple[Region, Region]:
    """Masks for an edit of one phantom into the other; where both lie, the picture stays.

    All that changes may change: the lungs concerned, or a box around a device, and a little more.
    The rest of the picture beyond a seam stays, so do the letter, the border, and all other devices
    as far as they are seen; those that cross an edited device, not at the crossing.
    """
    changed = having.masks[thing.name]
    where = _box(changed) if isinstance(thing, Device) else having.masks[_organ(thing)]
    reach, seam = (round(one * len(changed) / 128) for one in (REACH, SEAM))
    may = grown(where, reach) | changed
    stays = having.masks["marker"] | having.masks["border"]
    for device in without.spec.devices:
        stays |= having.cores[device.name] | without.cores[device.name]
    if isinstance(thing, Device):
        stays &= ~changed
    return may, stays | ~grown(may, seam)


def grown(region: Region, pixels: int) -> Region:
    """With all that is `pixels` away or less."""
    away = cv2.distanceTransform((~region).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    return np.asarray(away <= pixels) if region.any() else region.copy()


def _organ(finding: Finding) -> str:
    return "lungs" if finding.side == "both" else f"{finding.side} lung"


def _box(region: Region) -> Region:
    rows, columns = np.nonzero(region)
    box = np.zeros_like(region)
    box[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1] = True
    return box
