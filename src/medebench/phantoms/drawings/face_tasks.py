"""Face: rosacea, acne and wrinkles on the frontal portrait."""

from __future__ import annotations

import numpy as np

from medebench.phantoms.drawings.light import mix
from medebench.phantoms.drawings.marks import spots
from medebench.phantoms.drawings.phantom_spec import Draw, Params, Task, common, stage
from medebench.phantoms.drawings.portrait import Edit, portrait, sample_face
from medebench.phantoms.drawings.stage import Image


def _sample(d: Draw) -> Params:
    p = common(d)
    sample_face(d, p)
    p["tone"] = round(p["tone"] * 0.92, 4)
    p["severity"] = d.real(0.0, 1.0)
    return p


def _sample_redness(d: Draw) -> Params:
    p = _sample(d)
    p["tone"] = round(p["tone"] * 0.75, 4)  # a flush hardly shows on the darkest skin
    return p


def _sample_acne(d: Draw) -> Params:
    p = _sample(d)
    zones = ((88, 158, 15, 15), (168, 158, 15, 15), (128, 84, 34, 11), (128, 216, 16, 7),
             (90, 185, 9, 9), (166, 185, 9, 9))  # fmt: skip
    placed: list[list[float]] = []
    for _ in range(d.whole(26, 38)):
        x, y, rx, ry = d.pick(zones)
        placed.append([d.real(x - rx, x + rx), d.real(y - ry, y + ry), d.real(1.5, 2.9)])
    p["acne"] = placed
    return p


def _rosacea(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 136.0), 1.12)
    g = st.gauss
    area = 0.95 * (g(90, 152, 16, 14) + g(166, 152, 16, 14)) + 0.75 * g(128, 154, 9, 11)
    area = area + 0.35 * g(128, 84, 22, 9) + 0.35 * g(128, 217, 11, 7)
    patchy = 0.80 + 0.22 * st.fractal("rosacea", 7.0, 4)
    web = np.clip(1.0 - np.abs(st.fractal("webs", 3.2, 2)) * 5.0, 0, 1) * np.clip(area, 0, 1)
    blood = (0.72 + 0.4 * p["severity"]) * area * patchy + 0.25 * web
    blood = np.where(area > 0.02, blood, 0.0)
    dark = 0.18 * area * p["tone"]
    bumps = 0.5 * np.clip(st.fractal("papules", 3.5, 2) - 1.2, 0, None) * area
    return portrait(st, p, Edit(blood, dark, bumps)), portrait(st, p, Edit())


def _acne(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 136.0), 1.12)
    at = [(x, y) for x, y, _ in p["acne"]]
    blood, pus, relief = spots(st, at, [r for *_, r in p["acne"]], 1.15)

    def over(image: Image) -> Image:
        return mix(image, (0.93, 0.85, 0.68), 0.38 * pus)

    sick = Edit(blood, 0.35 * p["tone"] * blood, relief * 1.3, over=over)
    return portrait(st, p, sick), portrait(st, p, Edit())


def _wrinkles(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 130.0), 1.15)
    rng = st.rng("wrinkles")
    depth = np.zeros_like(st.u)

    def jig() -> float:
        return float(rng.random() - 0.5)

    for k in range(5):
        y = 70 + 6.4 * k
        w = 36 - abs(k - 2.5) * 2.5
        row = [(128 + w * a + 2 * jig(), y + 2.2 * np.cos(3 * a) + 1.6 * jig()) for a in
               np.linspace(-1, 1, 7)]  # fmt: skip
        depth += (0.75 + 0.3 * rng.random()) * st.stroke(row, (0.2, 1.3, 1.5, 1.3, 0.2), soft=0.45)
    gap = p["face"]["gap"]
    for s in (-1, 1):
        for k in range(5):
            a = -0.55 + 0.30 * k + 0.1 * jig()
            x0, y0 = 128 + s * (gap + 18), 121 + 2.2 * k
            r = 12 + 4 * rng.random()
            line = [(x0, y0), (x0 + s * r * 0.5, y0 + r * 0.5 * np.sin(a) + jig()),
                    (x0 + s * r * np.cos(a), y0 + r * np.sin(a) * 1.15)]  # fmt: skip
            depth += 0.8 * st.stroke(line, (0.9, 1.1, 0.1), soft=0.4)
        for k in range(2):
            y = 137 + 4.5 * k
            bag = [(128 + s * (gap + a), y + b) for a, b in ((-13, -2), (0, 3.0), (13, 0))]
            depth += 0.65 * st.stroke(bag, (0.2, 1.1, 0.2), soft=0.5)
        fold = [(128 + s * 18, 160), (128 + s * 27, 171), (128 + s * 31, 184), (128 + s * 30, 194)]
        depth += 1.35 * st.stroke(fold, (0.5, 2.0, 1.9, 0.4), soft=0.8)
        jowl = [(128 + s * 28, 196), (128 + s * 30, 205), (128 + s * 29, 213)]
        depth += 0.9 * st.stroke(jowl, (0.3, 1.4, 0.2), soft=0.6)
        frown = [(128 + s * 4, 99), (128 + s * 5, 107), (128 + s * 3.5, 113)]
        depth += 0.9 * st.stroke(frown, (0.2, 1.3, 0.3), soft=0.4)
    depth = depth * (0.85 + 0.4 * p["severity"])
    old = Edit(0.20 * depth, 0.34 * depth, -0.80 * st.blur(depth, 0.35))
    return portrait(st, p, old), portrait(st, p, Edit())


TASKS = (
    Task("Face", "Remove facial redness", _sample_redness, _rosacea),
    Task("Face", "Remove acne", _sample_acne, _acne),
    Task("Face", "Remove wrinkles", _sample, _wrinkles),
)
