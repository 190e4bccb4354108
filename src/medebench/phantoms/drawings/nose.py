"""Nose: scar and raw defect from the front, dorsal hump in profile."""

from __future__ import annotations

import numpy as np

from medebench.phantoms.drawings import shapes
from medebench.phantoms.drawings.light import backdrop, cast, mix, photo, skin, skin_tone, tint
from medebench.phantoms.drawings.marks import ragged_disc, scar_fields
from medebench.phantoms.drawings.phantom_spec import Draw, Params, Task, Words, common, side, stage
from medebench.phantoms.drawings.portrait import HAIR, Edit, lay_strands, portrait, sample_face
from medebench.phantoms.drawings.stage import Field, Image, Points, Stage


def _contour(p: Params, hump: float) -> Points:
    """Forehead to throat, then around the back of the neck."""
    tip, chin = p["tip"], p["face"]["chin"]
    full = (p["face"]["lips"] - 1.0) * 8.0
    front = [(108, -8), (92, 18), (81, 46), (75, 70), (71.5, 84), (74, 94), (77.5, 103),
             (72.5 - 4.5 * hump, 112), (66.5 - 9.0 * hump, 122), (60.0 - 8.0 * hump, 132),
             (53.0 - 3.0 * hump, 141), (46.5 - tip, 148), (43.5 - tip, 153), (45 - tip, 158.5),
             (50 - 0.6 * tip, 162), (57, 163), (65, 165.5), (66, 171), (63 - full, 177.5),
             (62 - full, 181), (67, 184.5), (64 - full, 190), (65.5 - full, 196), (70.5, 202),
             (68 - chin * 0.4, 210), (66 - chin, 219), (71 - chin, 229), (86, 236), (108, 239),
             (126, 243), (140, 256), (146, 290)]  # fmt: skip
    curve = shapes.spline(front, steps=8)
    back = np.array([(215.0, 290.0), (300.0, 290.0), (300.0, -40.0), (112.0, -40.0)])
    return np.concatenate([curve, back])


def _relief(st: Stage, mask: Field, whole: Field) -> Field:
    g = st.gauss
    # The broad rounding always includes the hump, so that editing it changes the nose only.
    near = st.once("near", lambda: st.blur(whole, 26.0))
    h = 30.0 * np.sqrt(1.0 - (1.0 - np.clip(near, 0, 1)) ** 2) + 3.0 * st.inflate(mask, 7.0)
    h = h + 5.0 * g(70, 153, 6, 6) - 2.2 * g(79, 154, 3.5, 9, 0.25)  # wing of the nose, its groove
    h = h - 7.0 * g(93, 112, 10, 9) + 4.5 * g(95, 115, 7, 6) + 3.0 * g(90, 96, 14, 6)
    h = h + 6.0 * g(122, 146, 22, 18) - 2.5 * g(86, 178, 6, 14, 0.35)
    jaw = st.stroke([(176, 168), (166, 200), (140, 222), (104, 236)], 5.0, soft=6.0)
    return h + 4.0 * jaw - 6.0 * g(160, 250, 40, 20)


def _eye(st: Stage, image: Image, p: Params, base: Field) -> Image:
    """Side view: a wedge of eyeball with lids, lashes and the brow."""
    wedge = st.poly(shapes.OUTLINES["profile wedge"], steps=6)
    image = mix(image, (0.88, 0.85, 0.82), wedge)
    iris = st.ellipse(88.6, 114.0, 2.4, 4.4) * wedge
    image = mix(image, (0.14, 0.085, 0.05), iris)
    image = mix(image, (0.02, 0.02, 0.02), st.ellipse(87.6, 114.0, 1.1, 2.0) * wedge)
    image = image + (0.8 * st.gauss(88.6, 112.0, 0.7))[..., None]
    image = image * (1 - 0.5 * wedge * shapes.smoothstep(114, 109.5, st.v))[..., None]
    lid = st.stroke([(85.5, 110.4), (92, 108.8), (101, 113.2), (105.5, 117)], (1.6, 1.5, 1.1, 0.4))
    image = mix(image, (0.07, 0.05, 0.045), 0.9 * lid)
    crease = st.stroke([(86, 106), (93, 104.4), (103, 109.5), (109, 115)], (0.6, 1.5, 1.3, 0.3),
                       soft=0.5)  # fmt: skip
    image = tint(image, 0.35 * crease, 0.9 * crease)
    low = st.stroke([(88, 118.6), (96, 118.6), (104, 116.8)], 0.8, soft=0.3)
    image = tint(image, 0.35 * low, 0.3 * low)
    rng = st.rng("side-lash")
    t = np.linspace(0, 1, 6)
    root = np.stack([85.6 + 11 * rng.random(20), np.zeros(20)], axis=1)
    root[:, 1] = np.interp(root[:, 0], [85.5, 92, 101], [110.2, 108.8, 113])
    size = (4.5 + 2.5 * rng.random(20))[:, None]
    x = root[:, :1] - size * (1.0 - 0.06 * (root[:, :1] - 85)) * t
    y = root[:, 1:] + size * (0.35 * t - 0.75 * t**2)
    hairs = st.strokes(np.stack([x, y], -1), np.broadcast_to(0.7 * (1 - 0.8 * t), (20, 6)))
    image = mix(image, (0.07, 0.05, 0.045), 0.85 * hairs)
    n = 170
    at, lane = rng.random(n), rng.random(n) - 0.5
    bx, by = 79 + 31 * at, 96.5 - 5 * np.sin(np.pi * at) + 3 * at + lane * (4.6 - 2.5 * at)
    size = (4.0 + 2.0 * rng.random(n))[:, None]
    paths = np.stack([bx[:, None] + size * t, by[:, None] - size * (0.35 - 0.2 * at[:, None]) * t],
                     -1)  # fmt: skip
    brow = st.strokes(paths, np.broadcast_to(0.42 * (1 - 0.6 * t), (n, 6)))
    return mix(image, np.array(HAIR[p["face"]["hair"]]) * 0.8, 0.8 * brow)


def _lips_side(st: Stage, image: Image, mask: Field, base: Field) -> Image:
    up = st.poly([(54, 175), (62, 175.5), (72, 180), (83, 185.8), (72, 185.6), (54, 185)])
    low = st.poly([(54, 185), (70, 185.4), (83, 186), (76, 193), (67, 198), (54, 199)])
    both = np.clip(up + low, 0, 1) * mask
    image = tint(image, 0.55 * both, 0.18 * both)
    image = image + (0.10 * st.gauss(66, 191, 3, 2.5) * both)[..., None]
    seam = st.stroke([(58, 184.6), (70, 185.2), (84.5, 186.2)], (1.4, 1.3, 0.8), soft=0.35) * mask
    image = tint(image, 1.0 * seam, 1.6 * seam)
    corner = st.gauss(86, 186.5, 2.4, 2.2)
    return tint(image, 0.2 * corner, 0.35 * corner)


def profile(st: Stage, p: Params, hump: float) -> Image:
    """The head from the side with a nasal hump of the given size."""
    light = (-0.25 - 0.5 * abs(p["light"][0]), p["light"][1], p["light"][2])
    if st.mirror:
        light = (-light[0], light[1], light[2])
    base = skin_tone(p)
    mask = st.poly(_contour(p, hump), smooth=False)
    whole = st.once("whole", lambda: st.poly(_contour(p, p["hump"]), smooth=False))
    image = backdrop(st, p["backdrop"])
    image = cast(image, whole, 0, 6, 14, 0.25)
    g = st.gauss
    blush = 0.20 * g(112, 150, 16, 14) + 0.15 * g(48, 152, 9, 9) + 0.2 * g(196, 135, 14, 24)
    face = skin(st, base, _relief(st, mask, whole) * st.zoom, light, blood=blush, pores=0.6,
                gloss=0.14, ambient=0.42, melanin=0.35 * g(150, 250, 50, 16))  # fmt: skip
    rim = np.clip(mask - st.blur(mask, 2.5), 0, 1)
    image = mix(image, tint(face, 0.15 * rim, 0.55 * rim), mask)
    slit = st.ellipse(59.0, 161.0, 4.6, 1.7, 0.12, soft=0.5) * mask
    image = tint(image, 1.1 * slit, 1.9 * slit)
    wing = st.stroke([(71, 145), (77.5, 150), (77, 158), (69, 163)], (0.2, 1.6, 2.0, 0.5), soft=0.7)
    image = tint(image, 0.3 * wing, 0.5 * wing)
    image = _lips_side(st, image, mask, base)
    image = _eye(st, image, p, base)
    hair = st.once("side-hair", lambda: _side_hair(st, p))
    image = image * (1 - hair[..., 3:]) + hair[..., :3]
    return photo(st, image)


def _side_hair(st: Stage, p: Params) -> Image:
    """Premultiplied hair swept back from the temple over the ear."""
    colour = np.array(HAIR[p["face"]["hair"]])
    zone = st.blur(st.poly(shapes.OUTLINES["profile zone"]), 1.2)
    layer = np.concatenate([np.broadcast_to(colour * 0.6, (*zone.shape, 3)),
                            np.ones((*zone.shape, 1))], axis=-1) * zone[..., None]  # fmt: skip
    edge = shapes.spline(shapes.OUTLINES["profile edge"], steps=20)
    t = np.linspace(0, 1, 26)
    for level in range(6):
        rng = st.rng(f"side{level}")
        n = 420
        inset = (5 - level) / 5.0
        at = (rng.random(n) * (len(edge) - 1)).astype(np.int64)
        root = edge[at] + np.stack([inset * 110 * rng.random(n), (rng.random(n) - 0.5) * 8], 1)
        lie = (root[:, 1] - 10) / 200.0
        direct = 0.25 + 1.0 * np.clip(lie, 0, 1) + 0.18 * (rng.random(n) - 0.5)
        length = 55 + 40 * rng.random(n)
        bend = direct[:, None] + 0.55 * t + 0.05 * np.sin(7 * t + 9 * rng.random(n)[:, None])
        steps = length[:, None] / 25
        x, y = np.moveaxis(shapes.walk(root[:, 0], root[:, 1], bend, steps), -1, 0)
        gloss = np.exp(-(((root[:, 1] - 30) / 40) ** 2))
        bright = 0.6 + 0.55 * rng.random(n) + 0.45 * gloss
        alpha, tone = st.strands(np.stack([x - 3, y], -1), 0.40 + 0.25 * rng.random(n), bright)
        strand = colour * tone[..., None] + 0.04 * np.clip(tone - 1.0, 0, None)[..., None]
        lay_strands(layer, strand, alpha)
    return layer


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
    meat = 0.78 + 0.10 * st.fractal("flesh", 2.4, 3)
    flesh = tint(np.array([0.80, 0.40, 0.34]), 0.25) * meat[..., None]
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


def _where(p: Params) -> Words:
    return {"side": side(p, "right")}


TASKS = (
    Task("Nose", "Remove nose scar", _sample_front, _scar),
    Task("Nose", "Reconstruct nose defect", _sample_front, _defect, _where),
    Task("Nose", "Reduce dorsal hump", _sample_profile, _hump),
)
