"""Spine and bones: scoliosis and a forearm fracture on radiographs."""

from __future__ import annotations

from functools import partial

import numpy as np

from medebench.phantoms.drawings.light import collimate, film
from medebench.phantoms.drawings.longbone import forearm
from medebench.phantoms.drawings.phantom_spec import Draw, Params, Task, Words, common, stage
from medebench.phantoms.drawings.shapes import OUTLINES, smoothstep
from medebench.phantoms.drawings.stage import Field, Image, Stage

Place = tuple[float, float, float]  # x, y, angle
Size = tuple[float, float]  # half width, half height


def _sample_spine(d: Draw) -> Params:
    p = common(d)
    p["bend"] = d.real(16.0, 27.0)
    p["second"] = d.real(0.3, 0.85)
    p["apex"] = d.real(-0.06, 0.06)
    p["size"] = d.real(0.94, 1.06)
    p["exposure"] = d.real(0.88, 1.12)
    p["frame"] = [d.real(4, 16), d.real(2, 10), d.real(4, 16), d.real(2, 10)]
    return p


def _axis(p: Params, t: Field, bend: float) -> Field:
    """Sideways position of the spine from the neck (0) to the sacrum (1)."""
    main = np.sin(np.pi * np.clip((t - 0.05 - p["apex"]) / 0.62, 0.0, 1.0))
    counter = np.sin(np.pi * np.clip((t - 0.60 - p["apex"]) / 0.38, 0.0, 1.0))
    sideways: Field = bend * (main - p["second"] * 0.8 * counter)
    return sideways


def _spine(st: Stage, p: Params, bend: float) -> Image:
    """Chest and abdomen from the front: soft tissue, lungs, ribs, vertebrae, pelvis."""
    g = st.gauss
    body = st.once("body", lambda: st.poly(OUTLINES["spine body"]))
    density = 0.36 * body * st.inflate(body, 16)
    edge = [(112, 30), (84, 34), (62, 66), (54, 112), (58, 140), (84, 130), (110, 132), (116, 80)]
    left = st.poly(edge)
    right = st.poly(OUTLINES["spine right"])
    density = density - 0.20 * st.blur(left + right, 3.0)
    vascular = st.fractal("lung", 6.0, 3) * st.blur(left + right, 4.0)
    density = density + 0.022 * vascular + 0.13 * g(148, 112, 19, 22, -0.5)
    density = density + 0.10 * g(128, 60, 12, 40)
    density = density + 0.07 * g(92, 152, 34, 18) + 0.05 * g(170, 158, 24, 20)
    density = density + 0.03 * st.fractal("bowel", 15.0, 3) * smoothstep(140, 175, st.v) * body
    count = 17
    t = (np.arange(count) + 0.5) / count
    fine = np.linspace(0.0, 1.0, 160)
    tall = np.interp(t, [0, 1], [9.2, 14.6]) * p["size"]
    y = 22 + (np.cumsum(tall) - tall / 2) / tall.sum() * 186
    x = 128 + _axis(p, t, bend)
    slope = np.interp(t, fine, np.gradient(_axis(p, fine, bend), fine)) / 186.0
    wide = np.interp(t, [0, 0.3, 1], [9.0, 9.5, 15.0]) * p["size"]
    high = tall / tall.sum() * 186 * 0.41
    density = density + _ribs(st, x, y, slope, bend)
    for i in range(count):
        place = (float(x[i]), float(y[i]), float(np.arctan(-slope[i])))
        size = (float(wide[i]), float(high[i]))
        rotation = 0.012 * bend * float(np.sin(np.pi * t[i]))  # scoliotic vertebrae rotate

        add = partial(_add_vertebra, place=place, size=size, turn=rotation)
        density = st.inside(density, place[0], place[1], 2.0 * size[0] + 4, add)
    density = density + st.once("pelvis", lambda: _pelvis(st))
    q = np.linspace(0, 1, 12)
    bow = 26 - 9 * np.sin(2.4 * q) + 3 * q
    bones = [np.stack([128 + s * (8 + 74 * q), bow], axis=-1) for s in (-1, 1)]
    collar = st.strokes(np.array(bones), np.full((2, 12), 6.0))
    density = density + 0.16 * st.blur(collar, 0.7)
    density = density + 0.012 * st.fractal("scatter", 40, 2)
    return collimate(st, film(st, density * 1.12 * p["exposure"]), p["frame"])


def _ribs(st: Stage, x: Field, y: Field, slope: Field, bend: float) -> Field:
    paths, widths = [], []
    q = np.linspace(0.0, 1.0, 18)
    for k in range(11):
        reach = float(np.interp(k, [0, 2, 6, 10], [34, 56, 78, 56]))
        drop = float(np.interp(k, [0, 4, 10], [16, 30, 34]))
        for s in (-1, 1):
            # The convex side of a curve fans its ribs out, the concave side crowds them.
            fan = 1.0 + 0.010 * bend * s * float(np.sin(np.pi * k / 10))
            rise = -5.0 * np.sin(np.pi * np.clip(q * 2.2, 0, 1))
            # The chest wall follows the spine only in part.
            swing = np.sin(q * 1.75) ** 0.9
            px = x[k] + s * (7 + reach * swing) - 0.75 * (x[k] - 128) * swing
            py = y[k] + rise + drop * fan * q**1.6 * 1.45 - s * slope[k] * 26 * q
            paths.append(np.stack([px, py], axis=-1))
            widths.append(np.full(18, 4.6 - 0.06 * k))
    p_all, w_all = np.array(paths), np.array(widths)
    outer = np.zeros_like(st.u)
    for group in (slice(0, None, 4), slice(1, None, 4), slice(2, None, 4), slice(3, None, 4)):
        solid = st.strokes(p_all[group], w_all[group])
        core = st.strokes(p_all[group], w_all[group] * 0.5)
        outer = outer + 0.15 * st.blur(solid, 0.5) - 0.06 * st.blur(core, 0.6)
    return outer


def _add_vertebra(st: Stage, area: Field, place: Place, size: Size, turn: float) -> Field:
    """Body with denser end plates and sides, pedicles, transverse and spinous processes."""
    (x, y, angle), (w, h) = place, size
    c, s = float(np.cos(angle)), float(np.sin(angle))

    def at(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(x + a * w * c - b * h * s, y + a * w * s + b * h * c) for a, b in points]

    outline = OUTLINES["spine outline"]
    body = st.poly(at(outline), steps=4)
    inner = st.poly(at([(a * 0.84, b * 0.74) for a, b in outline]), steps=4)
    t = np.linspace(0, 1, 6)
    wings = [at([(s1 * (0.8 + q * 0.95), -0.25 - 0.25 * q) for q in t]) for s1 in (-1, 1)]
    wing = st.strokes(np.array(wings), np.full((2, 6), h * 0.62))
    out = 0.30 * body + 0.16 * np.clip(body - inner, 0, 1) + 0.15 * st.blur(wing, 0.8)
    cloud = 1.0 + 0.10 * st.fractal("trabecula", 2.6, 2)
    for s1 in (-1, 1):
        px, py = at([((s1 * 0.58) + turn * 0.5, -0.22)])[0]
        ring = st.ellipse(px, py, w * 0.17, h * 0.40, angle)
        hole = st.ellipse(px, py, w * 0.10, h * 0.25, angle)
        out = out + 0.20 * ring - 0.12 * hole
    sx, sy = at([(turn, 0.45)])[0]
    out = out + 0.20 * st.ellipse(sx, sy, w * 0.13, h * 0.55, angle, soft=0.4)
    return area + out * cloud


def _pelvis(st: Stage) -> Field:
    out = np.zeros_like(st.u)
    for s in (-1, 1):

        def m(pts: list[tuple[float, float]], s: int = s) -> list[tuple[float, float]]:
            return [(128 + s * a, b) for a, b in pts]

        wing = st.poly(m(OUTLINES["spine wing"]))
        crest = st.stroke(m([(16, 212), (36, 202), (62, 200), (80, 216), (83, 240)]), 4.0, soft=0.6)
        joint = st.stroke(m([(16, 214), (21, 230), (18, 250)]), 2.0, soft=0.6)
        out = out + 0.20 * st.blur(wing, 1.0) + 0.16 * crest - 0.12 * joint
    edge = [(108, 210), (128, 207), (148, 210), (146, 236), (136, 262), (120, 262), (110, 236)]
    out = out + 0.24 * st.blur(st.poly(edge), 1.0)
    for k in range(3):
        for s in (-1, 1):
            out = out - 0.12 * st.gauss(128 + s * (9 - k), 222 + 12 * k, 2.4, 1.8)
    return out * (1 + 0.07 * st.fractal("trabecula", 2.6, 2))


def _scoliosis(p: Params) -> tuple[Image, Image]:
    st = stage(dict(p, turn=p["turn"] * 0.4), (128.0, 128.0), 1.0)
    return _spine(st, p, p["bend"]), _spine(st, p, 0.0)


def _sample_bone(d: Draw) -> Params:
    p = common(d)
    p["turn"] = d.real(-0.5, 0.5)
    p["zoom"] = d.real(0.92, 1.25)
    p["shift"] = [d.real(-18.0, 18.0), d.real(-14.0, 14.0)]
    p["level"] = d.real(0.42, 0.60)
    p["angle"] = d.real(0.16, 0.30) * d.sign()
    p["offset"] = d.real(4.0, 8.5) * d.sign()
    p["slant"] = d.real(-0.5, 0.5)
    p["screws"] = d.pick([6, 6, 8])
    p["exposure"] = d.real(0.88, 1.12)
    p["frame"] = [d.real(3, 22), d.real(2, 9), d.real(3, 22), d.real(2, 9)]
    return p


def _fracture(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 128.0), 1.0)
    before = film(st, forearm(st, p, broken=True) * p["exposure"])
    after = film(st, forearm(st, p, broken=False) * p["exposure"])
    return collimate(st, before, p["frame"]), collimate(st, after, p["frame"])


def _bone(p: Params) -> Words:
    return {"screws": {6: "six", 8: "eight"}[p["screws"]]}


TASKS = (
    Task("Spine and Bones", "Straighten scoliotic spine", _sample_spine, _scoliosis),
    Task("Spine and Bones", "Fix fracture with plate and screws", _sample_bone, _fracture, _bone),
)
