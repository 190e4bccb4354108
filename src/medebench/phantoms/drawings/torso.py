"""Torso: front view; wide waist, abdominal scar."""

from __future__ import annotations

import numpy as np

from medebench.phantoms.drawings import shapes
from medebench.phantoms.drawings.light import (
    backdrop,
    cast,
    mix,
    photo,
    shade,
    skin,
    skin_tone,
    tint,
)
from medebench.phantoms.drawings.marks import scar_fields
from medebench.phantoms.drawings.phantom_spec import (
    BACKDROPS,
    Draw,
    Params,
    Task,
    Words,
    common,
    stage,
)
from medebench.phantoms.drawings.stage import Field, Image, Light, Stage


def _sample(d: Draw) -> Params:
    p = common(d)
    p["garment"] = d.whole(0, 7)
    p["top"] = d.flip()
    p["build"] = d.real(-1.0, 1.0)
    p["wide"] = d.real(0.75, 1.15)
    p["scar"] = d.whole(0, 2)
    p["width"] = d.real(3.6, 5.0)
    p["bow"] = [d.real(-3, 3), d.real(-3, 3)]
    p["stitches"] = d.whole(7, 11)
    return p


def _outline(p: Params, fat: float) -> list[tuple[float, float]]:
    b = 3.0 * p["build"]
    right = [(141, -20), (143, 8), (160, 20), (190, 26), (211, 37), (220, 58), (222, 80),
             (219, 98), (212, 106), (202, 106), (196, 102), (190, 114), (181 + b + 9 * fat, 138),
             (177 + b + 21 * fat, 164), (182 + b + 19 * fat, 190), (190 + b + 9 * fat, 214),
             (196 + b + 2 * fat, 240), (196 + b, 300)]  # fmt: skip
    return [*right, *((256 - x, y) for x, y in reversed(right))]


def _relief(st: Stage, mask: Field, fat: float) -> Field:
    g = st.gauss
    h = 42 * st.inflate(mask, 26)
    for s in (-1, 1):
        h = h + 7 * g(128 + s * 32, 82, 21, 15, s * 0.25) + 3 * g(128 + s * 60, 40, 18, 14)
        bone = [(128 + s * 9, 31), (128 + s * 40, 25), (128 + s * 70, 27)]
        collar = st.stroke(bone, 4.5, soft=2.0)
        h = h + 3.2 * collar - 2.5 * g(128 + s * 32, 36, 18, 4)
        line = [(128 + s * 6, 100), (128 + s * 30, 107), (128 + s * 56, 98)]
        under = st.stroke(line, (2, 5, 2), soft=2.5)
        h = h - 3.5 * under * (1 - 0.4 * fat)
        line = [(128 + s * 4, 110), (128 + s * 20, 124), (128 + s * 42, 146)]
        arch = st.stroke(line, (3, 5, 3), soft=3.0)
        h = h + 2.2 * arch * (1 - fat)
        h = h - 2.6 * g(128 + s * 34, 226, 5, 26, s * 0.55) + 3.5 * g(128 + s * 52, 212, 12, 14)
        for k in range(3):
            h = h + 1.5 * g(128 + s * 12, 136 + 20 * k, 9, 8) * (1 - 0.9 * fat)
    h = h - 1.3 * g(128, 120, 3.0, 36) - 1.9 * g(128, 80, 4.0, 26) - 4 * g(128, 24, 7, 6)
    belly = 15 * g(128, 178, 40, 34) * fat + 4 * g(128, 186, 30, 26)
    h = h + belly - 4.5 * g(128, 183, 3.4, 4.4) + 1.4 * g(128, 176.5, 7, 2.2)
    if fat > 0:
        for s in (-1, 1):
            roll = st.stroke([(128 + s * 74, 150), (128 + s * 58, 156), (128 + s * 36, 156)],
                             (4, 4, 0.5), soft=2.0)  # fmt: skip
            fold = st.stroke([(128 + s * 72, 206), (128 + s * 44, 214), (128 + s * 10, 214)],
                             (4, 4, 2), soft=2.2)  # fmt: skip
            h = h - 4.0 * fat * roll - 4.0 * fat * fold + 6 * fat * g(128 + s * 56, 180, 16, 18)
    return h


def _arms(st: Stage, p: Params, image: Image, base: Field, light: Light) -> Image:
    """Arms over the body; above the armpit they melt into the shoulder."""
    for s in (-1, 1):
        arm = st.poly([(128 + s * a, b) for a, b in shapes.OUTLINES["torso arm"]])
        cover = arm * shapes.smoothstep(46.0, 86.0, st.v)
        image = image * (1 - 0.32 * st.blur(cover, 4.0) * (1 - cover))[..., None]
        height = 24 * st.inflate(arm, 9) * st.zoom
        image = mix(image, skin(st, base, height, light, blood=0.04, pores=0.5), cover)
    return image


def _torso(
    st: Stage, p: Params, fat: float, marks: tuple[Field, Field, Field] | None = None
) -> Image:
    base = skin_tone(p)
    light = (p["light"][0], p["light"][1] * 0.8, p["light"][2])

    image = st.once("behind", lambda: backdrop(st, p["backdrop"]))
    mask = st.poly(_outline(p, fat))
    image = cast(image, mask, 0, 4, 7, 0.4)
    height = st.once(f"relief {fat}", lambda: _relief(st, mask, fat))
    g = st.gauss
    blood = 0.05 * g(128, 70, 40, 30)
    navel = g(128, 183, 2.6, 3.6)
    melanin = 0.9 * navel + 0.10 * g(128, 215, 3, 18)
    blood = blood + 0.5 * navel
    for s in () if p["top"] else (-1, 1):
        areola = st.ellipse(128 + s * 36, 90, 6.2, 5.4, soft=0.9)
        blood = blood + 0.35 * areola * (1 - 0.4 * p["tone"])
        melanin = melanin + (0.28 + 0.25 * p["tone"]) * areola
        height = height + 1.3 * g(128 + s * 36, 90, 1.6)
    if marks is not None:
        blood, melanin, height = blood + marks[0], melanin + marks[1], height + marks[2]
    body = skin(st, base, height * st.zoom, light, blood=blood, melanin=melanin, pores=0.55,
                gloss=0.12, ambient=0.40)  # fmt: skip
    image = mix(image, body, mask)
    cloth = shade((height * 0.9 + 1.2 * st.fractal("cloth-fold", 20, 3)) * st.zoom, light)[0]
    weave = 1 + 0.03 * st.grain("weave")
    wear = BACKDROPS[p["garment"]] * ((0.35 + 0.7 * cloth) * weave)[..., None]
    sag = 226 + 5 * (1 - ((st.u - 128) / 80) ** 2)
    pants = mask * shapes.smoothstep(-0.8, 0.8, (st.v - sag) * st.zoom)
    band = pants * shapes.smoothstep(9.0, 8.0, st.v - sag)
    shadow = mask * np.exp(-np.clip(sag - st.v, 0, None) / 2.5) * (st.v < sag)
    image = tint(image, 0.10 * shadow, 0.35 * shadow)
    image = mix(image, wear, pants)
    image = image * (1 - 0.25 * band)[..., None]
    if p["top"]:
        image = _bandeau(st, image, mask, wear)
    return photo(st, _arms(st, p, image, base, light))


def _bandeau(st: Stage, image: Image, mask: Field, wear: Image) -> Image:
    """A sports top: wide straps and a band across the chest."""
    low = 112 + 3 * ((st.u - 128) / 60) ** 2
    side = np.abs(st.u - 128)
    neck = 58 + 22 * np.exp(-((side / 20) ** 4))
    armhole = 70 - 27 * np.exp(-(((st.v - 58) / 30) ** 2))
    chest = shapes.smoothstep(0.8, -0.8, st.v - low) * shapes.smoothstep(-0.8, 0.8, st.v - neck)
    chest = chest * shapes.smoothstep(0.8, -0.8, side - armhole)
    straps = np.zeros_like(low)
    for s in (-1, 1):
        path = [(128 + s * 33, 72), (128 + s * 33, 40), (128 + s * 28, 6)]
        straps = np.maximum(straps, st.stroke(path, (24, 17, 15)))
    top = np.clip(chest + straps, 0, 1) * mask
    edge = np.clip(st.blur(top, 1.6) - top, 0, 1)
    image = tint(image, 0.1 * edge, 0.5 * edge * mask)
    hem = top * shapes.smoothstep(7.0, 6.0, np.abs(low - 3 - st.v) * 1.6)
    return mix(image, wear, top) * (1 - 0.18 * hem)[..., None]


def _waist(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 134.0), 1.0)
    return _torso(st, p, p["wide"]), _torso(st, p, 0.0)


def _scar(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 140.0), 1.22)
    a, b = p["bow"]
    path = ([(124 + a * 0.3, 118), (123 + b * 0.4, 140), (122, 165), (119, 184), (123, 200),
             (125, 214)], [(96 + a, 190 + b), (90, 200), (84 + b, 209), (76 + a, 215)],
            [(122 + a, 128 + b), (140, 134), (158, 145 + a), (168, 158)])[p["scar"]]  # fmt: skip
    stitches = p["stitches"] if p["scar"] == 0 else 5
    marks = scar_fields(st, path, p["width"] * 0.8, stitches)
    return _torso(st, p, 0.0, marks), _torso(st, p, 0.0)


def _where(p: Params) -> Words:
    flank = "right" if p["mirror"] else "left"
    return {"where": ("down the middle of the abdomen", f"on the lower {flank} abdomen",
                      "below the ribs")[p["scar"]]}  # fmt: skip


TASKS = (
    Task("Torso", "Slim the waist", _sample, _waist),
    Task("Torso", "Remove surgical scar", _sample, _scar, _where),
)
