"""Light and colour: skin tones, shading of height fields, backdrops, film and sensor."""

from __future__ import annotations

import numpy as np

from medebench.phantoms.drawings import shapes
from medebench.phantoms.drawings.phantom_spec import BACKDROPS, Params
from medebench.phantoms.drawings.stage import SIZE, Field, Image, Light, Stage

RGB = tuple[float, float, float]

# Photographed skin from very light to very dark (sRGB, 0..1).
_TONES = (np.array([(246, 212, 192), (238, 194, 166), (226, 174, 140), (206, 150, 114),
                    (178, 122, 88), (146, 96, 68), (114, 73, 52), (84, 53, 40), (62, 40, 32)],
                   dtype=np.float64) / 255.0)  # fmt: skip
_MELANIN = np.array([0.55, 0.85, 1.05])
_BLOOD = np.array([0.10, 0.80, 0.66])


def skin_tone(p: Params) -> Field:
    """Base colour for tone 0 (light) .. 1 (dark); undertone -1 cool/pink .. 1 golden."""
    at = p["tone"] * (len(_TONES) - 1)
    i = min(int(at), len(_TONES) - 2)
    base: Field = _TONES[i] + (_TONES[i + 1] - _TONES[i]) * (at - i)
    base *= np.array([1.0, 1.0 + 0.025 * p["undertone"], 1.0 - 0.07 * p["undertone"]])
    return base


def _window(*alphas: Field) -> tuple[slice, slice] | None:
    """Smallest window outside which every alpha is negligible (most paint is local)."""
    active = np.abs(alphas[0]) > 4e-4
    for alpha in alphas[1:]:
        active |= np.abs(alpha) > 4e-4
    return shapes.extent(active)


def mix(image: Image, colour: Field | RGB, alpha: Field) -> Image:
    """Blend a colour (or image) over an image."""
    window = _window(alpha)
    if window is None:
        return image
    over = np.asarray(colour, dtype=np.float64)
    if over.ndim == 3:
        over = over[window]
    out = image.copy()
    part = out[window]
    out[window] = part + (over - part) * alpha[window][..., None]
    return out


def tint(image: Image, blood: Field | float = 0.0, melanin: Field | float = 0.0) -> Image:
    """Absorb light as haemoglobin and melanin do, which keeps lesions plausible on any tone."""
    b, m = np.asarray(blood, dtype=np.float64), np.asarray(melanin, dtype=np.float64)
    if image.ndim == 1 or (b.ndim == 0 and m.ndim == 0):
        flat: Image = image * np.exp(-(b[..., None] * _BLOOD + m[..., None] * _MELANIN))
        return flat
    b, m = np.broadcast_arrays(b, m)
    window = _window(b, m)
    if window is None:
        return image
    out = image.copy()
    b, m = b[window], m[window]
    for c in range(3):
        out[(*window, c)] *= np.exp(-(b * _BLOOD[c] + m * _MELANIN[c]))
    return out


def shade(height: Field, light: Light, power: float = 24.0) -> tuple[Field, Field]:
    """Wrapped diffuse and specular terms of a height field (pixels) under one light."""
    gy, gx = np.gradient(height)
    inv = 1.0 / np.sqrt(gx * gx + gy * gy + 1.0)
    norm = float(np.sqrt(light[0] ** 2 + light[1] ** 2 + light[2] ** 2))
    lx, ly, lz = (c / norm for c in light)
    diffuse = np.clip(((-gx * lx - gy * ly + lz) * inv + 0.25) / 1.25, 0.0, None)
    hz = lz + 1.0
    hn = float(np.sqrt(lx * lx + ly * ly + hz * hz))
    facing = np.clip((-gx * lx - gy * ly + hz) * (inv / hn), 1e-4, None)
    return diffuse, np.exp(power * np.log(facing))  # much faster than a float power


def skin(
    st: Stage,
    base: Field,
    height: Field,
    light: Light,
    *,
    blood: Field | float = 0.0,
    melanin: Field | float = 0.0,
    pores: float = 1.0,
    gloss: float = 0.12,
    sharp: float = 18.0,
    ambient: float = 0.38,
) -> Image:
    """Lit skin: mottled pigment, blood, pores in the relief and a warm shadow edge."""
    mottle = st.fractal("skin-mottle", 26.0, 3)
    flush = st.fractal("skin-flush", 40.0, 2)
    colour = tint(np.broadcast_to(base, (*mottle.shape, 3)), 0.07 * flush + blood,
                  0.035 * mottle + melanin)  # fmt: skip
    fine = st.fractal("skin-pores", 1.6, 2, gain=0.8)
    relief = height + pores * (0.13 * fine + 0.05 * st.fractal("skin-relief", 6.0, 2))
    diffuse, specular = shade(relief, light, sharp)
    lit = ambient + (1.0 - ambient) * diffuse
    # A photographer exposes dark skin longer; shadows lose blue and green first because
    # light that scatters inside skin comes out red.
    gain = 1.0 + 0.55 * float(np.clip(0.72 - base.mean(), 0.0, None))
    out = np.empty((*mottle.shape, 3))
    log_lit = np.log(lit)
    for c, power in enumerate((0.85, 1.02, 1.10)):
        out[..., c] = colour[..., c] * (np.exp(power * log_lit) * gain)
    sheen = gloss * specular * (1.0 + 0.2 * fine)
    out += np.clip(sheen, 0.0, None)[..., None] * np.array([1.0, 0.97, 0.94])
    return out


def backdrop(st: Stage, number: int, cloth: float = 0.0) -> Image:
    """Out-of-focus studio backdrop, or a drape when ``cloth`` > 0."""
    glow = 1.08 - 0.28 * ((st.px - 110) ** 2 + (st.py - 90) ** 2) / 256.0**2
    glow = glow + 0.03 * st.fractal("backdrop", 90.0 / st.zoom, 2)
    if cloth:
        folds = st.fractal("cloth", 60.0 / st.zoom, 3)
        glow = glow * (0.75 + 0.35 * shade(folds * 9.0 * cloth, (-0.5, -0.6, 0.8))[0])
        weave = np.sin(st.px * 2.1) * np.sin(st.py * 2.1)
        glow = glow + 0.012 * weave
    image: Image = glow[..., None] * BACKDROPS[number]
    return image


def cast(image: Image, mask: Field, dx: float, dy: float, sigma: float, depth: float) -> Image:
    """Soft shadow that a shape throws on what lies behind it."""
    rows, cols = mask.shape
    iy = np.clip(np.arange(rows) - round(dy), 0, rows - 1)
    ix = np.clip(np.arange(cols) - round(dx), 0, cols - 1)
    moved = mask[iy[:, None], ix]
    return image * (1.0 - depth * shapes.blur(moved, sigma))[..., None]


def photo(st: Stage, image: Image, noise: float = 0.010, vignette: float = 0.22) -> Image:
    """Camera: gentle falloff to the corners and sensor noise with a little colour."""
    r2 = ((st.px - 128) ** 2 + (st.py - 128) ** 2) / (2 * 128.0**2)
    out = image * (1.0 - vignette * r2**1.3)[..., None]
    out = out / (1.0 + np.clip(out - 0.86, 0.0, None) * 0.9)  # soft shoulder, no hard clipping
    luma = st.grain("sensor") * noise
    for c, name in enumerate(("sensor-r", "sensor-g", "sensor-b")):
        out[..., c] += luma + 0.4 * noise * st.grain(name)
    return out


def film(st: Stage, density: Field, *, noise: float = 0.022, gamma: float = 0.9) -> Image:
    """Radiograph: tissue thickness to brightness, screen blur and quantum mottle."""
    grey = 1.0 - np.exp(-np.clip(density, 0.0, None) * 1.35)
    grey = shapes.blur(grey, 0.7) ** gamma
    quanta = shapes.blur(st.grain("quanta"), 0.55) * 1.7
    out = grey + noise * quanta * np.sqrt(0.12 + grey) + 0.006 * st.grain("film")
    return np.repeat(out[..., None], 3, axis=-1)


def collimate(st: Stage, image: Image, frame: list[float]) -> Image:
    """Shutter borders of a radiograph, their widths in pixels from the left clockwise."""
    left, top, right, bottom = frame[0], frame[1], SIZE - frame[2], SIZE - frame[3]
    ramp = shapes.smoothstep
    gate = ramp(left - 1, left + 2, st.px) * ramp(right + 1, right - 2, st.px)
    gate = gate * ramp(top - 1, top + 2, st.py) * ramp(bottom + 1, bottom - 2, st.py)
    dark = 0.025 + 0.006 * st.grain("film")
    return image * gate[..., None] + (dark * (1 - gate))[..., None]
