"""Overlays: where an editor changed the picture, or looked, against the region of interest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.cases import Case, OpenCase, open_case
from medebench.errors import MedebenchError
from medebench.files import read_bytes, sha256
from medebench.grounding import hot_region
from medebench.grounding.maps import read_map
from medebench.grounding.regions import read_region
from medebench.metrics import Undefined
from medebench.parallel import in_parallel
from medebench.report.collect import Material
from medebench.report.findings import Found
from medebench.report.folder import Folder
from medebench.report.palette import REGION, ROI, SHARED
from medebench.report.pictures import contour_path, key_of

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

    @property
    def name(self) -> str:
        return f"assets/overlay/{self.key}.svg"


@dataclass(frozen=True)
class _Work:
    case: Case
    items: tuple[tuple[Place, Overlay, Path], ...]


def draw_overlays(
    material: Material, found: Sequence[Found], folder: Folder, workers: int | None
) -> dict[Place, tuple[Overlay, ...]]:
    """What every grounded output changed and, where its editor shows it, where it looked."""
    groups: dict[str, list[tuple[Place, Overlay, Path]]] = {}
    for one in found:
        case, sha = material.cases.get(one.case), one.entry.outputs[one.case, one.k].sha256
        if case is None or case.roi is None or sha is None:
            continue
        for kind, path in _candidates(one):
            digest = material.places[one.case][2]
            key = key_of("overlay", kind, digest, sha256(read_bytes(path)))
            place = one.entry.index, one.case, one.k
            groups.setdefault(one.case, []).append((place, Overlay(key, kind), path))
    work = [_Work(material.cases[key], tuple(items)) for key, items in groups.items()]
    drawn: dict[Place, tuple[Overlay, ...]] = {}
    for some in in_parallel(partial(_draw, folder), work, workers):
        for place, overlay in some:
            drawn[place] = (*drawn.get(place, ()), overlay)
            folder.keep(overlay.name)
    return dict(sorted(drawn.items()))


def _candidates(one: Found) -> list[tuple[str, Path]]:
    run, where = one.entry.run, (one.case_id, one.k)
    found = []
    if one.evidence.change_area is not None:
        found.append(("change", run.change_path(*where)))
    if one.evidence.attention_iou is not None:
        found.append(("attention", run.attention_path(*where)))
    return [(kind, path) for kind, path in found if path.is_file()]


def _draw(folder: Folder, work: _Work) -> list[tuple[Place, Overlay]]:
    case, drawn = open_case(work.case), []
    for place, overlay, path in work.items:
        try:
            if not folder.has(overlay.name):
                svg = overlay_svg(case.roi, _region(case, overlay.kind, path))
                folder.write(overlay.name, svg)
        except (MedebenchError, Undefined):
            continue  # no overlay; the finding is shown without
        drawn.append((place, overlay))
    return drawn


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
