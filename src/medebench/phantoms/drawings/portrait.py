"""A frontal human face in design coordinates; close-ups are the same face at higher zoom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from medebench.phantoms.drawings import shapes
from medebench.phantoms.drawings.eye import EyeLook, draw_eye
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
from medebench.phantoms.drawings.lips import draw_lips
from medebench.phantoms.drawings.phantom_spec import BACKDROPS, Draw, Params
from medebench.phantoms.drawings.stage import Field, Image, Light, Stage

HAIR = ((0.055, 0.045, 0.042), (0.13, 0.085, 0.06), (0.24, 0.15, 0.09), (0.40, 0.27, 0.15),
        (0.62, 0.47, 0.28), (0.55, 0.54, 0.53), (0.42, 0.19, 0.09))  # fmt: skip


@dataclass(frozen=True)
class Edit:
    """What a task changes on the face; the default is the unedited face."""

    blood: Field | float = 0.0
    melanin: Field | float = 0.0
    relief: Field | float = 0.0  # design units
    open: float = 1.0  # of the left eye, as are redness, cloud and the colour of the iris
    full: float = 1.0
    recede: float = 0.0
    redness: float = 0.0
    cloud: float = 0.0
    iris: tuple[float, float, float] | None = None
    over: Callable[[Image], Image] = field(default=lambda image: image)


def sample_face(d: Draw, p: Params) -> None:
    """Add facial features to the parameters; darker skin gets darker hair and eyes."""
    tone = p["tone"]
    p["face"] = {
        "hair": d.pick([0, 0, 1, 1, 5]) if tone > 0.45 else d.whole(0, 2 if tone > 0.3 else 6),
        "iris": d.whole(0, 1) if tone > 0.40 else d.whole(0, 5),
        "jaw": d.real(-6.0, 5.0),
        "chin": d.real(-4.0, 5.0),
        "eye": d.real(14.2, 15.8),
        "gap": d.real(30.0, 33.0),
        "nose": d.real(0.88, 1.18),
        "lips": d.real(0.85, 1.15),
        "brow": d.real(0.75, 1.25),
        "long": d.flip(),
        "sweep": d.real(-0.8, 0.8),
        "gaze": d.real(-0.25, 0.25),
        "volume": d.real(5.0, 13.0),
        "shirt": d.whole(0, 7),
    }


def eyes_of(p: Params, edit: Edit) -> tuple[EyeLook, EyeLook]:
    """The edited (left) and the untouched (right) eye."""
    f = p["face"]
    look = EyeLook("eye-l", 128.0 - f["gap"], 123.0, -1, f["eye"], edit.open, f["gaze"],
                   f["iris"], edit.redness, edit.cloud, colour=edit.iris)  # fmt: skip
    return look, replace(look, name="eye-r", cx=128.0 + f["gap"], outer=1, open=1.0,
                         redness=0.0, cloud=0.0, colour=None)  # fmt: skip


def outline(p: Params) -> list[tuple[float, float]]:
    """Right half from the vertex to the chin, then the left half back."""
    j, c = p["face"]["jaw"], p["face"]["chin"]
    half = [(128.0, 20.0), (160.0, 25.0), (184.0, 47.0), (194.0, 80.0), (195.0, 115.0),
            (191.0 + 0.3 * j, 145.0), (183.0 + 0.8 * j, 175.0), (167.0 + j, 205.0 + 0.5 * c),
            (148.0 + 0.5 * j, 226.0 + c)]  # fmt: skip
    left = [(256.0 - x, y) for x, y in half[:0:-1]]
    return [*half, (128.0, 232.0 + c), *left]


def face_relief(st: Stage, p: Params) -> Field:
    """Height of the face in design units: a rounded head plus its features."""
    n = p["face"]["nose"]
    gap = p["face"]["gap"]
    g = st.gauss
    h = 62.0 * st.dome(128, 126, 80, 124)
    ridge = shapes.smoothstep(104, 156, st.v) * shapes.smoothstep(169, 159, st.v)
    wide = (4.6 + 3.2 * shapes.smoothstep(112, 156, st.v)) * n
    h = h + 10.0 * ridge * np.exp(-0.5 * ((st.u - 128) / wide) ** 2)
    h = h + 5.5 * g(128, 156.5, 7.0 * n, 6.5) - 2.5 * g(128, 169, 9, 3.5)
    for s in (-1, 1):
        h = h + 4.6 * g(128 + s * 11.5 * n, 160, 4.6 * n, 5.2)
        h = h - 1.6 * g(128 + s * 18 * n, 161, 3, 7)
        h = h + 3.4 * g(128 + s * 27, 107, 19, 7) - 6.5 * g(128 + s * (gap - 3), 119, 15, 9)
        h = h + 4.2 * g(128 + s * gap, 123, 11, 8) + 4.0 * g(128 + s * 38, 148, 18, 16)
        h = h - 2.0 * g(128 + s * 27, 176, 5, 13, s * 0.55) + 1.0 * g(128 + s * 3.5, 174, 1.8, 6)
    h = h + 1.8 * g(128, 180, 20, 5) + 2.6 * g(128, 196, 17, 6) + 5.5 * g(128, 219, 17, 11)
    h = h - 3.2 * g(128, 205, 17, 4.5) - 1.0 * g(128, 174, 2.4, 6) + 3.0 * g(128, 72, 40, 20)
    return np.asarray(h)


def draw_nostrils(st: Stage, image: Image, base: Field, n: float) -> Image:
    for s in (-1, 1):
        wing = [(128 + s * x * n, y) for x, y in shapes.OUTLINES["portrait wing"]]
        fold = st.stroke(wing, (0.3, 1.9, 2.2, 0.6), soft=0.8)
        image = tint(image, 0.35 * fold, 0.55 * fold)
        hole = st.ellipse(128 + s * 7.6 * n, 165.2, 4.6 * n, 2.2, s * 0.28, soft=0.55)
        image = mix(image, tint(base, 0.9, 1.5) * 0.36, 0.92 * hole)
    under = st.gauss(128, 170.5, 13 * n, 3.2)
    return tint(image, 0.12 * under, 0.32 * under)


def draw_brows(st: Stage, image: Image, p: Params, thick: float) -> Image:
    gap = p["face"]["gap"]
    for s in (-1, 1):
        paint = partial(_brow, p=p, s=s, thick=thick)
        image = st.inside(image, 128 + s * (gap + 2), 105, 28, paint)
    return image


def _brow(st: Stage, image: Image, p: Params, s: int, thick: float) -> Image:
    """Overlapping short hairs that lie flatter towards the temple, over a soft shadow."""
    colour = np.array(HAIR[p["face"]["hair"]]) * 0.8 + 0.01
    gap = p["face"]["gap"]
    arch = [(128 + s * (gap + x), y) for x, y in ((-17, 108), (0, 104), (20, 109))]
    image = mix(image, colour, 0.40 * st.stroke(arch, (3.5, 4.2, 0.5), soft=1.6))
    close = min(max(st.zoom, 1.0), 3.0)
    rng = st.rng(f"brow{s}")
    n = int(240 * close**0.8)
    at = rng.random(n)
    lane = (rng.random(n) + rng.random(n) - 1.0) * (3.6 - 2.4 * at) * thick
    arc = -5.2 * np.sin(np.pi * np.clip(at * 0.86 + 0.02, 0, 1)) + 4.0 * at
    x = 128 + s * (gap - 18 + 40 * at)
    y = 108.5 + arc + lane
    lean = 1.15 - 1.15 * at - lane * 0.12 + (rng.random(n) - 0.5) * 0.5
    t = np.linspace(0, 1, 5)
    size = (4.0 + 2.0 * rng.random(n))[:, None]
    px = x[:, None] + s * size * t * 0.95
    py = y[:, None] - size * np.sin(lean)[:, None] * (t - 0.45 * t**2) * 0.75
    wide = np.broadcast_to(0.36 / close**0.45 * (1 - 0.75 * t) * thick, (n, 5))
    return mix(image, colour, 0.66 * st.strokes(np.stack([px, py], axis=-1), wide))


def _hair_radii(angle: Field, recede: float, volume: float) -> tuple[Field, Field]:
    """Hairline and outer radius about (128, 120) for an angle from one ear to the other."""
    a = np.abs(angle - np.pi / 2) * 2 / np.pi  # 0 on the midline, 1 at the ears
    marks = [0.0, 0.2, 0.41, 0.66, 0.85, 1.0, 1.3]
    line = np.interp(a, marks, [62.0, 63.0, 66.5, 63.5, 65.0, 67.0, 70.0])
    back = np.interp(a, marks, [8.0, 19.0, 25.0, 10.0, 1.0, 0.0, 0.0])
    outer = np.interp(a, marks, [101.0, 102.5, 97.0, 80.0, 71.0, 68.5, 68.0])
    full = np.interp(a, marks, [1.0, 1.0, 1.0, 0.9, 0.5, 0.15, 0.05])
    return line + recede * back, outer + volume * full


def _hair_layer(st: Stage, p: Params, recede: float) -> Image:
    """Premultiplied hair combed back from the hairline: a dark cap, then layers of strands."""
    f = p["face"]
    colour = np.array(HAIR[f["hair"]])
    dx, dy = st.u - 128, 120 - st.v
    angle = np.arctan2(dy, dx)
    angle = np.where(angle < -np.pi / 2, angle + 2 * np.pi, angle)
    radius = np.sqrt(dx * dx + dy * dy)
    r0, r1 = _hair_radii(angle, recede, f["volume"])
    ragged = 1.4 * st.fractal("hairline", 5.0, 2)
    cap = shapes.smoothstep(0.0, 7.0, radius - r0 + ragged)
    cap = cap * shapes.smoothstep(1.0, -1.5, radius - r1 + ragged)
    cap = cap * shapes.smoothstep(-0.20, -0.05, np.sin(angle))
    under = colour * 0.62 * (0.8 + 0.4 * shapes.smoothstep(0, 40, radius - r0))[..., None]
    layer = np.concatenate([under * 0.96, np.full_like(cap, 0.96)[..., None]], axis=-1)
    layer *= cap[..., None]
    t = np.linspace(0.0, 1.0, 14)
    # Outer layers first, so that the roots along the hairline stay on top.
    for level, (lo, hi) in enumerate(((0.6, 0.9), (0.34, 0.65), (0.1, 0.4), (0, 0.12))):
        rng = st.rng(f"hair{level}")
        n = 620
        a = -0.12 + (np.pi + 0.24) * rng.random(n)
        s0, s1 = _hair_radii(a, recede, f["volume"])
        depth = s1 - s0
        start = s0 + depth * (lo + (hi - lo) * rng.random(n))
        length = np.minimum(depth * 0.75, (16 + 16 * rng.random(n)))
        r = start[:, None] + length[:, None] * t
        r = np.minimum(r, s1[:, None] + 1.5 * (rng.random(n)[:, None] - 0.3))
        bend = (f["sweep"] * 0.22 + 0.16 * (rng.random(n) - 0.5))[:, None] * t**1.5
        wave = 0.012 * np.sin(9 * t + 20 * rng.random(n)[:, None])
        path = a[:, None] + bend + wave
        xy = np.stack([128 + r * np.cos(path), 120 - r * np.sin(path)], axis=-1)
        shine = np.exp(-(((start - s0) / np.maximum(depth, 1) - 0.42) ** 2) / 0.05)
        side = 0.5 + 0.5 * np.cos(a - (1.0 if p["light"][0] > 0 else 2.1))
        bright = 0.65 + 0.6 * rng.random(n) + 0.55 * shine * side
        alpha, tone = st.strands(xy, 0.50 + 0.3 * rng.random(n), bright)
        strand = colour * tone[..., None] + 0.05 * np.clip(tone - 1.1, 0, None)[..., None]
        lay_strands(layer, strand, alpha)
    return layer


def lay_strands(layer: Image, strand: Image, alpha: Field) -> None:
    """Paint strands over a premultiplied layer, in place."""
    layer *= (1.0 - alpha)[..., None]
    layer[..., :3] += strand * alpha[..., None]
    layer[..., 3] += alpha


def draw_hair(st: Stage, image: Image, p: Params, recede: float) -> Image:
    """Lay the hair over the head."""
    layer = st.once(f"hair {recede:.4f}", lambda: _hair_layer(st, p, recede))
    return image * (1.0 - layer[..., 3:]) + layer[..., :3]


def _behind(st: Stage, p: Params, base: Field, light: Light) -> Image:
    """Backdrop, long hair behind the neck, neck, shirt and ears."""
    f = p["face"]
    image = backdrop(st, p["backdrop"])
    hair = np.array(HAIR[f["hair"]])
    if f["long"]:
        fall = st.poly(shapes.OUTLINES["portrait fall"])
        lines = st.fractal("fall", 4.0, 3, stretch=14.0)
        image = mix(image, hair * (0.75 + 0.22 * lines)[..., None], fall)
    neck = st.poly(shapes.OUTLINES["portrait neck"])
    bulk = 34 * st.inflate(neck, 22) * st.zoom
    throat = skin(st, base, bulk, light, blood=0.05, melanin=0.18)
    jaw = st.blur(st.poly(outline(p)), 9)
    image = mix(image, throat * (1 - 0.55 * jaw)[..., None], neck)
    shirt = st.poly(shapes.OUTLINES["portrait shirt"])
    cloth = shade(8 * st.inflate(shirt, 14) * st.zoom + 2 * st.fractal("shirt", 18, 3), light)[0]
    dyed = BACKDROPS[f["shirt"]] * 0.9
    image = mix(image, dyed * (0.4 + 0.6 * cloth)[..., None], shirt)
    for s in (-1, 1):
        image = st.inside(image, 128 + s * 68, 136, 24, partial(_ear, base=base, light=light, s=s))
    return image


def _ear(st: Stage, image: Image, base: Field, light: Light, s: int) -> Image:
    ear = st.ellipse(128 + s * 68, 136, 8.5, 20, -s * 0.12)
    bump = 7 * st.dome(128 + s * 68, 136, 8.5, 20, -s * 0.12)
    bump = bump - 4 * st.gauss(128 + s * 67, 136, 3.2, 11)
    return mix(image, skin(st, base, bump * st.zoom, light, blood=0.16), ear)


def _bare(st: Stage, p: Params, edit: Edit) -> Image:
    """Everything but the edited eye, the overlay and the hair."""
    light = (p["light"][0], p["light"][1], p["light"][2])
    base = skin_tone(p)
    f = p["face"]
    head = st.once("head", lambda: st.poly(outline(p)))
    drop, soft = 8 * st.zoom, 9 * st.zoom
    behind = partial(_behind, st, p, base, light)
    image = st.once("behind", lambda: cast(behind(), head, 0, drop, soft, 0.35))
    g = st.gauss
    blush = 0.13 * (g(90, 152, 17, 14) + g(166, 152, 17, 14)) + 0.14 * g(128, 157, 10, 9)
    relief = (st.once("relief", lambda: face_relief(st, p)) + edit.relief) * st.zoom
    face = skin(st, base, relief, light, blood=blush + edit.blood,
                melanin=edit.melanin + 0.18 * g(128, 206, 20, 4),
                pores=min(0.40 + 0.24 * st.zoom, 1.4), gloss=0.11, sharp=12.0)  # fmt: skip
    image = mix(image, face, head)
    image = st.inside(image, 128, 166, 46, lambda w, part: draw_nostrils(w, part, base, f["nose"]))
    full = edit.full * f["lips"]
    image = st.inside(image, 128, 188, 36, lambda w, part: draw_lips(w, part, base, light, full))
    image = draw_brows(st, image, p, f["brow"])
    other = eyes_of(p, edit)[1]
    return st.inside(image, other.cx, other.cy, 32, lambda w, part: draw_eye(w, part, base, other))


def portrait(st: Stage, p: Params, edit: Edit) -> Image:
    """The whole face with one edit applied."""
    base = skin_tone(p)
    plain = all(isinstance(x, float) for x in (edit.blood, edit.melanin, edit.relief))
    if plain:
        key = f"bare {edit.blood} {edit.melanin} {edit.relief} {edit.full}"
        image = st.once(key, lambda: _bare(st, p, edit))
    else:
        image = _bare(st, p, edit)
    look = eyes_of(p, edit)[0]
    image = st.inside(image, look.cx, look.cy, 32, lambda w, part: draw_eye(w, part, base, look))
    image = edit.over(image)
    if st.zoom < 2.2:
        image = draw_hair(st, image, p, edit.recede)
    return photo(st, image)
