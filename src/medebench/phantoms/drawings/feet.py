"""Feet: top view with toes and nails; missing toenail, bunion."""

from __future__ import annotations

import numpy as np

from medebench.phantoms.drawings.digits import Chain, build_limb, draw_nail
from medebench.phantoms.drawings.light import backdrop, cast, mix, photo, skin, skin_tone, tint
from medebench.phantoms.drawings.phantom_spec import Draw, Params, Task, Words, common, side, stage
from medebench.phantoms.drawings.shapes import rotate, smoothstep
from medebench.phantoms.drawings.stage import Image, Stage

_TOES = (([(99, 122), (94, 96), (92, 74)], [21.0, 17.5, 17.0]), ([(122, 112), (122, 88),
                                                                  (121, 68)], [12.5, 11.0, 11.4]),
         ([(140, 117), (143, 94), (143, 77)], [12.0, 10.4, 10.6]), ([(156, 126), (161, 105),
                                                                     (162, 91)],
                                                                    [11.5, 9.8, 10.0]),
         ([(169, 140), (176, 121), (178, 109)], [11.5, 9.4, 9.4]))  # fmt: skip
NAMES = ("big toe", "second toe", "third toe", "fourth toe", "little toe")


def _sample(d: Draw) -> Params:
    p = common(d)
    p["slim"] = d.real(0.95, 1.06)
    p["cloth"] = d.real(0.3, 1.0)
    p["toe"] = d.pick([0, 0, 0, 1, 2])
    p["valgus"] = d.real(0.34, 0.52)
    p["turn"] = d.real(-0.2, 0.2)
    p["sock"] = d.real(-5.0, 5.0)
    return p


def _foot(st: Stage, p: Params, bare: int, valgus: float) -> Image:
    base = skin_tone(p)
    light = (p["light"][0], p["light"][1], p["light"][2])
    toes = []
    for i, (joints, radii) in enumerate(_TOES):
        pts = [(float(x), float(y)) for x, y in joints]
        lean = valgus * (0.62, 0.16, 0.06, 0.0, 0.0)[i]
        x0, y0 = pts[0]
        turned = rotate(pts, pts[0], lean)
        if i == 0:
            turned[0] = (x0 - 5.0 * valgus, y0)
        toes.append(Chain(turned, [r * p["slim"] for r in radii]))
    bump = 9.5 * valgus
    body = [
        Chain([(128, 300), (126, 238), (108, 172), (99 - bump, 128)], [46, 44, 30, 21]),
        Chain([(140, 300), (140, 240), (150, 178), (160, 146)], [44, 40, 26, 16]),
        Chain([(130, 230), (130, 136)], [44, 24]),
    ]
    limb = build_limb(st, toes, body, 10.0, 26.0)
    mask = smoothstep(0.6, -0.6, limb.distance * st.zoom)
    image = st.once("cloth-image", lambda: backdrop(st, p["backdrop"], p["cloth"]))
    image = cast(image, mask, 8 if light[0] < 0 else -8, 8, 6, 0.6)
    height = limb.height * 0.95
    melanin = 0.75 * limb.crease
    blood = 0.45 * limb.crease + 0.14 * np.exp(-((limb.distance / 6.0) ** 2))
    for i, toe in enumerate(toes):
        x, y = toe.joints[0]
        height = height + 1.6 * st.stroke(
            [(x, y), (128 + (x - 128) * 0.8, 165), (128 + (x - 128) * 0.4, 215)], (5.0, 4.5, 3.0),
            soft=2.6)  # fmt: skip
        jx, jy = toe.joints[1]
        r = toe.radii[1]
        blood = blood + 0.24 * st.gauss(jx, jy + 2, r * 0.6)
        blood = blood + 0.12 * st.gauss(*toe.joints[2], r * 0.8)
        lines = [[(jx + q * r * 0.62, jy + 2 + m * 2.3 - 1.4 * (1 - q * q)) for q in
                  np.linspace(-1, 1, 6)] for m in range(-1, 2)]  # fmt: skip
        folds = st.blur(st.strokes(np.array(lines), np.full((3, 6), 0.8)), 0.35)
        height = height - 0.8 * folds
        melanin = melanin + 0.32 * folds
        if i:
            height = height + 1.4 * st.gauss(jx, jy, r * 0.6)
    vein = st.stroke([(150, 250), (146, 216), (128, 192), (118, 168), (112, 150)],
                     (3.6, 3.2, 2.6, 1.6, 1), soft=1.5)  # fmt: skip
    vein = vein + st.stroke([(146, 216), (152, 190), (150, 164)], (2.6, 2.0, 1.0), soft=1.4)
    height = height + 1.4 * vein
    melanin = melanin + 0.10 * vein
    if valgus > 0:
        x, y = 99 - bump - 12, 127
        height = height + 9.0 * st.gauss(x, y, 9, 11)
        blood = blood + valgus * (1.15 * st.gauss(x + 1, y, 8, 10) + 0.4 * st.gauss(x, y, 13, 15))
    foot = skin(st, base, height * st.zoom, light, blood=blood, melanin=melanin, pores=0.7,
                gloss=0.13, ambient=0.44)  # fmt: skip
    rim = np.exp(-((limb.distance + 1.0) ** 2) / 5.0)
    image = mix(image, tint(foot, 0.12 * rim, 0.22 * rim), mask)
    for i, toe in enumerate(toes):
        aspect = 0.72 if i else 0.85
        image = draw_nail(st, image, base, toe, light, f"nail{i}", i != bare, aspect)
    return photo(st, image)


def _nail(p: Params) -> tuple[Image, Image]:
    st = stage(p, (124.0, 112.0), 1.42)
    return _foot(st, p, p["toe"], 0.0), _foot(st, p, -1, 0.0)


def _bunion(p: Params) -> tuple[Image, Image]:
    st = stage(p, (127.0, 140.0), 1.12)
    return _foot(st, p, -1, p["valgus"]), _foot(st, p, -1, 0.0)


def _toe(p: Params) -> Words:
    return {"toe": NAMES[p["toe"]], "side": side(p, "left")}


TASKS = (
    Task("Feet", "Restore missing toenail", _sample, _nail, _toe),
    Task("Feet", "Correct bunion", _sample, _bunion, _toe),
)
