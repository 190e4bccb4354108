"""Lips in design coordinates of the portrait, drawn over skin."""

from __future__ import annotations

import numpy as np

from medebench.phantoms.drawings import shapes
from medebench.phantoms.drawings.light import mix, shade, tint
from medebench.phantoms.drawings.noise import wave
from medebench.phantoms.drawings.stage import Field, Image, Light, Stage

#: Where the mouth is, and half its width.
CX, CY, HALF = 128.0, 187.0, 25.0


def lip_masks(st: Stage, full: float) -> tuple[Field, Field]:
    """Coverage of the upper and the lower lip."""
    upper = [(-1.0, 0.02), (-0.62, -0.17 * full), (-0.20, -0.36 * full), (-0.10, -0.355 * full),
             (0.0, -0.29 * full), (0.10, -0.355 * full), (0.20, -0.36 * full),
             (0.62, -0.17 * full), (1.0, 0.02), (0.55, 0.04), (0.15, 0.045), (0.0, 0.075),
             (-0.15, 0.045), (-0.55, 0.04)]  # fmt: skip
    lower = [(-0.97, 0.03), (-0.5, 0.035), (0.0, 0.06), (0.5, 0.035), (0.97, 0.03),
             (0.66, 0.05 + 0.24 * full), (0.34, 0.05 + 0.40 * full), (0.0, 0.05 + 0.44 * full),
             (-0.34, 0.05 + 0.40 * full), (-0.66, 0.05 + 0.24 * full)]  # fmt: skip
    centre = np.array([CX, CY])
    return st.poly(np.array(upper) * HALF + centre), st.poly(np.array(lower) * HALF + centre)


def draw_lips(st: Stage, image: Image, base: Field, light: Light, full: float) -> Image:
    """Vermilion with vertical creases, a wet highlight and the dark line between the lips."""
    cx, cy, half = CX, CY, HALF
    upper, lower = lip_masks(st, full)
    both = np.clip(upper + lower, 0.0, 1.0)
    soft = st.blur(both, 0.02 * half)
    dark = 1.0 - float(base.mean())
    colour = tint(base, 0.62 * (1 - 0.35 * dark), 0.10 + 0.22 * dark)
    # Creases fan out from the mouth line, so the noise runs along a bent x coordinate.
    x, y = (st.u - cx) / half, (st.v - cy) / half
    bend = x / (1.0 + 0.35 * np.abs(y)) + 0.015 * st.fractal("lip-bend", 6.0, 2)
    crease = wave(st.rng("lip-crease"), bend * 26.0 + 300.0, 3, 0.7)
    height = st.inflate(upper, 0.13 * half) * 0.13 * half
    height = (height + st.inflate(lower, 0.16 * half) * 0.20 * half) * st.zoom
    height = height - 0.014 * half * st.zoom * np.abs(crease) * both
    diffuse, spec = shade(shapes.blur(height, 0.5), light, 30.0)
    lit = (0.42 + 0.62 * diffuse)[..., None]
    body = colour * lit ** np.array([0.85, 1.0, 1.05]) * (1.06 - 0.05 * np.abs(crease))[..., None]
    wet = np.clip(spec * (0.85 + 0.4 * crease), 0.0, None)
    body = body + (0.30 * wet * lower + 0.14 * wet * upper)[..., None]
    body = tint(body, 0.05 * st.fractal("lip-flush", 8.0, 3))
    image = mix(image, body, soft)
    rim = np.clip(st.blur(both, 0.05 * half) - both, 0.0, 1.0)
    image = tint(image, 0.25 * rim, 0.12 * rim)
    line = np.array(shapes.OUTLINES["lips mouth"]) * half + np.array([cx, cy])
    seam = st.stroke(line, (0.03 * half, 0.075 * half, 0.09 * half, 0.075 * half, 0.03 * half),
                     soft=0.02 * half)  # fmt: skip
    image = mix(image, tint(base, 1.0, 1.6) * 0.45, 0.85 * seam)
    for s in (-1.0, 1.0):
        corner = st.gauss(cx + s * 1.03 * half, cy + 0.03 * half, 0.10 * half, 0.09 * half)
        image = tint(image, 0.25 * corner, 0.45 * corner)
    below = st.gauss(cx, cy + (0.10 + 0.50 * full) * half, 0.45 * half, 0.07 * half)
    return tint(image, 0.10 * below, 0.28 * below)
