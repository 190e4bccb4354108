"""Hands: back of the hand with nails; missing nail, wart, crooked finger."""

from __future__ import annotations

import numpy as np

from medebench.phantoms.drawings.digits import Chain, Limb, build_limb, draw_nail
from medebench.phantoms.drawings.light import backdrop, cast, mix, photo, skin, skin_tone, tint
from medebench.phantoms.drawings.marks import ragged_disc
from medebench.phantoms.drawings.phantom_spec import Draw, Params, Task, Words, common, side, stage
from medebench.phantoms.drawings.shapes import rotate, smoothstep
from medebench.phantoms.drawings.stage import Field, Image, Stage

FINGERS = ("thumb", "index finger", "middle finger", "ring finger", "little finger")
# Base, first joint, second joint, tip; then the radii along the chain.
_POSE = (([(92, 214), (70, 186), (54, 160), (46, 140)], [17, 13.5, 11.5, 9.5]),
         ([(103, 158), (95, 112), (91, 86), (88, 68)], [12.5, 10.8, 9.4, 8.2]),
         ([(126, 152), (125, 100), (124, 70), (123, 50)], [12.8, 11.0, 9.6, 8.4]),
         ([(148, 156), (153, 107), (156, 80), (158, 62)], [12.2, 10.4, 9.1, 8.0]),
         ([(166, 168), (178, 130), (184, 110), (188, 95)], [10.8, 9.0, 8.0, 7.0]))  # fmt: skip


def _sample(d: Draw) -> Params:
    p = common(d)
    p["spread"] = d.real(-0.04, 0.05)
    p["slim"] = d.real(0.90, 1.08)
    p["cloth"] = d.real(0.5, 1.2)
    p["finger"] = d.whole(0, 4)
    p["bend"] = d.real(0.42, 0.62) * d.sign()
    p["curl"] = [d.real(-0.06, 0.06) for _ in range(5)]
    p["wart"] = [d.real(108, 160), d.real(176, 215), d.real(6.5, 10.0)]
    p["turn"] = d.real(-0.22, 0.22)
    return p


def _sample_bend(d: Draw) -> Params:
    p = _sample(d)
    p["finger"] = d.pick([1, 4])
    p["bend"] = abs(p["bend"]) * (1 if p["finger"] == 4 else -1)
    return p


def _chains(p: Params, bent: int) -> list[Chain]:
    chains = []
    for i, (joints, radii) in enumerate(_POSE):
        pts = [(float(x), float(y)) for x, y in joints]
        pts = rotate(pts, pts[0], (i - 2) * p["spread"] * 1.6)
        pts = [*pts[:2], *rotate(pts[2:], pts[1], p["curl"][i])]
        if i == bent:  # a deformed joint turns everything beyond it
            pts = [*pts[:2], *rotate(pts[2:], pts[1], p["bend"])]
            pts = [*pts[:3], *rotate(pts[3:], pts[2], p["bend"] * 0.5)]
        chains.append(Chain(pts, [r * p["slim"] for r in radii]))
    return chains


def _hand(st: Stage, p: Params, *, bare: int = -1, bent: int = -1, wart: bool = False) -> Image:
    base = skin_tone(p)
    light = (p["light"][0], p["light"][1], p["light"][2])
    chains = _chains(p, bent)
    body = [
        Chain([(124, 290), (124, 232), (108, 176)], [34, 33, 20]),
        Chain([(132, 290), (134, 232), (150, 178)], [32, 34, 22]),
        Chain([(128, 240), (127, 172)], [34, 24]),
        Chain([(110, 240), (92, 212)], [26, 18]),
    ]
    limb = build_limb(st, chains, body, 12.0, 17.0)
    mask = smoothstep(0.6, -0.6, limb.distance * st.zoom)
    image = st.once("cloth-image", lambda: backdrop(st, p["backdrop"], p["cloth"]))
    drop = 7 if light[0] < 0 else -7
    image = cast(image, mask, drop, 9, 6, 0.6)

    fields = st.once(f"surface {bent}", lambda: _surface(st, chains, limb))
    height, blood, melanin = (fields[..., k] for k in range(3))
    if wart:
        x, y, r = p["wart"]
        lump = ragged_disc(st, x, y, r, "wart", 0.14)
        bumps = 1.0 + 0.18 * st.fractal("wart-bump", r * 0.26, 2)
        height = height + 0.80 * r * st.dome(x, y, r * 1.15, r * 1.15) * bumps
        blood = blood + 0.16 * st.gauss(x, y, r * 1.3) + 0.1 * lump
        speck = np.clip(st.fractal("wart-dots", r * 0.16, 2) - 1.0, 0, 1)
        stain = 0.06 + 0.10 * st.fractal("wart-tint", r * 0.3, 2) + 0.45 * speck
        melanin = melanin + lump * stain
    hand = skin(st, base, height * st.zoom, light, blood=blood, melanin=melanin, pores=0.75,
                gloss=0.12, ambient=0.44)  # fmt: skip
    if wart:
        x, y, r = p["wart"]
        pale = ragged_disc(st, x, y, r * 0.92, "wart", 0.14) * np.clip(
            0.35 + 0.35 * st.fractal("wart-bump", r * 0.26, 2), 0, 1)  # fmt: skip
        hand = mix(hand, hand * 0.55 + np.array([0.42, 0.38, 0.31]), 0.75 * pale)
    rim = np.exp(-((limb.distance + 1.0) ** 2) / 5.0)
    image = mix(image, tint(hand, 0.12 * rim, 0.22 * rim), mask)
    for i, chain in enumerate(chains):
        image = draw_nail(st, image, base, chain, light, f"nail{i}", i != bare)
    return photo(st, image)


def _surface(st: Stage, chains: list[Chain], limb: Limb) -> Field:
    """Height, blood and melanin of the bare hand: knuckles, tendons, folds and veins."""
    height = limb.height * 0.85
    rng = st.rng("lines")
    melanin = 0.55 * limb.crease
    blood = 0.35 * limb.crease + 0.10 * np.exp(-((limb.distance / 5.0) ** 2))
    for i, chain in enumerate(chains):
        kx, ky = chain.joints[0]
        if i:
            height = height + 4.2 * st.gauss(kx, ky + 4, 7.5, 8)
            tendon = st.stroke([(kx, ky + 8), (127 + (kx - 127) * 0.72, 190),
                                (127 + (kx - 127) * 0.45,
                               232)], (4.5, 4.5, 2.5), soft=2.2)  # fmt: skip
            height = height + 1.5 * tendon
            blood = blood + 0.20 * st.gauss(kx, ky + 3, 6)
        for k in (1, 2):
            (x, y), (x2, y2) = chain.joints[k], chain.joints[k + 1]
            a = float(np.arctan2(y2 - y, x2 - x))
            r = chain.radii[k]
            nx, ny, ux, uy = -np.sin(a), np.cos(a), np.cos(a), np.sin(a)
            height = height + 0.9 * st.gauss(x, y, r * 0.55)
            blood = blood + 0.22 * st.gauss(x, y, r * 0.65) * (1 if k == 1 else 0.6)
            lines = []
            for m in range(5 if k == 1 else 3):
                off = (m - (2 if k == 1 else 1)) * 2.0
                sweep = 0.62 - 0.06 * abs(m - 2)
                bow = off * 0.35 + float(rng.random() - 0.5)
                lines.append([(x + nx * r * q * sweep + ux * (off + bow * (1 - q * q)),
                               y + ny * r * q * sweep + uy * (off + bow * (1 - q * q)))
                              for q in np.linspace(-1, 1, 7)])  # fmt: skip
            cover = st.strokes(np.array(lines), np.full((len(lines), 7), 0.75))
            folds = st.blur(cover, 0.35)
            height = height - 0.9 * folds
            melanin = melanin + 0.38 * folds
    for k, (x0, x1, x2) in enumerate(((118, 112, 116), (140, 146, 138), (154, 152, 160))):
        vein = st.stroke([(x0, 245), (x1, 212), (x2, 184), (x2 + 3 - 2 * k, 166)],
                         (3.4, 3.0, 2.2, 1), soft=1.4)  # fmt: skip
        height = height + 1.2 * vein
        melanin = melanin + 0.10 * vein
        blood = blood - 0.06 * vein
    return np.stack([height, blood, melanin], axis=-1)


def _stage(p: Params) -> Stage:
    return stage(p, (120.0, 138.0), 1.02)


def _nail(p: Params) -> tuple[Image, Image]:
    # Close in on the fingers, where the missing nail is easy to see.
    joints = _POSE[p["finger"]][0]
    x, y = joints[-1]
    st = stage(p, (x * 0.62 + 120 * 0.38, y * 0.62 + 105 * 0.38 + 14), 1.75)
    return _hand(st, p, bare=p["finger"]), _hand(st, p)


def _wart(p: Params) -> tuple[Image, Image]:
    st = stage(p, (124.0, 158.0), 1.16)
    return _hand(st, p, wart=True), _hand(st, p)


def _bend(p: Params) -> tuple[Image, Image]:
    st = _stage(p)
    return _hand(st, p, bent=p["finger"]), _hand(st, p)


def _finger(p: Params) -> Words:
    return {"finger": FINGERS[p["finger"]], "side": side(p)}


TASKS = (
    Task("Hands", "Restore missing fingernail", _sample, _nail, _finger),
    Task("Hands", "Remove wart", _sample, _wart),
    Task("Hands", "Straighten crooked finger", _sample_bend, _bend, _finger),
)
