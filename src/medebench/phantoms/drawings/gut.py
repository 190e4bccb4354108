"""Gastrointestinal tract: colonoscopy views with a polyp, an ulcer or bleeding."""

from __future__ import annotations

import numpy as np

from medebench.phantoms.drawings import shapes
from medebench.phantoms.drawings.light import mix, shade, tint
from medebench.phantoms.drawings.marks import ragged_disc
from medebench.phantoms.drawings.noise import wave
from medebench.phantoms.drawings.phantom_spec import Draw, Params, Task, common, stage
from medebench.phantoms.drawings.stage import Field, Image, Stage


def sample_gut(d: Draw) -> Params:
    p = common(d)
    p["turn"] = d.real(-3.14, 3.14)
    p["lumen"] = [d.real(104, 152), d.real(104, 152), d.real(19, 27)]
    p["folds"] = d.whole(3, 5)
    p["phase"] = d.real(0.0, 6.28)
    p["hue"] = d.real(-1.0, 1.0)
    p["port"] = d.whole(0, 2)
    p["at"] = d.real(0.0, 6.28)
    p["size"] = d.real(0.0, 1.0)
    p["flow"] = d.real(-0.3, 0.3)
    return p


def _target(p: Params, far: float) -> tuple[float, float]:
    """A place on the wall at the sampled angle from the lumen."""
    cx, cy, _ = p["lumen"]
    x, y = cx + far * float(np.cos(p["at"])), cy + far * float(np.sin(p["at"]))
    return float(np.clip(x, 62, 194)), float(np.clip(y, 62, 194))


def _tube(st: Stage, p: Params) -> tuple[Field, Field, Field]:
    """Height of the folded wall, light falloff with depth, and occlusion behind folds."""
    cx, cy, r0 = p["lumen"]
    dx, dy = st.u - cx, st.v - cy
    angle = np.arctan2(dy, dx)
    turn = (angle / (2 * np.pi) + 0.5) * 6.0
    tri = 1.0 + 0.10 * np.cos(3 * angle + p["phase"]) + 0.04 * np.cos(2 * angle + 1.7 * p["phase"])
    r = np.maximum(np.sqrt(dx * dx + dy * dy) / tri + 1.5 * st.fractal("wall", 18.0, 2), 1.0)
    depth = np.log(r / r0)
    light = 0.05 + 0.95 * shapes.smoothstep(-0.55, 1.45, depth)
    gap = np.log(185.0 / r0) / p["folds"]
    rng = st.rng("folds")
    sway = 0.26 * wave(rng, turn, 2, 0.5, period=6) + 0.20 * np.cos(3 * angle + p["phase"] + depth)
    q = depth / gap + sway + 0.3
    ring = np.floor(q)
    behind = q - ring  # 0 on the face of a fold, 1 where the next fold hides the wall
    # Folds are crescents: each fades out along part of its ring.
    strength = np.clip(0.72 + 0.55 * wave(rng, turn + 37.0 * ring, 2, 0.5, period=6), 0.0, 1.0)
    strength = strength * shapes.smoothstep(-0.7, 0.1, depth)
    shadow = strength * (0.66 * np.exp(-((1.0 - behind) / 0.22)) + 0.16 * behind)
    crest = strength * np.exp(-behind / 0.16)
    height = shapes.blur(crest, 1.6) * (4.0 + 0.07 * r) + 1.3 * st.fractal("mucosa", 11.0, 3)
    return height, light, np.clip(shapes.blur(shadow, 0.9), 0, 0.85)


def _vessels(st: Stage) -> Field:
    """A branching net: thin valleys of warped noise at two scales."""
    big = st.fractal("vessel-big", 46.0, 3, gain=0.45)
    fine = st.fractal("vessel-fine", 21.0, 3, gain=0.45)
    gate = shapes.smoothstep(-0.6, 0.9, st.fractal("vessel-gate", 60.0, 2))
    net = np.clip(1.0 - np.abs(big) * 9.0, 0, 1) + 0.6 * np.clip(1.0 - np.abs(fine) * 8.0, 0, 1)
    return st.blur(np.clip(net, 0, 1) * gate, 0.6)


def _lit(
    st: Stage, p: Params, height: Field, light: Field, shadow: Field, blood: Field, wet: float = 1.0
) -> Image:
    diffuse, spec = shade(st.blur(height, 0.8), (0.15, -0.25, 0.9), 60.0)
    wall = np.array([0.98, 0.60 + 0.04 * p["hue"], 0.45 + 0.06 * p["hue"]])
    red = blood + 0.10 * st.fractal("hue", 30, 3)
    colour = tint(np.broadcast_to(wall, (*st.shape, 3)), red)
    lit = np.log((0.28 + 0.85 * diffuse) * light * (1.0 - shadow) + 1e-4)
    bands = [colour[..., c] * np.exp(e * lit) for c, e in enumerate((0.8, 1.15, 1.28))]
    out: Image = np.stack(bands, axis=-1)
    ripple = np.clip(st.fractal("drops", 7.0, 2) - 1.35, 0, None)
    glare = wet * np.clip(spec * light * (0.13 + 2.6 * ripple), 0, 1) * (1 - shadow)
    out += (0.75 * glare)[..., None] * np.array([1.0, 0.97, 0.92])
    return out


def endoscope(st: Stage, p: Params, image: Image) -> Image:
    """Endoscope optics: falloff, sensor noise and the black port around the picture."""
    r = np.sqrt((st.px - 128) ** 2 + (st.py - 128) ** 2)
    image = image * (1.04 - 0.34 * (r / 128.0) ** 3)[..., None].clip(0, None)
    image = image / (1.0 + np.clip(image - 0.85, 0.0, None) * 0.8)
    image = image + (st.grain("sensor") * 0.011)[..., None]
    x, y = np.abs(st.px - 128), np.abs(st.py - 128)
    if p["port"] == 0:
        edge = r - 123.0
    elif p["port"] == 1:
        edge = np.maximum(np.maximum(x, y) - 122.0, (x + y) * 0.7071 - 148.0)
    else:
        edge = np.maximum(np.maximum(x - 124.0, y - 118.0), (x + y) * 0.7071 - 158.0)
    port = shapes.smoothstep(1.2, -1.2, edge)
    dark = (0.012 + 0.004 * st.grain("dark"))[..., None]
    return image * port[..., None] + dark * (1 - port[..., None])


def _wall(st: Stage, p: Params) -> tuple[Image, Field, Field, Field, Field]:
    """The healthy wall, and what it is drawn from."""
    height, light, shadow = _tube(st, p)
    vessels = 0.62 * _vessels(st) * shapes.smoothstep(0.2, 0.7, light)
    return _lit(st, p, height, light, shadow, vessels), height, light, shadow, vessels


def polyp(st: Stage, p: Params) -> tuple[Image, Image, Field]:
    """The wall with a polyp and without, and how much of each pixel is polyp."""
    after, _, light, _, _ = _wall(st, p)
    x, y = _target(p, 62.0)
    r = 21.0 + 11.0 * p["size"]
    cx, cy, _ = p["lumen"]
    reach = float(np.hypot(cx - x, cy - y)) + 1e-9
    tx, ty = (cx - x) / reach, (cy - y) / reach
    hx, hy = x + tx * r * 0.25, y + ty * r * 0.25
    head = ragged_disc(st, hx, hy, r, "polyp", 0.07)
    # The stalk leaves the head away from the lumen and melts into the wall.
    along = -((st.u - hx) * tx + (st.v - hy) * ty) / r
    stalk = st.stroke([(hx - tx * r * 1.9, hy - ty * r * 1.9), (hx - tx * r, hy - ty * r),
                       (hx, hy)], (r * 1.7, r * 1.0, r * 0.85))  # fmt: skip
    stalk = st.blur(stalk, 1.2) * shapes.smoothstep(1.85, 1.25, along)
    lobes = 1.0 + 0.07 * st.fractal("lobes", r * 0.45, 2)
    dome = r * 0.95 * st.dome(hx, hy, r * 1.05, r * 1.05) * lobes
    lift = np.maximum(dome, 0.5 * r * st.inflate(stalk, r * 0.30))
    lift = lift + 0.5 * st.fractal("mucosa", 11.0, 3)
    blood = 0.50 * head + 0.14 * stalk + 0.10 * st.fractal("polyp-hue", r * 0.3, 3)
    pits = np.clip(1 - np.abs(st.fractal("pits", r * 0.24, 2)) * 3.0, 0, 1) * head
    nothing = np.zeros_like(lift)
    lump = _lit(st, p, lift, np.maximum(light, 0.82), nothing, blood + 0.22 * pits, 1.5)
    neck = np.clip(st.blur(head, 2.5) - head, 0, 1) * stalk
    lump = tint(lump, 0.6 * neck, 0.9 * neck)
    rim = np.clip(head - st.blur(head, 2.6), 0, 1)
    lump = tint(lump, 0.5 * rim, 0.7 * rim)
    shade_at = ragged_disc(st, hx + 5, hy + 6, r, "polyp", 0.07)
    before = after * (1 - 0.55 * st.blur(shade_at, 5.0))[..., None]
    cover = np.maximum(head, stalk)
    return mix(before, lump, cover), after, cover


def _polyp(p: Params) -> tuple[Image, Image]:
    st = stage(p)
    before, after, _ = polyp(st, p)
    return endoscope(st, p, before), endoscope(st, p, after)


def _ulcer(p: Params) -> tuple[Image, Image]:
    st = stage(p)
    after, height, light, shadow, vessels = _wall(st, p)
    x, y = _target(p, 64.0)
    r = 17.0 + 9.0 * p["size"]
    pit = ragged_disc(st, x, y, r, "pit", 0.14)
    base = ragged_disc(st, x, y, r * 0.80, "pit", 0.14)
    ring = st.gauss(x, y, r * 0.85)
    rim = np.clip(st.blur(pit, r * 0.22) * 2.0 - pit * 1.6, 0, 1)
    relief = height * (1 - 0.8 * pit) + 6.0 * rim - 5.0 * st.blur(pit, 1.5)
    glow = np.maximum(light, 0.80 * np.clip(ring * 1.5, 0, 1))
    hot = 0.85 * ring + 0.5 * rim
    dim = shadow * (1 - np.clip(ring * 1.3, 0, 1))
    before = _lit(st, p, relief, glow, dim, vessels * (1 - pit) + hot)
    grain = 0.85 + 0.09 * st.fractal("fibrin", r * 0.25, 4)
    fibrin = np.array([0.93, 0.86, 0.62]) * grain[..., None]
    fibrin = fibrin * (0.55 + 0.5 * shade(relief, (0.15, -0.25, 0.9))[0])[..., None]
    before = mix(before, fibrin, 0.92 * st.blur(base, 1.0))
    clot = ragged_disc(st, x + 0.25 * r, y - 0.1 * r, r * 0.22, "clot", 0.3)
    before = mix(before, (0.26, 0.03, 0.03), 0.9 * clot)
    return endoscope(st, p, before), endoscope(st, p, after)


def _bleeding(p: Params) -> tuple[Image, Image]:
    st = stage(p)
    after, height, light, shadow, _ = _wall(st, p)
    x, y = _target(p, 60.0)
    cx, cy, _ = p["lumen"]
    a = float(np.arctan2(cy - y, cx - x)) + np.pi + p["flow"]
    rng = st.rng("flow")
    blood = ragged_disc(st, x, y, 15 + 7 * p["size"], "spring", 0.15)
    for k in range(6):
        turn = a + (k - 2.5) * 0.24 + 0.15 * float(rng.random() - 0.5)
        reach = 40.0 + 34.0 * float(rng.random()) + 20 * p["size"]
        mid = turn + 0.16 * float(rng.random() - 0.5)
        path = [(x, y), (x + reach * 0.5 * np.cos(mid), y + reach * 0.5 * np.sin(mid)),
                (x + reach * np.cos(turn), y + reach * np.sin(turn))]  # fmt: skip
        w = 5.0 + 10.0 * float(rng.random())
        blood = np.maximum(blood, st.stroke(path, (w * 1.3, w * 0.9, w * 0.8, w * 0.4)))
    warp = st.fractal("clots", 12.0, 3)
    field = st.blur(blood, 2.6) + 0.10 * warp
    pool = shapes.smoothstep(0.28, 0.46, field)
    thick = shapes.smoothstep(0.40, 0.95, field)
    relief = height * (1 - 0.6 * thick) + 3.0 * st.blur(thick, 2.0)
    diffuse, spec = shade(relief, (0.15, -0.25, 0.9), 60.0)
    base = np.array([0.78, 0.07, 0.05]) * (1 - 0.34 * thick)[..., None]
    lamp = np.maximum(light * (1 - 0.7 * shadow), 0.42)
    red = base * ((0.40 + 0.75 * diffuse) * lamp)[..., None]
    glint = np.clip(spec - 0.5, 0, None) * np.clip(st.fractal("drops", 7.0, 2) - 0.3, 0, 1.2)
    red = red + (0.9 * glint * lamp)[..., None]
    halo = st.blur(pool, 5.0)
    before = mix(tint(after, 0.40 * halo), red, (0.70 + 0.28 * thick) * pool)
    return endoscope(st, p, before), endoscope(st, p, after)


TASKS = (
    Task("Gastrointestinal Tract", "Remove polyp", sample_gut, _polyp),
    Task("Gastrointestinal Tract", "Remove ulcer", sample_gut, _ulcer),
    Task("Gastrointestinal Tract", "Remove bleeding", sample_gut, _bleeding),
)
