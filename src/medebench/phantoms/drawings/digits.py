"""Fingers and toes: limbs as chains of tapered capsules, plus nails."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from medebench.phantoms.drawings.light import mix, shade, tint
from medebench.phantoms.drawings.shapes import OUTLINES
from medebench.phantoms.drawings.stage import Field, Image, Light, Stage


@dataclass(frozen=True)
class Chain:
    """A limb from base to tip with a radius at every joint."""

    joints: list[tuple[float, float]]
    radii: list[float]


@dataclass(frozen=True)
class Limb:
    """Signed distance (design units), height, and the creases between neighbours."""

    distance: Field
    height: Field
    crease: Field


def _segment(st: Stage, a: tuple[float, float], b: tuple[float, float], ra: float, rb: float
             ) -> Field:  # fmt: skip
    bx, by = b[0] - a[0], b[1] - a[1]
    px, py = st.u - a[0], st.v - a[1]
    t = np.clip((px * bx + py * by) / (bx * bx + by * by + 1e-9), 0.0, 1.0)
    dx, dy = px - t * bx, py - t * by
    return np.sqrt(dx * dx + dy * dy) - (ra + (rb - ra) * t)


def smooth_min(a: Field, b: Field, k: float) -> Field:
    h = np.clip(0.5 + 0.5 * (b - a) / k, 0.0, 1.0)
    return b + (a - b) * h - k * h * (1.0 - h)


def chain_distance(st: Stage, chain: Chain, k: float = 3.0) -> Field:
    j, r = chain.joints, chain.radii
    out = _segment(st, j[0], j[1], r[0], r[1])
    for i in range(1, len(j) - 1):
        out = smooth_min(out, _segment(st, j[i], j[i + 1], r[i], r[i + 1]), k)
    return out


def _profile(distance: Field, radius: float) -> Field:
    t = np.clip(-distance / radius, 0.0, 1.0)
    return radius * np.sqrt(1.0 - (1.0 - t) ** 2)


def build_limb(
    st: Stage, digits: list[Chain], body: list[Chain], blend: float, bulk: float
) -> Limb:
    """Union of digits and a body; digits keep a crease where they touch each other."""
    key = f"limb {digits} {body}"  # the before and after images often share the pose
    fields = st.once(key, lambda: _build(st, digits, body, blend, bulk))
    return Limb(fields[..., 0], fields[..., 1], fields[..., 2])


def _build(st: Stage, digits: list[Chain], body: list[Chain], blend: float, bulk: float) -> Field:
    trunk = chain_distance(st, body[0], blend)
    for chain in body[1:]:
        trunk = smooth_min(trunk, chain_distance(st, chain, blend), blend)
    first = np.full_like(trunk, 1e3)
    second = first
    height = np.zeros_like(trunk)
    for chain in digits:
        d = st.once(f"chain {chain}", partial(chain_distance, st, chain))
        second = np.minimum(second, np.maximum(first, d))
        first = np.minimum(first, d)
        height = np.maximum(height, _profile(d, 0.5 * (chain.radii[0] + chain.radii[-1])))
    total = smooth_min(first, trunk, blend * 0.7)
    height = np.maximum(height, st.blur(_profile(trunk, bulk), 2.0))
    gap = np.exp(-(((second - first) / 1.5) ** 2)) * (first < 3.0)
    crease = gap * np.clip((trunk + 4.0) / 8.0, 0.0, 1.0)
    return np.stack([total, st.blur(height, 1.3), crease], axis=-1)


def draw_nail(
    st: Stage, image: Image, base: Field, chain: Chain, light: Light, name: str,
    present: bool, aspect: float = 1.25,
) -> Image:  # fmt: skip
    """Nail plate with lunula, free edge and gloss; absent, a raw nail bed remains."""
    x, y = chain.joints[-1]
    return st.inside(
        image, x, y, 2.0 * chain.radii[-1],
        lambda w, part: _nail(w, part, base, chain, light, name, present, aspect),
    )  # fmt: skip


def _nail(
    st: Stage, image: Image, base: Field, chain: Chain, light: Light, name: str, present: bool,
    aspect: float,
) -> Image:  # fmt: skip
    (ax, ay), (bx, by) = chain.joints[-2], chain.joints[-1]
    r = chain.radii[-1]
    length = float(np.hypot(bx - ax, by - ay)) + 1e-9
    ux, uy = (bx - ax) / length, (by - ay) / length
    cx, cy = bx + ux * r * 0.12, by + uy * r * 0.12
    w, h = r * 0.70, r * 0.70 * aspect
    nx, ny = -uy, ux
    shape = OUTLINES["digits shape"]
    border = [(cx + nx * x * w + ux * y * h, cy + ny * x * w + uy * y * h) for x, y in shape]
    plate = st.poly(border)
    px, py = st.u - cx, st.v - cy
    across, along = (px * nx + py * ny) / w, (px * ux + py * uy) / h
    fold = np.clip(st.blur(plate, r * 0.13) - plate, 0, 1)
    image = tint(image, 0.5 * fold, 0.65 * fold)
    dark = 1.0 - float(base.mean())
    if not present:
        raw = np.array([0.72, 0.34, 0.31]) * (1.0 - 0.40 * dark)
        rough = st.fractal(name + "-bed", r * 0.18, 3)
        ridge = st.fractal(name + "-ridge", r * 0.10, 2, stretch=3.0)
        bed = tint(raw, 0.15) * (0.92 + 0.12 * rough + 0.06 * ridge)[..., None]
        bed = bed * (1.0 - 0.30 * np.clip(np.abs(across), 0, 1.2) ** 3)[..., None]
        moist = np.clip(st.fractal(name + "-wet", r * 0.14, 2) - 1.2, 0, None)
        image = mix(image, bed + (0.16 * moist)[..., None], plate)
        soft = st.blur(plate, 0.6)
        rim = np.clip(soft - 0.25, 0, 1) * np.clip(1.35 - soft * 1.35, 0, 1)
        return tint(image, 0.9 * rim, 0.45 * rim)
    pink = tint(base * 0.55 + np.array([0.40, 0.33, 0.30]), 0.26 - 0.12 * dark)
    grown = 1.02 + 0.03 * st.fractal(name + "-grow", r * 0.09, 2, stretch=5)
    nail = np.broadcast_to(pink, image.shape) * grown[..., None]
    moon = np.clip((-(along + 0.62) * 3.0 - (across**2) * 1.2 + 0.35) * 2.0, 0, 1)
    nail = mix(nail, pink * 0.5 + 0.47, 0.55 * moon)
    edge = np.clip((along + across**2 * 0.22 - 0.80) * 7.0, 0, 1)
    nail = mix(nail, np.array([0.90, 0.86, 0.79]) * (1 - 0.20 * dark), 0.72 * edge)
    relief = r * 0.62 * np.sqrt(np.clip(1.25 - across**2, 0.02, None)) * st.zoom
    diffuse, spec = shade(relief, light, 50.0)
    nail = nail * (0.52 + 0.55 * diffuse)[..., None]
    streak = np.exp(-((across - 0.32 * np.sign(light[0]) * (-1 if st.mirror else 1)) ** 2) / 0.03)
    shine = 0.30 * streak * np.clip(1.0 - np.abs(along + 0.1), 0, 1) + 0.12 * spec
    return mix(image, nail + shine[..., None], plate)
