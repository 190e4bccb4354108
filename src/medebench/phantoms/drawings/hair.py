"""Hair: thinning crown, receding hairline, bald patch."""

from __future__ import annotations

import numpy as np

from medebench.phantoms.drawings.phantom_spec import Draw, Params, Task, Words, common, side, stage
from medebench.phantoms.drawings.portrait import Edit, portrait, sample_face
from medebench.phantoms.drawings.scalp import Density, back_view, crown_view
from medebench.phantoms.drawings.shapes import smoothstep
from medebench.phantoms.drawings.stage import Field, Image


def _full(x: Field, y: Field) -> Field:
    return np.ones_like(x)


def _sample(d: Draw) -> Params:
    p = common(d)
    p["hair"] = d.whole(0, 2) if p["tone"] > 0.5 else d.whole(0, 6)
    p["swirl"] = d.real(0.5, 1.2) * d.sign()
    p["comb"] = d.real(-0.3, 0.3)
    p["ring"] = d.real(40.0, 62.0)
    p["shirt"] = d.whole(0, 7)
    p["severity"] = d.real(0.0, 1.0)
    return p


def _sample_crown(d: Draw) -> Params:
    p = _sample(d)
    p["middle"], p["extent"] = 126.0, [84.0, 100.0]
    p["whorl"] = [d.real(118, 138), d.real(104, 126)]
    return p


def _sample_back(d: Draw) -> Params:
    p = _sample(d)
    p["middle"], p["extent"] = 110.0, [80.0, 92.0]
    p["whorl"] = [d.real(120, 136), d.real(48, 60)]
    p["ring"] = d.real(26.0, 44.0)
    p["patch"] = [d.real(98, 158), d.real(82, 128), d.real(24, 34), d.real(22, 30)]
    return p


def _sample_line(d: Draw) -> Params:
    p = common(d)
    sample_face(d, p)
    p["face"]["long"] = False
    p["severity"] = d.real(0.0, 1.0)
    return p


def _crown(p: Params) -> tuple[Image, Image]:
    st = stage(p)
    wx, wy = p["whorl"]
    low = 0.05 + 0.10 * (1 - p["severity"])
    size = 30.0 + 10.0 * p["severity"]

    def thin(x: Field, y: Field) -> Field:
        far = np.sqrt(((x - wx) / 1.0) ** 2 + ((y - wy) / 1.25) ** 2)
        share = smoothstep(size * 0.50, size * 1.35, far)
        return np.asarray(share + low * (1.0 - share))

    return crown_view(st, p, thin), crown_view(st, p, _full)


def _patch_density(p: Params) -> Density:
    cx, cy, rx, ry = p["patch"]

    def bald(x: Field, y: Field) -> Field:
        angle = np.arctan2(y - cy, x - cx)
        rough = 1.0 + 0.07 * np.sin(3 * angle + p["swirl"]) + 0.04 * np.sin(7 * angle)
        far = np.sqrt(((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2) / rough
        return smoothstep(0.90, 1.15, far)

    return bald


def _patch(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 122.0))
    return back_view(st, p, _patch_density(p)), back_view(st, p, _full)


def _line(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 96.0), 1.22)
    gone = round(0.80 + 0.25 * p["severity"], 4)
    return portrait(st, p, Edit(recede=gone)), portrait(st, p, Edit())


def _where(p: Params) -> Words:
    return {"side": side(p, "right" if p["patch"][0] > 128 else "left")}


TASKS = (
    Task("Hair", "Increase hair density", _sample_crown, _crown),
    Task("Hair", "Restore receding hairline", _sample_line, _line),
    Task("Hair", "Cover bald patch", _sample_back, _patch, _where),
)
