"""Hair: thinning crown, receding hairline, bald patch, on a head from above, behind or in front."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from medebench.phantoms.drawings import shapes
from medebench.phantoms.drawings.light import backdrop, cast, mix, photo, skin, skin_tone
from medebench.phantoms.drawings.phantom_spec import (
    BACKDROPS,
    Draw,
    Params,
    Task,
    Words,
    common,
    side,
    stage,
)
from medebench.phantoms.drawings.portrait import HAIR, Edit, portrait, sample_face
from medebench.phantoms.drawings.shapes import smoothstep
from medebench.phantoms.drawings.stage import Field, Image, Stage

Density = Callable[[Field, Field], Field]  # design x, y to share of hairs present (0..1)


def _strand_paths(st: Stage, p: Params, level: int, count: int) -> tuple[Field, Field, Field]:
    """Roots, paths and brightness of one layer: hairs leave the whorl on a spiral."""
    rng = st.rng(f"scalp{level}")
    wx, wy = p["whorl"]
    rx, ry = p["extent"]
    a = 2 * np.pi * rng.random(count)
    r = np.sqrt(rng.random(count))
    x, y = 128 + rx * r * np.cos(a), p["middle"] + ry * r * np.sin(a)
    length = (20.0 + 16.0 * rng.random(count)) * (1.0 - 0.35 * r**3)
    t = np.linspace(0.0, 1.0, 16)
    dx, dy = x - wx, y - wy
    far = np.sqrt(dx * dx + dy * dy) + 1e-6
    swirl = p["swirl"] * np.exp(-far / 26.0) + p["comb"]
    head = np.arctan2(dy, dx) + swirl + (rng.random(count) - 0.5) * 0.55
    clump = 0.35 * np.sin(x * 0.21 + 3.0) * np.sin(y * 0.17 + 1.0)
    bend = (head + clump)[:, None] + (rng.random(count)[:, None] - 0.5) * 0.7 * t
    step = length[:, None] / 15.0
    path = shapes.walk(x, y, bend, step)
    # Hair shines in a ring around the whorl, strongest towards the light.
    lit = 0.5 + 0.5 * (dx * p["light"][0] + dy * p["light"][1]) / far
    ring = np.exp(-(((far - p["ring"]) / 22.0) ** 2))
    edge = 1.0 - 0.45 * r**4
    bright = (0.65 + 0.65 * rng.random(count) + 1.25 * ring * lit) * edge
    return np.stack([x, y], axis=-1), path, bright


def head_of_hair(
    st: Stage, p: Params, head: Field, zone: Field, behind: Image, density: Density
) -> Image:
    """Head with hair wherever ``zone`` allows, thinned by the density."""
    light = (p["light"][0], p["light"][1], p["light"][2])
    base = skin_tone(p)
    colour = np.array(HAIR[p["hair"]])
    relief = st.once("scalp-relief", lambda: 46.0 * st.inflate(head, 34.0) * st.zoom)
    scalp = st.once("scalp", lambda: skin(st, base * 1.02, relief, light, blood=0.10, pores=0.5,
                                          gloss=0.20))  # fmt: skip
    image = mix(behind, scalp, head)
    share = density(st.u, st.v) * zone
    under = colour * 0.55 * (0.85 + 0.15 * st.fractal("under", 4.0, 2))[..., None]
    image = mix(image, under, np.clip(share**1.6, 0, 1) * 0.95)
    stubble = np.clip(st.grain("stubble") - 1.2, 0, 1) * zone * (0.25 + 0.5 * share)
    image = mix(image, colour, 0.35 * stubble)
    for level in range(6):
        roots, paths, bright = _strand_paths(st, p, level, 900)
        lot = st.rng(f"lot{level}").random(900)
        keep = lot < density(roots[:, 0], roots[:, 1])
        ix, iy = np.clip(st.place(roots).astype(np.int64), 0, 255).T
        weight = np.where(keep & (zone[iy, ix] > 0.5), 0.62, 0.0)[:, None] * _lie(p, paths)
        weight = weight * (0.25 + 0.75 * density(paths[..., 0], paths[..., 1]))
        alpha, tone = st.strands(paths, weight, bright)
        strand = (colour + 0.02) * tone[..., None] + 0.05 * np.clip(tone - 1.0, 0, None)[..., None]
        image = mix(image, strand, alpha)
    return photo(st, image)


def _lie(p: Params, paths: Field) -> Field:
    """Hair hugs the skull: strands end where they would leave its outline."""
    rx, ry = p["extent"]
    far = np.sqrt(((paths[..., 0] - 128) / rx) ** 2 + ((paths[..., 1] - p["middle"]) / ry) ** 2)
    return shapes.smoothstep(1.07, 1.0, far)


def crown_view(st: Stage, p: Params, density: Density) -> Image:
    """Top of the head from above, shoulders out of focus below."""

    def setting() -> Image:
        image = backdrop(st, p["backdrop"])
        body = st.poly(shapes.OUTLINES["scalp body"])
        cloth = BACKDROPS[p["shirt"]] * (0.72 + 0.1 * st.fractal("shirt", 30, 3))[..., None]
        image = mix(image, cloth, st.blur(body, 2.0))
        image = cast(image, head, 0, 12, 12, 0.55)
        base = skin_tone(p)
        light = (p["light"][0], p["light"][1], p["light"][2])
        for s in (-1, 1):
            ear = st.ellipse(128 + s * 86, 136, 8, 17, s * 0.25, soft=0.5)
            bump = 6 * st.dome(128 + s * 86, 136, 8, 17, s * 0.25)
            image = mix(image, skin(st, base, bump, light, blood=0.2), ear)
        return image

    head = st.once("head", lambda: st.ellipse(128, 126, 84, 100))
    zone = st.once("zone", lambda: st.ellipse(128, 126, 83, 99, soft=1.0))
    return head_of_hair(st, p, head, zone, st.once("setting", setting), density)


def back_view(st: Stage, p: Params, density: Density) -> Image:
    """Back of the head with ears, nape and collar."""

    def setting() -> Image:
        base = skin_tone(p)
        light = (p["light"][0], p["light"][1], p["light"][2])
        image = backdrop(st, p["backdrop"])
        neck = st.poly(shapes.OUTLINES["scalp neck"])
        nape = skin(st, base, 30 * st.inflate(neck, 22) * st.zoom, light, melanin=0.1)
        image = mix(image, nape, neck)
        shirt = st.poly(shapes.OUTLINES["scalp shirt"])
        folds = (0.75 + 0.1 * st.fractal("shirt", 30, 3))[..., None]
        image = mix(image, BACKDROPS[p["shirt"]] * folds, shirt)
        for s in (-1, 1):
            ear = st.ellipse(128 + s * 80, 132, 9, 21, s * 0.18, soft=0.3)
            bump = 7 * st.dome(128 + s * 80, 132, 9, 21, s * 0.18)
            image = mix(image, skin(st, base, bump, light, blood=0.22), ear)
        return image

    head = st.once("head", lambda: st.poly(shapes.OUTLINES["scalp outline"]))
    ragged = 2.5 * st.fractal("nape-line", 8.0, 2)
    nape = shapes.smoothstep(198.0, 180.0, st.v + ragged + 0.004 * (st.u - 128) ** 2)
    return head_of_hair(st, p, head, head * nape, st.once("setting", setting), density)


def _full(x: Field, y: Field) -> Field:
    return np.ones_like(x)


def _sample(d: Draw) -> Params:
    p = common(d)
    p["hair"] = d.whole(0, 2) if p["tone"] > 0.5 else d.whole(0, 6)
    p["swirl"] = d.real(0.5, 1.2) * d.sign()
    p["comb"] = d.real(-0.3, 0.3)
    p["ring"] = d.real(40.0, 62.0)
    p["shirt"] = d.whole(0, 7)
    p["severity"] = d.real(0.0, 1.0)
    return p


def _sample_crown(d: Draw) -> Params:
    p = _sample(d)
    p["middle"], p["extent"] = 126.0, [84.0, 100.0]
    p["whorl"] = [d.real(118, 138), d.real(104, 126)]
    return p


def _sample_back(d: Draw) -> Params:
    p = _sample(d)
    p["middle"], p["extent"] = 110.0, [80.0, 92.0]
    p["whorl"] = [d.real(120, 136), d.real(48, 60)]
    p["ring"] = d.real(26.0, 44.0)
    p["patch"] = [d.real(98, 158), d.real(82, 128), d.real(24, 34), d.real(22, 30)]
    return p


def _sample_line(d: Draw) -> Params:
    p = common(d)
    sample_face(d, p)
    p["face"]["long"] = False
    p["severity"] = d.real(0.0, 1.0)
    return p


def _crown(p: Params) -> tuple[Image, Image]:
    st = stage(p)
    wx, wy = p["whorl"]
    low = 0.05 + 0.10 * (1 - p["severity"])
    size = 30.0 + 10.0 * p["severity"]

    def thin(x: Field, y: Field) -> Field:
        far = np.sqrt(((x - wx) / 1.0) ** 2 + ((y - wy) / 1.25) ** 2)
        share = smoothstep(size * 0.50, size * 1.35, far)
        return np.asarray(share + low * (1.0 - share))

    return crown_view(st, p, thin), crown_view(st, p, _full)


def _patch_density(p: Params) -> Density:
    cx, cy, rx, ry = p["patch"]

    def bald(x: Field, y: Field) -> Field:
        angle = np.arctan2(y - cy, x - cx)
        rough = 1.0 + 0.07 * np.sin(3 * angle + p["swirl"]) + 0.04 * np.sin(7 * angle)
        far = np.sqrt(((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2) / rough
        return smoothstep(0.90, 1.15, far)

    return bald


def _patch(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 122.0))
    return back_view(st, p, _patch_density(p)), back_view(st, p, _full)


def _line(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 96.0), 1.22)
    gone = round(0.80 + 0.25 * p["severity"], 4)
    return portrait(st, p, Edit(recede=gone)), portrait(st, p, Edit())


def _where(p: Params) -> Words:
    return {"side": side(p, "right" if p["patch"][0] > 128 else "left")}


TASKS = (
    Task("Hair", "Increase hair density", _sample_crown, _crown),
    Task("Hair", "Restore receding hairline", _sample_line, _line),
    Task("Hair", "Cover bald patch", _sample_back, _patch, _where),
)
