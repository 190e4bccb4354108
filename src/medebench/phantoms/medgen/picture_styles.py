"""Six styles of picture: not images of a modality, but drawings that a reader takes for one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.drawings import light, shapes
from medebench.phantoms.drawings.stage import Field, Image, Stage
from medebench.phantoms.medgen.scene import Kind, Lesion, Modality, Scene

Pixels = NDArray[np.uint8]
#: Smallest difference (0..1) of a channel that belongs to the mask of a lesion.
_VISIBLE = 0.02


@dataclass(frozen=True)
class Drawn:
    """A picture, and which pixels its lesions change."""

    picture: Pixels
    mask: NDArray[np.bool_]


@lru_cache(maxsize=16)
def draw(scene: Scene) -> Drawn:
    """Draw a scene; a pure function of it. Several tasks of one number ask for the same."""
    with_lesions = _paint(scene)
    mask = np.zeros(with_lesions.shape[:2], dtype=np.bool_)
    if scene.lesions:
        mask = np.abs(with_lesions - _paint(scene.healthy())).max(axis=2) > _VISIBLE
    picture = _digitise(with_lesions)
    picture.setflags(write=False)
    return Drawn(picture, mask)


def picture_of(scene: Scene) -> Pixels:
    return draw(scene).picture


def place(scene: Scene, lesion: Lesion) -> tuple[float, float, float]:
    """Where a lesion lies in the picture, in pixels: x, y and its radius."""
    x, y = scene.stage().place([(lesion.x, lesion.y)])[0].tolist()
    return x, y, lesion.radius * scene.zoom


def _digitise(image: Image) -> Pixels:
    return np.floor(np.clip(image, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)


def _paint(scene: Scene) -> Image:
    return _STYLES[scene.modality](scene.stage(), scene)


def _discs(st: Stage, scene: Scene) -> tuple[Field, Field]:
    """Coverage by whole lesions, and by their insides where they are rings."""
    whole, inner = np.zeros(st.shape), np.zeros(st.shape)
    for one in scene.lesions:
        far, near = one.radius, one.radius * 0.52
        found = st.ellipse(one.x, one.y, far, far * one.stretch, one.angle, soft=0.5)
        whole = np.maximum(whole, found)
        if scene.kind == "ring":
            found = st.ellipse(one.x, one.y, near, near * one.stretch, one.angle, soft=0.5)
            inner = np.maximum(inner, found)
    return whole, inner


def _toned(st: Stage, scene: Scene, grey: Field, tones: dict[Kind, float], inside: float) -> Field:
    """Lesions of this tone laid over a grey picture; rings have another inside."""
    whole, inner = _discs(st, scene)
    grey = grey + (tones[scene.kind] - grey) * whole
    return grey + (inside - grey) * inner


def _grey(grey: Field) -> Image:
    return np.repeat(grey[..., None], 3, axis=-1)


def _both(make: Callable[[float], Field]) -> Field:
    """A shape on either side: `make` is told what to multiply distances from the middle by."""
    return np.maximum(make(-1.0), make(1.0))


def _xray(st: Stage, scene: Scene) -> Image:
    body = st.poly([(128, 2), (168, 20), (232, 44), (250, 120), (240, 300), (16, 300), (6, 120),
                    (24, 44), (88, 20)])  # fmt: skip
    lungs = _both(lambda s: st.poly(
        [(128 + s * x, y) for x, y in
         ((22, 56), (46, 48), (72, 84), (84, 150), (86, 200), (52, 190), (20, 178), (18, 110))]
    ))  # fmt: skip
    density = 0.8 * st.blur(body, 3.0) - 0.58 * st.blur(lungs, 2.0)
    density += 0.5 * st.blur(st.stroke([(128, 0), (127, 128), (128, 256)], 22.0), 3.0)
    density += 0.5 * st.blur(st.poly([(112, 130), (134, 126), (160, 168), (166, 196), (130, 206),
                                      (108, 196)]), 4.0)  # fmt: skip
    for rib in range(7):
        top = 52 + 21 * rib
        for s in (-1.0, 1.0):
            path = [(128 + s * x, top + y) for x, y in ((10, -6), (48, -4), (84, 16), (88, 34))]
            density += 0.085 * st.stroke(path, (6.0, 6.5, 6.0, 5.0), soft=0.8)
    for s in (-1.0, 1.0):
        density += 0.22 * st.stroke([(128 + s * x, y) for x, y in
                                     ((12, 50), (50, 44), (96, 30))], 9.0, soft=1.0)  # fmt: skip
    density += 0.045 * st.fractal("tissue", 24.0, 4) * body
    whole, inner = _discs(st, scene)
    density += {"bright": 0.5, "dark": -0.28, "ring": 0.5}[scene.kind] * whole - 0.62 * inner
    return light.film(st, np.clip(density, 0.02, None), noise=0.016)


def _ct(st: Stage, scene: Scene) -> Image:
    body = st.ellipse(128, 132, 116, 92)
    muscle = st.ellipse(128, 132, 107, 83, soft=1.0)
    lungs = _both(lambda s: st.poly(
        [(128 + s * x, y) for x, y in
         ((18, 84), (44, 62), (76, 78), (90, 124), (82, 170), (52, 194), (28, 180), (20, 132))]
    ))  # fmt: skip
    vessels = shapes.smoothstep(1.25, 2.1, st.fractal("vessels", 8.0, 2))
    grey = 0.02 + 0.30 * body + 0.22 * muscle + 0.02 * st.fractal("soft", 14.0, 3) * body
    grey = grey + (0.30 + 0.18 * vessels - grey) * st.blur(lungs, 0.6)
    for cx, cy, rx, ry, tone in (
        *((128, 112, 16, 27, 0.66), (138, 158, 9, 9, 0.7), (128, 190, 17, 14, 0.93)),
        *((128, 212, 6, 12, 0.9), (128, 190, 9, 7, 0.75), (121, 150, 5, 6, 0.06)),
    ):
        grey = grey + (tone - grey) * st.ellipse(cx, cy, rx, ry, soft=0.8)
    for angle in np.linspace(0.3, 2 * np.pi - 0.3, 14):
        x, y = 128 + 97 * np.sin(angle), 132 - 74 * np.cos(angle)
        grey = grey + (0.85 - grey) * st.ellipse(x, y, 7.0, 2.6, float(angle), soft=0.6)
    grey += 0.35 * st.stroke([(10, 236), (128, 246), (246, 236)], 3.0)
    grey = _toned(st, scene, grey, {"bright": 0.74, "dark": 0.03, "ring": 0.74}, 0.12)
    return _grey(shapes.blur(grey, 0.5) + 0.014 * shapes.blur(st.grain("quanta"), 0.7))


def _mri(st: Stage, scene: Scene) -> Image:
    head, skull = st.ellipse(128, 130, 98, 118), st.ellipse(128, 130, 90, 110, soft=1.0)
    brain = st.ellipse(128, 130, 83, 103, soft=1.0)
    folds = st.fractal("folds", 13.0, 2)
    rim = brain - st.ellipse(128, 130, 64, 82, soft=8.0)
    grey = 0.02 + 0.66 * head - 0.58 * skull
    inside = 0.50 + 0.03 * st.fractal("white", 30.0, 3) + 0.09 * np.clip(folds, -1.2, 1.2) * rim
    grey = grey + (inside - grey) * brain
    for s in (-1.0, 1.0):
        horn = st.poly([(128 + s * x, y) for x, y in
                        ((3, 118), (15, 88), (20, 92), (11, 122), (17, 158), (12, 160),
                         (4, 136))])  # fmt: skip
        grey = grey + (0.16 - grey) * horn
    grey -= 0.2 * st.stroke([(128, 28), (128.5, 80)], 1.6) * brain
    grey -= 0.2 * st.stroke([(128, 172), (127.5, 232)], 1.6) * brain
    grey = _toned(st, scene, grey, {"bright": 0.93, "dark": 0.10, "ring": 0.93}, 0.25)
    grain = np.hypot(0.022 * st.grain("real"), 0.022 * st.grain("imaginary"))
    return _grey(shapes.blur(grey, 0.7) * (1.0 + 0.05 * st.fractal("coil", 120.0, 1)) + grain)


def _ultrasound(st: Stage, scene: Scene) -> Image:
    # In pixels: the fan belongs to the machine, not to the body.
    x, y = st.px - 128.0, st.py + 150.0
    radius, angle = np.hypot(x, y), np.arctan2(x, y)
    fan = shapes.smoothstep(0.47, 0.455, np.abs(angle)) * shapes.smoothstep(168, 171, radius)
    fan = fan * shapes.smoothstep(398, 395, radius)
    grey = 0.24 + 0.05 * st.fractal("layers", 22.0, 3, stretch=0.3)
    for down, tone in ((44, 0.5), (62, 0.42), (70, 0.55)):
        grey = grey + (tone - grey) * st.stroke([(0, down + 8), (128, down), (256, down + 8)], 4.0,
                                                soft=1.0)  # fmt: skip
    lobes = _both(lambda s: st.ellipse(128 + s * 46, 142, 42, 62, s * 0.12, soft=2.0))
    grey = grey + (0.46 - grey) * lobes
    windpipe = st.ellipse(128, 128, 15, 17, soft=1.0)
    grey = grey + (0.8 - grey) * windpipe
    shadow = st.poly([(116, 126), (140, 126), (148, 260), (108, 260)], smooth=False)
    grey = grey + (0.05 - grey) * st.blur(shadow, 2.0) * 0.9
    grey = _toned(st, scene, grey, {"bright": 0.92, "dark": 0.03, "ring": 0.95}, 0.12)
    speckle = shapes.blur(st.grain("speckle"), 0.8) * 1.9
    grey = grey * np.exp(0.26 * speckle) * (1.05 - 0.1 * (radius - 280) / 110)
    return _grey(grey * fan)


def _pathology(st: Stage, scene: Scene) -> Image:
    pink, stain = np.array([0.93, 0.74, 0.83]), np.array([0.34, 0.18, 0.49])
    fibres = st.fractal("fibres", 18.0, 3, stretch=0.5)
    image = pink * (1.0 + 0.05 * fibres[..., None] * np.array([0.6, 1.3, 0.8]))
    cells = shapes.smoothstep(1.3, 1.7, st.fractal("nuclei", 3.6, 1))
    whole, inner = _discs(st, scene)
    image = light.mix(image, stain, 0.75 * cells * (1.0 - whole))
    white, nest = np.array([0.99, 0.97, 0.98]), np.array([0.34, 0.16, 0.48])
    dark = nest * (1.0 + 0.12 * st.fractal("nest", 5.0, 2)[..., None])
    image = light.mix(image, white if scene.kind == "bright" else dark, whole)
    image = light.mix(image, white, inner)
    return light.photo(st, image, noise=0.008, vignette=0.08)


def _photograph(st: Stage, scene: Scene) -> Image:
    tone = light.skin_tone({"tone": scene.tone, "undertone": 0.2})
    whole, inner = _discs(st, scene)
    band = np.clip(whole - inner, 0.0, 1.0)
    height = 5.0 * st.fractal("form", 130.0, 2) + (0.8 * band if scene.kind == "ring" else 0.0)
    blood = 0.95 * band if scene.kind == "ring" else 0.0
    melanin = 1.5 * whole if scene.kind == "dark" else 0.0
    image = light.skin(st, tone, height, (-0.4, -0.6, 0.9), blood=blood, melanin=melanin)
    if scene.kind == "bright":
        image = light.mix(image, np.clip(image * 0.35 + 0.66, 0.0, 1.0), 0.9 * whole)
    return light.photo(st, image)


_STYLES: dict[Modality, Callable[[Stage, Scene], Image]] = {
    "CT": _ct,
    "MRI": _mri,
    "Ultrasound": _ultrasound,
    "X-ray": _xray,
    "Pathology": _pathology,
    "Clinical Photography": _photograph,
}
