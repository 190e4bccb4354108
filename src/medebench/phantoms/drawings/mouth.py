"""Mouth: cleft lip, thin lips and a lip ulcer."""

from __future__ import annotations

import numpy as np

from medebench.phantoms.drawings.light import mix, skin_tone, tint
from medebench.phantoms.drawings.lips import lip_masks
from medebench.phantoms.drawings.marks import ragged_disc
from medebench.phantoms.drawings.phantom_spec import Draw, Params, Task, common, side, stage
from medebench.phantoms.drawings.portrait import Edit, portrait, sample_face
from medebench.phantoms.drawings.stage import Image, Stage


def _sample(d: Draw) -> Params:
    p = common(d)
    sample_face(d, p)
    p["near"] = d.real(0.0, 1.0)
    p["severity"] = d.real(0.0, 1.0)
    p["spot"] = [d.real(4.0, 13.0), d.real(0.26, 0.36), d.real(3.0, 4.4)]
    return p


def _stage(p: Params) -> Stage:
    return stage(p, (128.0, 183.0), 2.55 + 0.6 * p["near"])


def _cleft(p: Params) -> tuple[Image, Image]:
    st = _stage(p)
    base = skin_tone(p)
    wide = 5.2 + 2.4 * p["severity"]
    x0 = 128 - 7.5
    left = [(x0 + 0.4, 168.0), (x0 - wide * 0.35, 174), (x0 - wide * 0.62, 180), (x0 - wide, 188.0)]
    right = [(x0 + wide * 0.85, 188.3), (x0 + wide * 0.72, 180), (x0 + wide * 0.5, 174),
             (x0 + 1.4, 168.0)]  # fmt: skip
    gap = st.poly([*left, *right])
    teeth = st.ellipse(x0 + 0.8, 188.5, 4.6, 6.0, soft=0.4) * gap
    gum = st.ellipse(x0 + 0.4, 179.5, 4.6, 5.5, soft=1.2) * gap
    wide_as = (0.6, 1.8, 2.8, 4.6)
    edges = st.stroke(left, wide_as, soft=0.45) + st.stroke(right[::-1], wide_as, soft=0.45)
    border = np.clip(edges, 0, 1)
    dark = 1.0 - float(base.mean())
    lip = tint(base, 0.62 * (1 - 0.35 * dark), 0.10 + 0.22 * dark)
    texture = (0.92 + 0.05 * st.fractal("cleft", 2.0, 3))[..., None]
    shadow = st.blur(gap, 0.7)
    glint = st.gauss(x0 + wide * 0.75, 181, 0.7, 2.6, 0.1)
    glint = glint + st.gauss(x0 - wide * 0.7, 182, 0.7, 2.6)

    def over(image: Image) -> Image:
        image = mix(image, lip * texture, 0.94 * border)
        image = image + (0.14 * glint)[..., None]
        image = mix(image, np.array([0.22, 0.06, 0.06]), shadow)
        image = mix(image, np.array([0.74, 0.38, 0.37]) * texture, 0.85 * gum)
        shape = (0.95 - 0.35 * ((st.u - x0 - 0.6) / 4.5) ** 2)[..., None]
        image = mix(image, np.array([0.86, 0.81, 0.72]) * shape, 0.9 * teeth)
        image = image * (1 - 0.55 * gap * np.exp(-((st.v - 188) ** 2) / 5))[..., None]
        edge = np.clip(st.blur(gap, 0.9) - gap, 0, 1)
        return tint(image, 0.8 * edge, 0.9 * edge)

    lift = 1.6 * st.blur(border, 1.2)
    wing = 2.2 * st.gauss(x0 - 6, 163, 5, 4)  # the nostril is flattened on the cleft side
    pull = Edit(relief=lift - wing, over=over)
    return portrait(st, p, pull), portrait(st, p, Edit())


def _thin(p: Params) -> tuple[Image, Image]:
    st = _stage(p)
    full = 1.12 + 0.15 * p["severity"]
    return portrait(st, p, Edit(full=0.50)), portrait(st, p, Edit(full=full))


def _ulcer(p: Params) -> tuple[Image, Image]:
    st = _stage(p)
    dx, dy, r = p["spot"]
    cx, cy = 128 + dx, 187 + dy * 25.0 * p["face"]["lips"]
    upper, lower = lip_masks(st, p["face"]["lips"])
    lips = st.blur(np.clip(upper + lower, 0, 1), 0.6)
    sore = ragged_disc(st, cx, cy, r, "sore", 0.15) * lips
    core = ragged_disc(st, cx, cy, r * 0.68, "core", 0.18) * lips
    halo = st.gauss(cx, cy, r * 1.35)
    crust = (0.9 + 0.08 * st.fractal("crust", 1.6, 3))[..., None]
    wet = st.gauss(cx - 0.35 * r, cy - 0.4 * r, 0.22 * r)

    def over(image: Image) -> Image:
        image = tint(image, 0.65 * halo * lips + 0.25 * halo, 0.1 * halo)
        image = tint(image, 0.9 * sore, 0.35 * sore)
        image = mix(image, np.array([0.80, 0.68, 0.44]) * crust, 0.84 * st.blur(core, 0.3))
        return image + (0.12 * wet)[..., None]

    return portrait(st, p, Edit(over=over)), portrait(st, p, Edit())


TASKS = (
    Task("Mouth", "Repair cleft lip", _sample, _cleft, lambda p: {"side": side(p, "left")}),
    Task("Mouth", "Increase lip fullness", _sample, _thin),
    Task("Mouth", "Remove lip ulcer", _sample, _ulcer, lambda p: {"side": side(p, "right")}),
)
