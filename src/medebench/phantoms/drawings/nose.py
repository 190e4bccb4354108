"""Nose: scar and raw defect from the front, dorsal hump in profile."""

from __future__ import annotations

import numpy as np

from medebench.phantoms.drawings.light import mix, tint
from medebench.phantoms.drawings.marks import ragged_disc, scar_fields
from medebench.phantoms.drawings.phantom_spec import Draw, Params, Task, common, side, stage
from medebench.phantoms.drawings.portrait import Edit, portrait, sample_face
from medebench.phantoms.drawings.profile import profile
from medebench.phantoms.drawings.stage import Image


def _sample_front(d: Draw) -> Params:
    p = common(d)
    sample_face(d, p)
    p["near"] = d.real(0.0, 1.0)
    p["scar"] = [d.real(-8, -2), d.real(128, 136), d.real(-4, 6), d.real(141, 147), d.real(4, 12),
                 d.real(153, 158)]  # fmt: skip
    p["width"] = d.real(2.0, 2.9)
    p["stitches"] = d.whole(4, 7)
    p["defect"] = [d.real(6.0, 11.0), d.real(152.0, 159.0), d.real(5.6, 8.0)]
    p["face"]["gaze"] = 0.0
    return p


def _scar(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 146.0), 2.25 + 0.45 * p["near"])
    s = p["scar"]
    path = [(128 + s[0], s[1]), (128 + s[2] * 0.7 - 1, s[3]), (128 + s[4], s[5])]
    blood, melanin, relief = scar_fields(st, path, p["width"], p["stitches"])
    return portrait(st, p, Edit(blood, melanin, relief)), portrait(st, p, Edit())


def _defect(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 148.0), 2.3 + 0.45 * p["near"])
    dx, cy, r = p["defect"]
    cx = 128.0 + dx * p["face"]["nose"]
    hole = ragged_disc(st, cx, cy, r, "defect", 0.16)
    soft = st.blur(hole, 0.9)
    rim = np.clip(st.blur(hole, 1.6) - hole, 0, 1)
    flesh = (
        tint(np.array([0.80, 0.40, 0.34]), 0.25)
        * (0.78 + 0.10 * st.fractal("flesh", 2.4, 3))[..., None]
    )
    deep = st.gauss(cx - 0.8, cy - 1.2, r * 0.45)
    wet = np.clip(st.fractal("wet", 1.8, 2) - 1.3, 0, None) * hole

    def over(image: Image) -> Image:
        image = mix(image, flesh * (1 - 0.45 * deep)[..., None], 0.97 * soft)
        image = tint(image, 0.9 * rim, 0.5 * rim)
        return image + (0.4 * wet)[..., None]

    sick = Edit(blood=0.30 * st.blur(hole, 3.0), relief=-0.42 * r * soft, over=over)
    return portrait(st, p, sick), portrait(st, p, Edit())


def _sample_profile(d: Draw) -> Params:
    p = common(d)
    sample_face(d, p)
    p["hump"] = d.real(0.8, 1.25)
    p["tip"] = d.real(-2.0, 2.5)
    return p


def _hump(p: Params) -> tuple[Image, Image]:
    st = stage(p, (112.0, 140.0), 1.30)
    return profile(st, p, p["hump"]), profile(st, p, 0.0)


TASKS = (
    Task("Nose", "Remove nose scar", _sample_front, _scar),
    Task(
        "Nose",
        "Reconstruct nose defect",
        _sample_front,
        _defect,
        lambda p: {"side": side(p, "right")},
    ),
    Task("Nose", "Reduce dorsal hump", _sample_profile, _hump),
)
