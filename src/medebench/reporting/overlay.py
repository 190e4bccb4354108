"""Overlays: where an editor changed the picture, or looked, against the region of interest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.cases import OpenCase
from medebench.errors import MedebenchError
from medebench.files import read_bytes, sha256
from medebench.grounding import hot_region
from medebench.grounding.attention_files import read_map, read_region
from medebench.metrics import Undefined
from medebench.page.palette import REGION, ROI, SHARED
from medebench.page.web_images import contour_path, key_of
from medebench.reporting.collect import Material
from medebench.reporting.run_findings import Found

Bools = NDArray[np.bool_]
#: Parts and holes that get no outline, as a share of the frame: they would be all outline.
SPECK = 0.001
#: (entry, case key, k)
Place = tuple[int, str, int]


@dataclass(frozen=True)
class Overlay:
    key: str
    #: "attention" or "change"
    kind: str


@dataclass(frozen=True)
class Wanted:
    """An overlay, the output it belongs to, and the file that holds the region."""

    place: Place
    overlay: Overlay
    path: Path


def plan_overlays(material: Material, found: Sequence[Found]) -> dict[str, list[Wanted]]:
    """By case, what every grounded output changed and, where its editor shows it, looked at."""
    wanted: dict[str, list[Wanted]] = {}
    for one in found:
        case, sha = material.cases.get(one.case), one.entry.outputs[one.case, one.k].sha256
        if case is None or case.roi is None or sha is None:
            continue
        for kind, path in _candidates(one):
            digest = material.places[one.case][2]
            key = key_of("overlay", kind, digest, sha256(read_bytes(path)))
            place = one.entry.index, one.case, one.k
            wanted.setdefault(one.case, []).append(Wanted(place, Overlay(key, kind), path))
    return wanted


def _candidates(one: Found) -> list[tuple[str, Path]]:
    run, where = one.entry.run, (one.case_id, one.k)
    found = []
    if one.evidence.change_area is not None:
        found.append(("change", run.change_path(*where)))
    if one.evidence.attention_iou is not None:
        found.append(("attention", run.attention_path(*where)))
    return [(kind, path) for kind, path in found if path.is_file()]


def draw_overlay(case: OpenCase, wanted: Wanted) -> str | None:
    """None where it cannot be drawn; the finding is then shown without."""
    try:
        return overlay_svg(case.roi, _region(case, wanted.overlay.kind, wanted.path))
    except (MedebenchError, Undefined):
        return None


def _region(case: OpenCase, kind: str, path: Path) -> Bools:
    if kind == "attention":
        return hot_region(read_map(path, *case.roi.shape))
    return read_region(path, *case.roi.shape)


def overlay_svg(roi: Bools, region: Bools) -> str:
    """Red: the ROI alone, green: the region alone, yellow: both.

    Translucent, so that the picture stays visible, and told apart without colour as well: the ROI
    has a dashed outline, the region a solid one.
    """
    height, width = roi.shape
    fill = 'fill-rule="evenodd" stroke="none"'
    line = 'fill="none" stroke-linejoin="round" vector-effect="non-scaling-stroke"'
    first, second = contour_path(roi, SPECK), contour_path(region, SPECK)
    parts = [
        f'<path d="{contour_path(mask)}" {fill} fill="{colour}" fill-opacity="{strength}"/>'
        for mask, colour, strength in (
            (roi & ~region, ROI, 0.34),
            (region & ~roi, REGION, 0.34),
            (roi & region, SHARED, 0.44),
        )
        if mask.any()
    ]
    if region.any():
        parts.append(f'<path d="{second}" {line} stroke="{REGION}" stroke-width="1.3"/>')
    parts.append(f'<path d="{first}" {line} stroke="#fff" stroke-width="2.6"/>')
    dashes = 'stroke-dasharray="5 3"'
    parts.append(f'<path d="{first}" {line} {dashes} stroke="{ROI}" stroke-width="2"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-.5 -.5 {width} {height}" '
        f'preserveAspectRatio="none">{"".join(parts)}</svg>\n'
    )
