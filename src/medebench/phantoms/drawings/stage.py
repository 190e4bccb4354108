"""A stage: one posed 256x256 frame on which a scene is drawn in design coordinates."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.drawings import noise, shapes
from medebench.phantoms.drawings.noise import Field
from medebench.phantoms.drawings.shapes import Points, PointsLike

__all__ = ["SHAPE", "SIZE", "Field", "Image", "Light", "Points", "PointsLike", "Stage"]

SIZE = 256
SHAPE = (SIZE, SIZE)
Image = NDArray[np.float64]
Light = tuple[float, float, float]
Paint = Callable[["Stage", Image], Image]


class Stage:
    """Maps design coordinates (a 256 frame) to pixels by zoom, turn, mirror and shift.

    Noise fields are cached by name, so the before and after images share every grain.
    """

    def __init__(
        self,
        seed: int,
        *,
        focus: tuple[float, float] = (128.0, 128.0),
        zoom: float = 1.0,
        turn: float = 0.0,
        mirror: bool = False,
        shift: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self.seed, self.zoom, self.mirror = seed, zoom, mirror
        self.shape = SHAPE
        self._focus, self._shift = focus, shift
        self._cos, self._sin = float(np.cos(turn)), float(np.sin(turn))
        self._cache: dict[str, Field] = {}
        self._window = (slice(0, SIZE), slice(0, SIZE))
        self._origin = np.zeros(2)
        axis = np.arange(SIZE, dtype=np.float64) + 0.5
        self.px, self.py = np.meshgrid(axis, axis)
        x = self.px - 128.0 - shift[0]
        y = self.py - 128.0 - shift[1]
        u = (x * self._cos + y * self._sin) / zoom
        v = (-x * self._sin + y * self._cos) / zoom
        self.u = (-u if mirror else u) + focus[0]
        self.v = v + focus[1]

    def inside(self, image: Image, cx: float, cy: float, reach: float, draw: Paint) -> Image:
        """Let ``draw`` paint a square part of the image, on a stage cut to that part.

        Small features cost what their own pixels cost, and noise stays that of the whole frame.
        """
        x, y = (self.place([(cx, cy)])[0] + self._origin).tolist()
        r = reach * self.zoom + 2.0
        ox, oy = self._window[1].start, self._window[0].start
        rows = slice(max(int(y - r), oy), min(int(y + r) + 1, oy + self.shape[0]))
        cols = slice(max(int(x - r), ox), min(int(x + r) + 1, ox + self.shape[1]))
        if rows.stop - rows.start < 3 or cols.stop - cols.start < 3:
            return image
        part = copy.copy(self)
        part._window, part._origin = (rows, cols), np.array([cols.start, rows.start], dtype=float)
        part.shape = (rows.stop - rows.start, cols.stop - cols.start)
        here = (slice(rows.start - oy, rows.stop - oy), slice(cols.start - ox, cols.stop - ox))
        part.u, part.v = self.u[here], self.v[here]
        part.px, part.py = self.px[here], self.py[here]
        out = image.copy()
        out[here] = draw(part, image[here])
        return out

    def place(self, points: PointsLike) -> Points:
        """Design points to pixel positions (last axis is x, y)."""
        p = np.asarray(points, dtype=np.float64)
        x = (p[..., 0] - self._focus[0]) * self.zoom
        y = (p[..., 1] - self._focus[1]) * self.zoom
        if self.mirror:
            x = -x
        across = x * self._cos - y * self._sin + (128.0 + self._shift[0] - self._origin[0])
        down = x * self._sin + y * self._cos + (128.0 + self._shift[1] - self._origin[1])
        return np.stack([across, down], axis=-1)

    def rng(self, name: str) -> np.random.Generator:
        return noise.stream(self.seed, name)

    def cached(self, name: str, make: Callable[[np.random.Generator], Field]) -> Field:
        if name not in self._cache:
            self._cache[name] = make(self.rng(name))
        return self._cache[name][self._window]

    def once(self, name: str, make: Callable[[], Field]) -> Field:
        """Keep a full-frame layer that the before and after images share, unchanged."""
        return self.cached(name, lambda _: make())

    def fractal(
        self, name: str, cell: float, octaves: int = 4, stretch: float = 1.0, gain: float = 0.55
    ) -> Field:
        """Cached fractal noise; the cell is in design units, so texture scales with zoom."""
        if name in self._cache:
            return self._cache[name][self._window]
        step = max(cell * self.zoom, 1.2)
        rows, cols = self._window
        key = name if self.shape == SHAPE else f"{name} {rows} {cols}"
        if key not in self._cache:
            grains = (octaves, stretch, gain)
            self._cache[key] = noise.fractal(self.rng(name), SIZE, self._window, step, *grains)
        return self._cache[key]

    def grain(self, name: str) -> Field:
        return self.cached(name, lambda rng: noise.grain(rng, SHAPE))

    # --- shapes in design coordinates -------------------------------------------------
    def poly(self, points: PointsLike, *, smooth: bool = True, steps: int = 8) -> Field:
        """Coverage of a closed outline, by default rounded through its points."""
        p = self.place(points)
        edge = shapes.spline(p, closed=True, steps=steps) if smooth else p
        return shapes.coverage(edge, self.shape)

    def stroke(
        self,
        points: PointsLike,
        width: float | tuple[float, ...],
        *,
        soft: float = 0.0,
    ) -> Field:
        """Coverage of a curved stroke; several widths are spread evenly along it."""
        path = shapes.spline(self.place(points), steps=8)
        widths = (width,) if isinstance(width, (int, float)) else width
        at = np.linspace(0.0, 1.0, len(path))
        w = np.interp(at, np.linspace(0.0, 1.0, len(widths)), np.asarray(widths)) * self.zoom
        cover = shapes.coverage(shapes.ribbon(path, np.maximum(w, 0.02)), self.shape)
        return shapes.blur(cover, soft * self.zoom) if soft else cover

    def strokes(self, paths: Points, widths: Field) -> Field:
        """Coverage of many strokes at once: paths (m, k, 2), widths (m, k) in design units."""
        outline = shapes.ribbon(self.place(paths), np.maximum(widths * self.zoom, 0.02))
        return shapes.coverage(outline, self.shape)

    def local(self, cx: float, cy: float) -> tuple[Field, Field]:
        """Design coordinates relative to a centre."""
        return self.u - cx, self.v - cy

    def _near(
        self, cx: float, cy: float, reach: float, angle: float
    ) -> tuple[tuple[slice, slice], Field, Field]:
        """Window around a point and its local coordinates there."""
        x, y = self.place([(cx, cy)])[0].tolist()
        r = reach * self.zoom + 2.0
        window = (
            slice(max(int(y - r), 0), max(int(y + r) + 1, 0)),
            slice(max(int(x - r), 0), max(int(x + r) + 1, 0)),
        )
        dx, dy = self.u[window] - cx, self.v[window] - cy
        c, s = float(np.cos(angle)), float(np.sin(angle))
        return window, dx * c + dy * s, -dx * s + dy * c

    def ellipse(
        self, cx: float, cy: float, rx: float, ry: float, angle: float = 0.0, soft: float = 0.0
    ) -> Field:
        """Coverage of an ellipse whose edge is one pixel plus ``soft`` wide."""
        half = 0.6 + soft * self.zoom
        # The first-order distance is short outside the narrow ends, hence the wide margin.
        reach = max(rx, ry) * (1.0 + half / (min(rx, ry) * self.zoom)) + 2 * half / self.zoom
        window, x, y = self._near(cx, cy, reach, angle)
        out = np.zeros(self.shape)
        distance = shapes.ellipse_sdf(x, y, rx, ry) * self.zoom
        out[window] = shapes.smoothstep(half, -half, distance)
        return out

    def gauss(self, cx: float, cy: float, sx: float, sy: float = 0.0, angle: float = 0.0) -> Field:
        """Gaussian bump, evaluated only where it is not negligible."""
        sy = sy or sx
        window, x, y = self._near(cx, cy, 4.2 * max(sx, sy), angle)
        out = np.zeros(self.shape)
        out[window] = np.exp(-0.5 * ((x / sx) ** 2 + (y / sy) ** 2))
        return out

    def dome(self, cx: float, cy: float, rx: float, ry: float, angle: float = 0.0) -> Field:
        """Height (0..1) of a half ellipsoid."""
        window, x, y = self._near(cx, cy, max(rx, ry), angle)
        out = np.zeros(self.shape)
        out[window] = np.sqrt(np.clip(1.0 - (x / rx) ** 2 - (y / ry) ** 2, 0.0, None))
        return out

    def blur(self, field: Field, sigma: float) -> Field:
        return shapes.blur(field, sigma * self.zoom)

    def inflate(self, mask: Field, sigma: float) -> Field:
        """Round height (0..1) of a silhouette: a circular profile near its edge."""
        depth = np.clip(self.blur(mask, sigma) * 2.0 - 1.0, 0.0, 1.0)
        return np.sqrt(1.0 - (1.0 - depth) ** 2)

    def strands(self, paths: Points, weight: Field, bright: Field) -> tuple[Field, Field]:
        """Coverage and mean brightness of many thin strands.

        ``paths`` is (n, k, 2) in design units; weights are per strand (n) or per point (n, k).
        """
        where = self.place(paths)
        k = where.shape[1]
        taper = 1.0 - 0.6 * np.linspace(0.0, 1.0, k) ** 3
        w = (weight if weight.ndim == 2 else weight[:, None]) * taper
        keep = w.max(axis=1) > 0.0
        where, w, bright = where[keep], w[keep], bright[keep]
        if not len(where):
            return np.zeros(self.shape), np.zeros(self.shape)
        step = np.sqrt((np.diff(where, axis=1) ** 2).sum(axis=-1)).mean(axis=1)
        # Deposits closer than a pixel merge into a line; wider ones would look like beads.
        extra = min(int(np.ceil(float(step.max()) / 0.95)), 6)
        t = np.arange(extra) / extra
        ends = (where[:, :-1, None, :], where[:, 1:, None, :])
        where = (ends[0] + (ends[1] - ends[0]) * t[:, None]).reshape(len(w), -1, 2)
        w = np.repeat(w[:, :-1], extra, axis=1) * (step / extra)[:, None]
        amount, shade = shapes.splat(where, np.stack([w, w * bright[:, None]]), self.shape)
        return 1.0 - np.exp(-amount), shade / np.maximum(amount, 1e-6)
