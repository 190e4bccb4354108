"""A small body with balls in it, its axial slices, and one rendering of it from the front."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.drawings.noise import stream
from medebench.phantoms.drawings.phantom_spec import Draw
from medebench.phantoms.medgen.scene import Side

Pixels = NDArray[np.uint8]
#: Pixels of a picture, and voxels across: a rendering takes more of them.
PIXELS, COARSE, FINE = 256, 64, 128
#: Heights of the four slices of a sheet, in percent from below.
HEIGHTS = (20, 40, 60, 80)
BODY, BALL = (205, 190, 175), (200, 60, 50)


@dataclass(frozen=True, slots=True)
class Ball:
    side: Side
    #: Height of its middle, in percent from below.
    height: int
    x: float
    y: float
    radius: float


@dataclass(frozen=True, slots=True)
class Body:
    """An upright ellipsoid; x goes to the right of the picture, y to the back, z upwards."""

    balls: tuple[Ball, ...]
    wide: float
    deep: float
    noise: int


def sample_body(seed: int, number: int) -> Body:
    d = Draw(stream(seed, f"medgen body {number}"))
    heights = list(HEIGHTS[:3])
    balls = []
    for _ in range(d.whole(1, 2)):
        height = heights.pop(d.whole(0, len(heights) - 1))
        side: Side = d.pick(("left", "right"))
        x = d.real(0.30, 0.40) * (-1 if side == "left" else 1)
        balls.append(Ball(side, height, x, d.real(-0.12, 0.12), d.real(0.15, 0.19)))
    balls.sort(key=lambda one: -one.height)
    return Body(tuple(balls), d.real(0.78, 0.86), d.real(0.55, 0.65), d.whole(0, 2**31 - 1))


def voxels(body: Body, size: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where the body and its balls are, as (z, y, x); z = 0 is the lowest slice."""
    axis = (np.arange(size) + 0.5) / size * 2 - 1
    z, y, x = np.meshgrid(axis, axis, axis, indexing="ij")
    inside = (x / body.wide) ** 2 + (y / body.deep) ** 2 + (z / 0.95) ** 2 < 1
    balls = np.zeros_like(inside)
    for one in body.balls:
        up = one.height / 100 * 2 - 1
        balls |= (x - one.x) ** 2 + (y - one.y) ** 2 + (z - up) ** 2 < one.radius**2
    return inside, balls


def axial(body: Body, height: int) -> Pixels:
    """The slice at this height, in percent from below, as CT shows it."""
    inside, balls = voxels(body, COARSE)
    level = min(COARSE - 1, int(height / 100 * COARSE))
    grey = 8.0 + 110.0 * inside[level] + 105.0 * balls[level]
    large = cv2.resize(grey, (PIXELS, PIXELS), interpolation=cv2.INTER_CUBIC)
    noise = np.random.default_rng([body.noise, height]).random((2, *large.shape)).sum(axis=0) - 1
    grey = cv2.GaussianBlur(large, (0, 0), 1.6) + 7.0 * noise
    whole = np.clip(np.round(grey), 0, 255).astype(np.uint8)
    return np.repeat(whole[..., None], 3, axis=2)


def sheet(body: Body) -> Pixels:
    """Four slices in a grid, each with its height."""
    tiles = []
    for height in HEIGHTS:
        tile = axial(body, height)
        cv2.putText(tile, f"{height}%", (6, 18), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255,) * 3, 1)
        tiles.append(tile)
    whole = np.vstack([np.hstack(tiles[:2]), np.hstack(tiles[2:])])
    return np.asarray(cv2.resize(whole, (PIXELS, PIXELS), interpolation=cv2.INTER_AREA))


def rendering(body: Body) -> Pixels:
    """The body as glass and its balls as solid, from the front, lit from above on the left."""
    inside, balls = voxels(body, FINE)
    canvas = np.full((FINE, FINE, 3), 24.0)
    for solid, colour, share in ((inside, BODY, 0.45), (balls, BALL, 1.0)):
        seen, lit = _front(solid)
        cover = share * cv2.GaussianBlur(seen.astype(np.float64), (0, 0), 0.8)[..., None]
        canvas = canvas + cover * (np.array(colour) * lit[..., None] - canvas)
    large = cv2.resize(canvas, (PIXELS, PIXELS), interpolation=cv2.INTER_CUBIC)
    return np.clip(np.round(large), 0, 255).astype(np.uint8)


def _front(solid: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which rays from the front meet it, and how much light its surface gives back there."""
    seen: NDArray[np.bool_] = np.asarray(solid.any(axis=1))[::-1]
    depth = solid.argmax(axis=1)[::-1].astype(np.float64)
    depth = np.where(seen, depth, depth[seen].max() if seen.any() else 0.0)
    depth = cv2.GaussianBlur(depth, (0, 0), 2.5)
    down, across = np.gradient(depth)
    length = np.sqrt(down**2 + across**2 + 1.0)
    lit = 0.35 + 0.65 * np.clip((0.5 * across + 0.6 * down + 0.75) / length, 0.0, 1.0)
    return seen, lit
