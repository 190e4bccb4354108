"""Ears: side view; missing upper helix, keloid on the lobe."""

from __future__ import annotations

import numpy as np

from medebench.phantoms.drawings import shapes
from medebench.phantoms.drawings.light import cast, mix, photo, shade, skin, skin_tone, tint
from medebench.phantoms.drawings.marks import ragged_disc
from medebench.phantoms.drawings.phantom_spec import Draw, Params, Task, common, stage
from medebench.phantoms.drawings.portrait import HAIR
from medebench.phantoms.drawings.stage import Field, Image, Light, Stage

_RIM = shapes.OUTLINES["ears rim"]
_CUT = shapes.OUTLINES["ears cut"]


def _sample(d: Draw) -> Params:
    p = common(d)
    p["hair"] = d.whole(0, 1) if p["tone"] > 0.5 else d.whole(0, 6)
    p["severity"] = d.real(-1.0, 1.0)
    p["keloid"] = [d.real(126, 140), d.real(200, 212), d.real(13, 19)]
    p["stretch"] = d.real(0.94, 1.06)
    p["turn"] = d.real(-0.16, 0.16)
    p["zoom"] = d.real(0.94, 1.06)
    return p


def _head(st: Stage, p: Params, base: Field, light: Light) -> Image:
    """Cheek in front, hair above and behind."""
    relief = 40 * np.exp(-(((st.u - 60) / 150) ** 2)) + 4 * st.gauss(70, 150, 30, 40)
    image = skin(st, base, relief * st.zoom, light, pores=0.9, gloss=0.10, ambient=0.42)
    colour = np.array(HAIR[p["hair"]])
    zone = st.blur(st.poly(shapes.OUTLINES["ears zone"]), 2.5)
    image = mix(image, colour * 0.55, 0.97 * zone)
    t = np.linspace(0, 1, 24)
    for level in range(6):
        rng = st.rng(f"ear-hair{level}")
        n = 520
        x, y = -30 + 320 * rng.random(n), -30 + 320 * rng.random(n)
        flow = 0.25 + 0.0052 * np.clip(x, 0, 260) + 0.0016 * np.clip(y, 0, 260)
        bend = (flow + 0.22 * (rng.random(n) - 0.5))[:, None] + 0.35 * t
        step = (36 + 30 * rng.random(n))[:, None] / 23
        path = shapes.walk(x, y, bend, step)
        ix, iy = np.clip(st.place(np.stack([x, y], -1)).astype(np.int64), 0, 255).T
        weight = np.where(zone[iy, ix] > 0.55, 0.42, 0.0)
        gloss = np.exp(-(((y - 30 + 0.3 * x) / 40) ** 2))
        alpha, tone = st.strands(path, weight, 0.6 + 0.55 * rng.random(n) + 0.4 * gloss)
        image = mix(image, colour * tone[..., None], alpha)
    return image


def _relief(st: Stage, mask: Field, cut: bool) -> Field:
    """Helix, antihelix with two crura, concha, tragus, antitragus and lobe."""
    rim = shapes.OUTLINES["ears helix"]
    helix = st.stroke(rim, (9, 13, 15, 15, 15, 16, 16, 15, 14, 12, 9), soft=2.0)
    if cut:
        helix = helix * shapes.smoothstep(100, 116, st.v)
    fold = st.stroke([(140, 182), (154, 160), (158, 132), (150, 106)], (9, 15, 17, 12), soft=3.0)
    upper = st.stroke([(152, 112), (146, 90), (136, 72)], (12, 9, 6), soft=3.0)
    lower = st.stroke([(152, 112), (134, 102), (116, 100)], (12, 8, 5), soft=2.6)
    tragus = st.gauss(106, 152, 7, 11, 0.15)
    anti = st.gauss(133, 182, 9, 6, 0.5)
    folds = np.maximum(fold, np.maximum(upper, lower) * 0.85)
    h: Field = 11 * st.inflate(mask, 6) + 9 * helix + 10 * folds
    h = h + 10 * tragus + 6 * anti + 7 * st.gauss(131, 206, 13, 13)
    h = h - 14 * st.gauss(125, 148, 14, 20, -0.15) - 5 * st.gauss(130, 116, 12, 7)
    line = [(120, 74), (140, 58), (164, 64), (174, 92), (172, 124)]
    groove = st.stroke(line, (4, 7, 8, 7, 3), soft=2.2)
    return h - (0.0 if cut else 4.5) * groove


def _ear(st: Stage, p: Params, *, cut: bool = False, keloid: bool = False) -> Image:
    base = skin_tone(p)
    light = (p["light"][0] * 0.8, p["light"][1], p["light"][2])
    image = st.once("head", lambda: _head(st, p, base, light))
    outline = _RIM
    if cut:
        drop = 6.0 * p["severity"]
        outline = [(x, y + (drop if 2 <= i <= 7 else 0)) for i, (x, y) in enumerate(_CUT)]
    mask = st.poly(outline)
    image = cast(image, mask, 5 if light[0] < 0 else -3, 7, 6, 0.55)
    height = _relief(st, mask, cut)
    g = st.gauss
    blood = 0.16 + 0.22 * np.clip(1 - st.blur(mask, 6) * 1.0, 0, 1) + 0.10 * g(130, 206, 16, 14)
    hollow = st.gauss(122, 148, 13, 19, -0.15)
    deep = st.gauss(113, 150, 6, 9)
    crus = st.gauss(128, 116, 12, 6)
    melanin = 0.30 * hollow + 1.3 * deep + 0.15 * crus
    blood = blood + 0.30 * hollow + 0.35 * deep
    if cut:
        edge = np.clip(mask - st.blur(mask, 2.2), 0, 1) * shapes.smoothstep(140, 116, st.v)
        blood = blood + 1.3 * edge
        melanin = melanin + 0.35 * edge
        height = height + 5.0 * st.blur(edge, 1.0) * (1 + 0.5 * st.fractal("edge", 6, 2))
    image = mix(image, skin(st, base, height * st.zoom, light, blood=blood, melanin=melanin,
                            pores=0.55, gloss=0.16, ambient=0.36), mask)  # fmt: skip
    canal = st.ellipse(114, 150, 4.6, 7.6, 0.1, soft=1.6)
    image = mix(image, tint(base, 0.6, 1.4) * 0.30, 0.85 * canal * mask)
    if keloid:
        image = _keloid(st, image, p, base, light)
    return photo(st, image)


def _keloid(st: Stage, image: Image, p: Params, base: Field, light: Light) -> Image:
    x, y, r = p["keloid"]
    main = ragged_disc(st, x, y, r, "keloid", 0.07)
    side = ragged_disc(st, x + 0.75 * r, y + 0.55 * r, r * 0.62, "keloid", 0.07)
    mask = np.clip(main + side, 0, 1)
    small = r * 0.7 * st.dome(x + 0.75 * r, y + 0.55 * r, r * 0.66, r * 0.66)
    dome = np.maximum(r * st.dome(x, y, r * 1.05, r * 1.05), small)
    height = st.blur(dome, 1.4) * 0.95
    image = cast(image, mask, 3, 4, 4, 0.45)
    red, brown = 0.55 + 0.15 * st.fractal("keloid-red", r * 0.5, 3), 0.18 + 0.2 * p["tone"]
    lump = height * st.zoom
    body = skin(
        st, base, lump, light, blood=red, melanin=brown, pores=0.3, gloss=0.34, ambient=0.36
    )
    vein = np.clip(1 - np.abs(st.fractal("keloid-vein", r * 0.5, 2)) * 9, 0, 1)
    body = tint(body, 0.25 * vein)
    shine = shade(lump, light, 90.0)[1]
    return mix(image, body + (0.25 * shine)[..., None], mask)


def _helix(p: Params) -> tuple[Image, Image]:
    st = stage(p, (136.0, 128.0), 0.98)
    return _ear(st, p, cut=True), _ear(st, p)


def _growth(p: Params) -> tuple[Image, Image]:
    st = stage(p, (136.0, 134.0), 1.0)
    return _ear(st, p, keloid=True), _ear(st, p)


TASKS = (
    Task("Ears", "Reconstruct ear defect", _sample, _helix),
    Task("Ears", "Remove earlobe keloid", _sample, _growth),
)
