"""Skin: moles, a sutured scar and a tattoo on a close-up of skin."""

from __future__ import annotations

import math

import numpy as np

from medebench.phantoms.drawings import shapes
from medebench.phantoms.drawings.light import mix, photo, skin_tone
from medebench.phantoms.drawings.light import skin as lit_skin
from medebench.phantoms.drawings.marks import mole_fields, scar_fields
from medebench.phantoms.drawings.phantom_spec import Draw, Params, Task, Words, common, stage
from medebench.phantoms.drawings.shapes import OUTLINES
from medebench.phantoms.drawings.stage import Field, Image, PointsLike, Stage

DESIGNS = ("anchor", "star", "heart", "rose", "moon", "butterfly")


def _ring(cx: float, cy: float, r: float) -> list[tuple[float, float]]:
    a = np.linspace(0, 2 * np.pi, 13)
    return [(cx + r * float(np.cos(t)), cy + r * float(np.sin(t))) for t in a]


def tattoo(st: Stage, design: int, size: float) -> tuple[Field, Field, Field]:
    """Lines, fill and accent of a design centred in the frame."""
    name = DESIGNS[design]
    zero = np.zeros_like(st.u)

    def at(points: PointsLike) -> Field:
        return np.asarray(points, dtype=np.float64) * size + 128.0

    def line(points: PointsLike, w: float = 0.085) -> Field:
        return st.stroke(at(points), w * size)

    def area(points: PointsLike, smooth: bool = True) -> Field:
        return st.poly(at(points), smooth=smooth)

    if name == "anchor":
        lines = np.maximum.reduce([
            line([(0, -0.62), (0, 0.0), (0, 0.88)], 0.15), line(_ring(0, -0.80, 0.17)),
            line([(-0.42, -0.38), (0.42, -0.38)], 0.13),
            line([(-0.78, 0.30), (-0.62, 0.68), (0, 0.92), (0.62, 0.68), (0.78, 0.30)], 0.14),
            area([(-0.95, 0.42), (-0.80, 0.14), (-0.58, 0.40)], False),
            area([(0.95, 0.42), (0.80, 0.14), (0.58, 0.40)], False),
        ])  # fmt: skip
        rope = line([(-0.5, -0.1), (-0.1, 0.0), (0.32, 0.22), (0.2, 0.45), (-0.35, 0.5)], 0.07)
        return lines, zero, rope
    if name == "star":
        a = np.arange(10) * np.pi / 5 - np.pi / 2
        r = np.where(np.arange(10) % 2 == 0, 1.0, 0.42)
        tips = np.stack([r * np.cos(a), r * np.sin(a)], axis=1)
        lines = st.strokes(
            np.stack([at(np.linspace(tips[i], tips[(i + 1) % 10], 4)) for i in range(10)]
                     + [at(np.linspace((0.0, 0.0), tips[i], 4)) for i in range(10)]),
            np.full((20, 4), 0.055 * size))  # fmt: skip
        fill = zero
        for i in range(0, 10, 2):
            fill = np.maximum(fill, area([(0, 0), tips[i], tips[i + 1]], False))
        return lines, fill * 1.8, zero
    if name == "heart":
        heart = OUTLINES["tattoo heart"]
        arrow = np.maximum(line([(-1.25, 0.62), (0, 0.0), (1.2, -0.60)], 0.06),
                           area([(1.42, -0.72), (1.08, -0.70), (1.22, -0.44)], False))  # fmt: skip
        return np.maximum(line(heart, 0.09), arrow), zero, area(heart[:-1])
    if name == "rose":
        lines = zero
        for k in range(4):
            size_k = 0.16 + 0.15 * k
            turns = (np.linspace(0, 1.65 * np.pi, 12) + 1.3 * k).tolist()
            curl = [(size_k * math.cos(w) * (1 + 0.1 * math.sin(3 * w)),
                     -0.35 + size_k * math.sin(w) * 0.9) for w in turns]  # fmt: skip
            lines = np.maximum(lines, line(curl, 0.06))
        lines = np.maximum(lines, line([(0, 0.22), (0.06, 0.6), (-0.04, 1.1)], 0.08))
        leaves = np.maximum(area([(0.06, 0.6), (0.36, 0.36), (0.72, 0.42), (0.42, 0.66)]),
                            area([(0.0, 0.8), (-0.32, 0.54), (-0.70, 0.62),
                                  (-0.38, 0.86)]))  # fmt: skip
        return lines, leaves * 1.5, st.ellipse(128, 128 - 0.35 * size, 0.62 * size, 0.56 * size)
    if name == "moon":
        x, y = st.local(128, 128)
        disc = st.ellipse(128, 128, 0.95 * size, 0.95 * size)
        bite = st.ellipse(128 + 0.42 * size, 128 - 0.18 * size, 0.78 * size, 0.78 * size)
        crescent = disc * (1 - bite)
        shadow = st.ellipse(128 + 0.42 * size, 128 - 0.18 * size, 0.87 * size, 0.87 * size)
        inner = st.ellipse(128, 128, 0.86 * size, 0.86 * size) * (1 - shadow)
        stars = zero
        for sx, sy, arm in ((0.35, -0.2, 0.2), (0.7, 0.25, 0.13), (0.62, -0.6, 0.11)):
            d = np.abs(x / size - sx) ** 0.55 + np.abs(y / size - sy) ** 0.55
            stars = np.maximum(stars, np.clip((arm**0.55 * 1.5 - d) * 12, 0, 1))
        return np.maximum(np.clip(crescent - inner, 0, 1), stars), inner, zero
    wing = OUTLINES["tattoo wing"]
    lines, spots = line([(0, -0.35), (0, 0.1), (0, 0.6)], 0.16), zero
    fill = zero
    for s in (-1.0, 1.0):
        pts = [(s * x, y) for x, y in wing]
        lines = np.maximum.reduce([
            lines, line([*pts, pts[0]], 0.065),
            line([(0, -0.35), (s * 0.2, -0.75), (s * 0.3, -0.85)], 0.04),
            line([(s * 0.08, -0.1), (s * 0.5, -0.4), (s * 0.9, -0.7)], 0.035),
            line([(s * 0.08, 0.1), (s * 0.4, 0.3), (s * 0.62, 0.65)], 0.035),
        ])  # fmt: skip
        fill = np.maximum(fill, area(pts))
        spots = np.maximum(spots, area([(s * 0.55, -0.55), (s * 0.82, -0.62), (s * 0.8, -0.36)]))
    return lines, 0.7 * fill, spots


def sample_skin(d: Draw) -> Params:
    p = common(d)
    p["turn"] = d.real(-3.14, 3.14)
    p["round"] = d.real(0.4, 1.0)
    p["fuzz"] = d.whole(6, 40)
    p["freckles"] = d.whole(0, 14)
    return p


def _sample_moles(d: Draw) -> Params:
    p = sample_skin(d)
    count = d.whole(1, 4)
    moles: list[list[float]] = []
    for _ in range(200):
        spot = [d.real(58, 198), d.real(58, 198), d.real(9, 20) if count < 3 else d.real(7, 15)]
        if all((spot[0] - m[0]) ** 2 + (spot[1] - m[1]) ** 2 > (26 + m[2] + spot[2]) ** 2
               for m in moles):  # fmt: skip
            moles.append(spot)
        if len(moles) == count:
            break
    p["moles"] = moles
    p["freckles"] = d.whole(0, 6)
    return p


def _sample_scar(d: Draw) -> Params:
    p = sample_skin(d)
    p["path"] = [[d.real(34, 62), d.real(104, 150)], [d.real(95, 115), d.real(100, 150)],
                 [d.real(145, 165), d.real(108, 152)],
                 [d.real(194, 222), d.real(104, 150)]]  # fmt: skip
    p["width"] = d.real(6.0, 8.5)
    p["stitches"] = d.whole(6, 10)
    return p


def _sample_tattoo(d: Draw) -> Params:
    p = sample_skin(d)
    p["tone"] = round(p["tone"] * 0.72, 4)
    p["turn"] = d.real(-0.5, 0.5)
    p["design"] = d.whole(0, len(DESIGNS) - 1)
    p["size"] = d.real(46, 62)
    p["ink"] = d.pick([[0.10, 0.13, 0.18], [0.12, 0.12, 0.13], [0.10, 0.18, 0.16]])
    return p


def surface(
    st: Stage, p: Params, blood: Field | float, melanin: Field | float, relief: Field | float
) -> Image:
    """A patch of skin with furrows and freckles."""
    base = skin_tone(p)
    light = (p["light"][0] * 0.8, p["light"][1], 0.75)

    def ground() -> Field:
        x, y = (st.u - 128) / 260, (st.v - 128) / 185
        h = 90.0 * p["round"] * np.sqrt(np.clip(1.3 - 0.25 * x * x - y * y, 0.02, None))
        # Two crossing families of fine furrows enclose the small plateaus of real skin.
        a, b = st.u * 0.55 + st.v * 0.9, st.u * 0.7 - st.v * 0.75
        warp = 3.6 * st.fractal("furrow", 14.0, 3)
        lines = np.abs(np.sin((a + warp) * 0.42)) ** 0.5 + np.abs(np.sin((b - warp) * 0.38)) ** 0.5
        h = h + 0.42 * lines * (1.0 + 0.4 * st.fractal("depth", 20.0, 2))
        return np.asarray(h)

    h = st.once("ground", ground)
    rng = st.rng("freckles")
    brown = np.zeros_like(h)
    for _ in range(p["freckles"]):
        x, y, r = rng.random() * 256, rng.random() * 256, 1.5 + 2.5 * rng.random()
        brown = brown + 0.30 * st.gauss(x, y, r, r * 0.8, float(rng.random() * 3))
    return lit_skin(st, base, h + relief, light, blood=blood, melanin=brown + melanin, pores=1.1,
                    gloss=0.16, ambient=0.45)  # fmt: skip


def photograph(st: Stage, image: Image, p: Params) -> Image:
    """The photograph, with vellus hair on the skin."""
    rng = st.rng("fuzz")
    n = int(p["fuzz"])
    x, y = rng.random((2, n)) * 256
    a = 0.6 + 0.9 * (rng.random((n, 1)) - 0.5)
    t = np.linspace(0, 1, 8)
    bend = a + (rng.random((n, 1)) - 0.5) * 1.4 * t
    step = (14 + 14 * rng.random((n, 1))) / 8
    path = shapes.walk(x, y, bend, step)
    hairs = st.strokes(path, np.broadcast_to(0.85 * (1 - 0.8 * t), (n, 8)))
    return photo(st, mix(image, (0.16, 0.11, 0.08), 0.42 * hairs))


def _moles(p: Params) -> tuple[Image, Image]:
    st = stage(p)
    before = surface(st, p, *mole_fields(st, p["moles"], 1.10 + 0.55 * p["tone"]))
    after = surface(st, p, 0.0, 0.0, 0.0)
    return photograph(st, before, p), photograph(st, after, p)


def _scar(p: Params) -> tuple[Image, Image]:
    st = stage(p)
    blood, melanin, relief = scar_fields(st, p["path"], p["width"], p["stitches"])
    before = surface(st, p, blood, melanin * (1 + p["tone"]), relief)
    after = surface(st, p, 0.0, 0.0, 0.0)
    return photograph(st, before, p), photograph(st, after, p)


def _tattoo(p: Params) -> tuple[Image, Image]:
    st = stage(p)
    after = surface(st, p, 0.0, 0.0, 0.0)
    lines, fill, accent = tattoo(st, p["design"], p["size"])
    ink = np.array(p["ink"])
    # Ink lies below the surface: blurred a little, and skin shading still shows through.
    worn = np.clip(0.90 + 0.06 * st.fractal("worn", 9.0, 4), 0, 1)
    shading = (after / skin_tone(p)).mean(axis=-1, keepdims=True)
    red = np.array([0.52, 0.13, 0.14]) * shading
    before = mix(after, red, 0.55 * shapes.blur(accent, 0.8) * worn)
    before = mix(before, ink * shading, 0.45 * shapes.blur(fill, 0.9) * worn)
    before = mix(before, ink * shading, 0.86 * shapes.blur(lines, 0.6) * worn)
    return photograph(st, before, p), photograph(st, after, p)


def _mole_words(p: Params) -> Words:
    n = len(p["moles"])
    many = n > 1
    count = ("", "", "two ", "three ", "four ")[n]
    them, are = ("them", "are") if many else ("it", "is")
    key, spot, lesion = (f"{noun}s" if many else noun for noun in ("mole", "spot", "lesion"))
    return {"key": key, "count": count, "them": them, "spot": spot, "is": are, "lesion": lesion}


def _tattoo_words(p: Params) -> Words:
    return {"what": DESIGNS[p["design"]]}


TASKS = (
    Task("Skin", "Remove moles", _sample_moles, _moles, _mole_words),
    Task("Skin", "Remove scar", _sample_scar, _scar),
    Task("Skin", "Remove tattoo", _sample_tattoo, _tattoo, _tattoo_words),
)
