"""Masks of an edit: where the picture may change, and what must stay."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.cases.phantoms.chest import ChestPhantom
from medebench.cases.phantoms.chest.spec import Anatomy

Region = NDArray[np.bool_]

#: In pixels of a picture of 128: how far an edit reaches beyond the organ, and how wide the seam is
#: between what may be edited and what must stay, which may adapt to both.
REACH, SEAM = 3, 4

#: Where a pacemaker's can comes to lie, in half widths of the picture from the body's middle.
_CHEST = ((0.40, 0.78), (-0.54, -0.20))


def grown(region: Region, pixels: int) -> Region:
    """With all that is `pixels` away or less."""
    away = cv2.distanceTransform((~region).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    return np.asarray(away <= pixels) if region.any() else region.copy()


def edit_and_keep(where: Region, drawn: ChestPhantom, *kept: Region) -> tuple[Region, Region]:
    """`where` and a little more may change; the rest beyond a seam, the letter and `kept` stay."""
    size = len(where)
    reach, seam = (round(one * size / 128) for one in (REACH, SEAM))
    may = grown(where, reach)
    stays = ~grown(may, seam) | drawn.masks["marker"] | drawn.masks["border"]
    for one in kept:
        stays |= one
    return may & ~stays, stays


def upper_chest(anatomy: Anatomy, size: int) -> Region:
    """A box on the patient's left, below the clavicle."""
    at = (np.arange(size) + 0.5) / size * 2.0 - 1.0
    inside = [
        (at >= low * anatomy.scale + shift) & (at <= high * anatomy.scale + shift)
        for (low, high), shift in zip(_CHEST, anatomy.shift, strict=True)
    ]
    return np.asarray(inside[1][:, None] & inside[0][None, :])
