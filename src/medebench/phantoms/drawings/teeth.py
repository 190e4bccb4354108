"""Teeth: wisdom teeth on a panoramic film, missing and stained teeth in a photograph."""

from __future__ import annotations

from functools import partial

import numpy as np

from medebench.phantoms.drawings import shapes
from medebench.phantoms.drawings.light import collimate, film, mix, photo, shade, tint
from medebench.phantoms.drawings.panoramic import panoramic
from medebench.phantoms.drawings.phantom_spec import Draw, Params, Task, Words, common, stage
from medebench.phantoms.drawings.stage import Field, Image, Light, Stage

# Half the row, from the midline: width, crown height and darkness by depth in the arch.
_UPPER = ((25.0, 43.0), (19.5, 38.0), (21.0, 42.0), (16.5, 34.0), (13.5, 30.0), (11.0, 27.0))
_LOWER = ((16.5, 33.0), (17.0, 33.0), (18.5, 37.0), (16.0, 32.0), (13.5, 28.0), (11.0, 25.0))
_BITE = 131.0
_YELLOW = (0.78, 0.60, 0.33)
_TEXTURES = (("perikymata", 3.0, 2), ("spark", 3.0, 2), ("stain", 7.0, 3), ("tartar", 4.0, 3))
Look = tuple[float, float, float, int, bool]  # centre, width, height, kind, upper


def _sample_wisdom(d: Draw) -> Params:
    p = common(d)
    p["tilts"] = [d.real(0.0, 0.5), d.real(0.0, 0.5), d.real(0.3, 1.15), d.real(0.3, 1.15)]
    p["wisdom"] = d.pick([[2, 3], [0, 1, 2, 3], [2, 3], [0, 1, 2, 3], [1, 2, 3], [0, 2, 3]])
    p["turn"] = round(p["turn"] * 0.4, 4)
    p["exposure"] = d.real(0.9, 1.12)
    p["zoom"] = d.real(0.98, 1.06)
    p["shift"] = [d.real(-4, 4), d.real(-4, 4)]
    p["frame"] = [d.real(0, 5), d.real(0, 8), d.real(0, 5), d.real(0, 8)]
    return p


def _wisdom(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 138.0), 1.10)

    def view(wisdom: bool) -> Image:
        density = panoramic(st, p, wisdom) * p["exposure"]
        return collimate(st, film(st, density, gamma=1.2), p["frame"])

    return view(True), view(False)


def _sample_photo(d: Draw) -> Params:
    p = common(d)
    p["missing"] = d.pick([3, 4, 5, 6, 7, 8])
    p["stain"] = d.real(0.72, 0.98)
    p["mirror"] = False
    return p


def _gap(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 131.0), 1.06)
    before = intraoral(st, p, gap=p["missing"], filled=False)
    return photo(st, before), photo(st, intraoral(st, p, gap=p["missing"]))


def _stain(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 131.0), 1.06)
    return photo(st, intraoral(st, p, stain=p["stain"])), photo(st, intraoral(st, p))


def _count(p: Params) -> Words:
    n = len(p["wisdom"])
    return {"count": {2: "two", 3: "three", 4: "four"}[n], "jaw": "lower jaw" if n == 2 else "jaws"}


def _which(p: Params) -> Words:
    name = {0: "central incisor", 1: "lateral incisor", 2: "canine"}
    k = p["missing"] - 6 if p["missing"] >= 6 else 5 - p["missing"]
    return {"name": name[k], "side": "left" if p["missing"] < 6 else "right"}


def _tooth_outline(x: float, w: float, h: float, up: bool, kind: int) -> list[tuple[float, float]]:
    """Crown: narrow at the gum, wider at the edge; canines end in a cusp."""
    tip = 0.08 if kind == 2 else 0.0
    round_ = 0.06 if kind == 0 else 0.10
    shape = [(-0.40, 0.86), (0.0, 1.0), (0.40, 0.86), (0.485, 0.5), (0.495, 0.2), (0.44, round_),
             (0.2, 0.0 + tip * 0.3), (0.0, -tip), (-0.2, 0.0 + tip * 0.3), (-0.44, round_),
             (-0.495, 0.2), (-0.485, 0.5)]  # fmt: skip
    s = -1.0 if up else 1.0
    edge = _BITE + (-1.0 if up else 0.5)
    return [(x + a * w, edge + s * (b * h)) for a, b in shape]


def _row(up: bool) -> list[tuple[float, float, float, int]]:
    """Centre, width, height and kind of each tooth, left to right."""
    half = []
    x = 128.0
    for k, (w, h) in enumerate(_UPPER if up else _LOWER):
        half.append((x + w / 2, w, h, k))
        x += w
    return [(256 - c, w, h, k) for c, w, h, k in reversed(half)] + half


def _gums(st: Stage, p: Params, light: Light) -> Image:
    """Pink gingiva with stippling, root bulges and a wet sheen, and dark corners."""
    base = np.array([0.86, 0.52, 0.50]) * (1.0 - 0.22 * p["tone"])
    relief = 20 * np.exp(-(((st.u - 128) / 95) ** 2)) + 1.0 * st.fractal("gum", 12, 3)
    for up in (True, False):
        for x, w, h, _ in _row(up):
            y = _BITE + (-1 if up else 1) * (h + 20)
            relief = relief + 4.6 * st.gauss(x, y, w * 0.32, 20)
    stipple = st.fractal("stipple", 2.4, 2)
    diffuse, spec = shade((relief + 0.16 * stipple) * st.zoom, light, 40.0)
    far = np.abs(st.v - _BITE)
    red = 0.16 + 0.12 * st.fractal("gum-hue", 18, 3) + 0.40 * shapes.smoothstep(58, 92, far)
    colour = tint(np.broadcast_to(base, (256, 256, 3)), red)
    brown = np.clip(st.fractal("gum-brown", 14, 3), 0, None) * 0.22 * p["tone"] ** 2
    colour = tint(colour, 0.0, brown)
    veins = np.clip(1 - np.abs(st.fractal("gum-vein", 14, 2)) * 8, 0, 1)
    colour = tint(colour, 0.35 * (veins * shapes.smoothstep(55, 85, far)))
    image = colour * (0.40 + 0.66 * diffuse)[..., None]
    wet = spec * np.clip(0.2 + 0.6 * st.fractal("gum-wet", 9, 2), 0, None)
    return image + (0.13 * wet)[..., None]


def intraoral(st: Stage, p: Params, *, stain: float = 0.0, gap: int = -1, filled: bool = True
              ) -> Image:  # fmt: skip
    """Frontal view; ``gap`` counts upper teeth from the left, and may be ``filled``."""
    light = (p["light"][0] * 0.5, p["light"][1] * 0.6, 1.0)
    image = st.once(f"rows {stain}", lambda: _rows(st, p, light, stain, gap))
    if gap >= 0 and filled:
        image = _tooth(st, image, p, light, stain, True, gap)
    elif gap >= 0:
        image = _ridge(st, image, gap)
    return _cheeks(st, image, p)


def _rows(st: Stage, p: Params, light: Light, stain: float, gap: int) -> Image:
    """Gums and every tooth but the one in the gap."""
    image = st.once("gums", lambda: _gums(st, p, light))
    inner = st.poly(shapes.OUTLINES["intraoral inner"])
    image = mix(image, (0.10, 0.03, 0.03), inner)
    for name, cell, octaves in _TEXTURES:
        st.fractal(name, cell, octaves)  # made once for the frame, then cut for each tooth
    for up in (False, True):
        for i in range(len(_row(up))):
            if not (up and i == gap):
                image = _tooth(st, image, p, light, stain, up, i)
    return image


def _tooth(st: Stage, image: Image, p: Params, light: Light, stain: float, up: bool, i: int
           ) -> Image:  # fmt: skip
    x, w, h, kind = _row(up)[i]
    white = np.array([0.93, 0.905, 0.84]) * (0.97 + 0.03 * p["undertone"])
    look = (x, w, h, kind, up)
    paint = partial(_draw_tooth, look=look, white=white, stain=stain, light=light)
    return st.inside(image, x, _BITE + (-h if up else h) / 2, h * 0.5 + 6, paint)


def _draw_tooth(
    st: Stage, image: Image, look: Look, white: Field, stain: float, light: Light
) -> Image:
    x, w, h, kind, up = look
    mask = st.poly(_tooth_outline(x, w, h, up, kind))
    s = -1.0 if up else 1.0
    along = np.clip((st.v - _BITE) * s / h, -0.1, 1.1)  # 0 at the edge, 1 at the gum
    across = (st.u - x) / (w * 0.5)
    gum = np.clip(st.blur(mask, 1.6) - mask, 0, 1)
    image = tint(image, 0.55 * gum, 0.35 * gum)
    dim = 1.0 - 0.06 * kind
    warm = np.clip(0.16 + 0.42 * along**2 + 0.10 * (kind == 2), 0, 1)
    white = np.broadcast_to(white, image.shape)
    colour = mix(white, np.array([0.88, 0.77, 0.56]), 0.75 * warm * mask)
    clear = np.clip(1.0 - along * 6.5, 0, 1) * (kind < 2)
    colour = mix(colour, np.array([0.66, 0.70, 0.74]), 0.38 * clear * mask)
    if stain > 0:
        patch = np.clip(0.72 + 0.18 * st.fractal("stain", 7, 3) + 0.25 * along, 0, 1.2)
        colour = mix(colour, _YELLOW, np.clip(stain * patch, 0, 0.95) * mask)
        brown = np.clip(along - 0.55, 0, 1) * 1.6 + np.clip(np.abs(across) - 0.72, 0, 1) * 1.6
        spots = np.clip(st.fractal("tartar", 4, 3) * 0.5 + 0.4, 0, 1)
        deep = np.clip(stain * brown * spots, 0, 0.8) * mask
        colour = mix(colour, np.array([0.40, 0.23, 0.09]), deep)
    dome = np.sqrt(np.clip(1.12 - across**2, 0.03, None)) * w * 0.32
    dome = dome * (0.80 + 0.35 * along - 0.40 * along**2)
    ribs = 0.5 * np.cos(across * 5.5) * (kind < 3) + 0.10 * st.fractal("perikymata", 3.0, 2)
    diffuse, spec = shade((dome + ribs * 0.5) * st.zoom, light, 70.0)
    tooth = colour * ((0.46 + 0.56 * diffuse) * dim)[..., None]
    aside = x + w * 0.14 * np.sign(light[0] + 1e-9)
    spark = st.gauss(aside, _BITE + s * h * 0.52, w * 0.10, h * 0.16)
    spark = spark * np.clip(1 + 0.35 * st.fractal("spark", 3, 2), 0, None)
    tooth = tooth + ((0.16 * spec + 0.30 * spark) * dim)[..., None]
    edge = np.clip(1.0 - st.blur(mask, 0.9), 0, 1) * mask
    tooth = tint(tooth, 0.0, 0.9 * edge)
    return mix(image, tooth, mask)


def _ridge(st: Stage, image: Image, missing: int) -> Image:
    """The gap of a lost tooth: healed gum above, darkness of the mouth below."""
    x, w, h, _ = _row(True)[missing]
    top = _BITE - h
    gap = st.poly([(x - w * 0.50, _BITE - 1), (x - w * 0.50, top + h * 0.50),
                   (x - w * 0.44, top + h * 0.26), (x - w * 0.2, top + h * 0.22),
                   (x, top + h * 0.24), (x + w * 0.2, top + h * 0.22),
                   (x + w * 0.44, top + h * 0.26), (x + w * 0.50, top + h * 0.50),
                   (x + w * 0.50, _BITE - 1)])  # fmt: skip
    for near in (missing - 1, missing + 1):
        nx, nw, nh, kind = _row(True)[near]
        gap = gap * (1 - st.poly(_tooth_outline(nx, nw, nh, True, kind)))
    deep = np.array([0.13, 0.035, 0.035])
    shade_ = np.clip((st.v - top - h * 0.3) / (h * 0.6), 0, 1)
    image = mix(image, deep * (1.2 - 0.4 * shade_)[..., None], 0.97 * st.blur(gap, 0.5))
    rim = np.clip(st.blur(gap, 2.0) - gap, 0, 1) * (st.v < _BITE - h * 0.6)
    image = tint(image, 0.55 * rim, 0.2 * rim)
    shine = st.gauss(x - w * 0.12, top + h * 0.10, w * 0.16, h * 0.045)
    return image + (0.20 * shine)[..., None]


def _cheeks(st: Stage, image: Image, p: Params) -> Image:
    """Retracted lips frame the view; the back of the mouth falls into shadow."""
    dim = 1.0 - 0.55 * shapes.smoothstep(62, 118, np.abs(st.u - 128))
    image = image * dim[..., None]
    far = ((st.u - 128) / 138) ** 2 + ((st.v - 131) / 104) ** 2
    far = far + 0.02 * st.fractal("lip-edge", 30, 2)
    lip = shapes.smoothstep(0.93, 1.02, far)
    skin = np.array([0.74, 0.40, 0.37]) * (1 - 0.35 * p["tone"])
    fold = shade(14 * np.sqrt(np.clip(far - 0.9, 0.0, None)) * st.zoom, (0.2, -0.6, 0.8), 30.0)
    creases = 1 + 0.05 * st.fractal("lip-lines", 5, 3)
    body = skin * ((0.45 + 0.6 * fold[0]) * creases)[..., None] + (0.18 * fold[1])[..., None]
    image = image * (1 - 0.5 * shapes.smoothstep(0.72, 0.95, far))[..., None]
    return mix(image, body, lip)


TASKS = (
    Task("Teeth", "Remove wisdom teeth", _sample_wisdom, _wisdom, _count),
    Task("Teeth", "Add missing tooth", _sample_photo, _gap, _which),
    Task("Teeth", "Whiten stained teeth", _sample_photo, _stain),
)
