"""One human eye, drawn at any zoom: lids, lashes, sclera with vessels, iris and pupil."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from medebench.phantoms.drawings import shapes
from medebench.phantoms.drawings.light import mix, tint
from medebench.phantoms.drawings.noise import wave
from medebench.phantoms.drawings.stage import Field, Image, Points, Stage

IRISES = ((0.20, 0.11, 0.06), (0.32, 0.19, 0.09), (0.42, 0.32, 0.16), (0.34, 0.42, 0.28),
          (0.32, 0.47, 0.60), (0.45, 0.53, 0.57))  # fmt: skip


@dataclass(frozen=True)
class EyeLook:
    """State of one eye; the edits of the eye tasks change exactly one of these."""

    name: str
    cx: float
    cy: float
    outer: int  # +1 when the outer corner lies at larger x
    half: float = 15.0
    open: float = 1.0
    gaze: float = 0.0
    iris: int = 1
    redness: float = 0.0
    cloud: float = 0.0
    lash: float = 1.0
    #: Another colour than that of `iris`.
    colour: tuple[float, float, float] | None = None


def _lids(e: EyeLook) -> tuple[Points, Points]:
    """Upper and lower lid margins from the inner to the outer corner."""
    lift = 0.50 * e.open
    up = [(-1.0, 0.14), (-0.80, 0.02 - lift * 0.42), (-0.42, -lift * 0.88), (0.02, -lift * 1.02),
          (0.48, -lift * 0.84), (0.82, -lift * 0.36), (1.0, -0.03)]  # fmt: skip
    low = shapes.OUTLINES["eye low"]
    scale = np.array([e.half * e.outer, e.half])
    centre = np.array([e.cx, e.cy])
    upper, lower = (shapes.spline(np.array(lid) * scale + centre) for lid in (up, low))
    return upper, lower


def _level(st: Stage, curve: Points) -> Field:
    """Height of a lid margin above every pixel column of the design frame."""
    order = np.argsort(curve[:, 0])
    level: Field = np.interp(st.u, curve[order, 0], curve[order, 1])
    return level


def _iris(st: Stage, e: EyeLook, x: Field, y: Field, skin_dark: float) -> tuple[Image, Field]:
    r = np.sqrt(x * x + y * y) / (0.475 * e.half)
    angle = (np.arctan2(y, x) / (2 * np.pi) + 0.5) * 64.0
    rng = st.rng(e.name + "-iris")
    fibre = wave(rng, angle, 3, 0.8)
    crypt = wave(rng, angle * 0.5 + r * 2.0, 2)
    base = np.array(e.colour or IRISES[e.iris])
    light = 1.0 + 0.28 * fibre * shapes.smoothstep(1.0, 0.5, r) + 0.14 * crypt
    ring = np.exp(-(((r - 0.52 - 0.04 * crypt) / 0.10) ** 2))
    colour = base * light[..., None] * (1.12 - 0.25 * r)[..., None]
    colour = mix(colour, np.array([0.45, 0.28, 0.12]), 0.35 * ring)
    colour = colour * (1.0 - 0.75 * shapes.smoothstep(0.80, 1.02, r))[..., None]
    soft = 0.6 / st.zoom / (0.475 * e.half) + 0.03
    pupil = shapes.smoothstep(0.40 + soft, 0.40 - soft, r)
    core = np.array([0.015, 0.013, 0.015])
    colour = mix(colour, core, pupil)
    if e.cloud > 0:
        milk = st.fractal(e.name + "-milk", 3.0, 3)
        veil = np.clip(e.cloud * (0.88 + 0.10 * milk - 0.16 * r**2), 0.0, 1.0)
        spokes = 0.05 * wave(st.rng(e.name + "-spokes"), angle * 0.2, 2)
        white = np.array([0.74, 0.77, 0.76]) * (1.0 - 0.25 * r + spokes)[..., None]
        colour = mix(colour, white, veil * shapes.smoothstep(0.46, 0.34, r))
    disc = shapes.smoothstep(1.0 + soft, 1.0 - soft, r)
    return colour * (0.95 - 0.1 * skin_dark), disc


def _vessels(st: Stage, e: EyeLook, strong: bool) -> Field:
    """Thin branching vessels from both corners towards the iris."""
    rng = st.rng(e.name + "-vessels")
    count = 46
    t = np.linspace(0.0, 1.0, 9)
    corner = np.where(rng.random(count) < 0.5, -1.0, 1.0)
    start_y = (rng.random(count) - 0.45) * 0.75
    reach = 0.30 + 0.30 * rng.random(count)
    walk = np.cumsum((rng.random((count, 9)) - 0.5) * 0.10, axis=1)
    x = corner[:, None] * (1.02 - reach[:, None] * t)
    y = start_y[:, None] * (0.5 + 0.5 * t) + walk
    keep = count if strong else 14
    paths = np.stack([e.cx + x * e.half * e.outer, e.cy + y * e.half], axis=-1)[:keep]
    thick = (0.22 + 0.30 * rng.random(count))[:keep, None] * (1.0 - 0.7 * t)[None, :]
    return st.strokes(paths, thick * e.half / 15.0)


def draw_eye(st: Stage, image: Image, base: Field, e: EyeLook) -> Image:
    """Paint the eye over skin that already carries its relief."""
    h = e.half
    up, low = _lids(e)
    margin = st.place(np.concatenate([up, low[::-1]]))
    open_mask = shapes.coverage(margin, st.shape)
    upper, lower = _level(st, up), _level(st, low)
    dark = 1.0 - float(base.mean())

    # Upper lid: crease, and the shadow of the brow above it.
    lid = 0.30 + 0.13 * (1.0 - e.open)
    level = up[:, 1] * 0.72 + (e.cy - lid * h) * 0.28 - lid * h * 0.50
    crease = np.stack([up[:, 0], level], axis=1)
    fold = st.stroke(crease[4:-2:5], (0.1, 0.12 * h, 0.13 * h, 0.12 * h, 0.04 * h), soft=0.03 * h)
    image = tint(image, 0.20 * fold, 1.0 * fold)
    bag = st.stroke(low[6:-6:6] + np.array([0.0, 0.34 * h]), (0.0, 0.10 * h, 0.0), soft=0.10 * h)
    image = tint(image, 0.25 * bag, 0.28 * bag)
    socket = st.gauss(e.cx, e.cy, h * 0.70, h * 0.50)
    image = tint(image, 0.10 * socket, 0.14 * socket)

    # Eyeball.
    x = (st.u - e.cx - e.gaze * 0.3 * h) * 1.0
    y = st.v - (e.cy - 0.07 * h)
    sclera = np.array([0.93, 0.905, 0.88]) * (1 - 0.06 * dark)
    ball = 1.0 - 0.34 * ((st.u - e.cx) / h) ** 2
    eye = np.broadcast_to(sclera, image.shape) * ball[..., None]
    corner = ((st.u - e.cx) / h) ** 2
    eye = tint(eye, 0.05 + 0.22 * corner**2 + 0.03 * st.fractal(e.name + "-white", 5.0, 2))
    eye = tint(eye, 0.42 * _vessels(st, e, False))
    if e.redness > 0:
        flush = e.redness * (0.42 + 0.40 * corner + 0.10 * st.fractal(e.name + "-white", 5.0, 2))
        eye = tint(eye, flush)
        eye = tint(eye, 1.15 * e.redness * _vessels(st, e, True))
    iris, disc = _iris(st, e, x, y, dark)
    eye = mix(eye, iris, disc)
    pink = st.ellipse(e.cx - e.outer * 0.90 * h, e.cy + 0.13 * h, 0.13 * h, 0.09 * h, soft=0.05 * h)
    eye = mix(eye, tint(np.array([0.86, 0.62, 0.56]), 0.2), 0.85 * pink)
    shadow = np.exp(-np.clip(st.v - upper, 0.0, None) / (0.13 * h))
    under = np.exp(-np.clip(lower - st.v, 0, None) / (0.1 * h))
    eye = eye * (1.0 - 0.62 * shadow - 0.12 * under)[..., None]
    glint = st.ellipse(e.cx - 0.16 * h, e.cy - 0.24 * h, 0.085 * h, 0.10 * h, 0.3, soft=0.02 * h)
    glint = glint + 0.35 * st.ellipse(e.cx + 0.18 * h, e.cy + 0.12 * h, 0.05 * h, 0.04 * h)
    eye = eye + (glint * 0.92)[..., None]
    image = mix(image, eye, open_mask)

    # Lid margins and lashes.
    wet = st.stroke(low[4::7] + np.array([0.0, 0.015 * h]), 0.075 * h, soft=0.02 * h)
    rim = tint(base * 1.02, 0.30) + 0.04
    image = mix(image, rim, 0.75 * wet)
    line = st.stroke(up[4::7], (0.03 * h, 0.085 * h, 0.11 * h, 0.12 * h, 0.06 * h), soft=0.012 * h)
    image = mix(image, (0.07, 0.045, 0.04), (0.55 + 0.4 * min(e.lash, 1.0)) * line * 0.9)
    return _lashes(st, image, e, up, low)


def _lashes(st: Stage, image: Image, e: EyeLook, up: Points, low: Points) -> Image:
    h, s = e.half, e.outer
    t = np.linspace(0.0, 1.0, 6)
    for curve, count, length, way in ((up, 46, 0.25, -1.0), (low, 30, 0.13, 1.0)):
        rng = st.rng(f"{e.name}-lash{way}")
        at = 0.12 + 0.86 * (np.arange(count) + rng.random(count) * 0.8) / count
        root = np.stack([np.interp(at * (len(curve) - 1), np.arange(len(curve)), curve[:, k])
                         for k in (0, 1)], axis=1)  # fmt: skip
        fan = (at - 0.42) * 1.35 + (rng.random(count) - 0.5) * 0.22
        size = h * length * e.lash * (0.65 + 0.35 * rng.random(count)) * np.sin(np.pi * at) ** 0.4
        droop = 0.25 + 0.5 * max(0.0, 1.0 - e.open) if way < 0 else 0.0
        px = root[:, :1] + size[:, None] * s * (fan[:, None] * t + 0.35 * fan[:, None] * t**2)
        py = root[:, 1:] + way * size[:, None] * (t - droop * (t - t**2) * 2.0)
        wide = np.broadcast_to(0.040 * h * (1.0 - 0.85 * t), (count, 6))
        hairs = st.strokes(np.stack([px, py], axis=-1), wide * (1.0 if way < 0 else 0.7))
        image = mix(image, (0.06, 0.04, 0.035), (0.88 if way < 0 else 0.5) * hairs)
    return image
