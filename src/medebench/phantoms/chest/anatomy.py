"""The body: how dense it is at each place, and where its organs lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from medebench.phantoms.chest.chest_spec import Anatomy
from medebench.phantoms.chest.fields import Grid, Point, blur
from medebench.phantoms.drawings.noise import Field, stream

#: Sign of x in the picture: the patient's right lung is on the left.
SIGN = {"right": -1.0, "left": 1.0}
RIBS = 10


@dataclass(frozen=True)
class Lung:
    """One lung's field, its centre, and coordinates in which it is the unit square."""

    sign: float
    inside: Field
    u: Field
    v: Field
    hilum: Point
    apex: Point


@dataclass(frozen=True)
class Body:
    #: Without lung markings, which findings change; dense is bright.
    density: Field
    torso: Field
    heart: Field
    ribs: Field
    lungs: dict[str, Lung]
    vessels: Field

    @property
    def both(self) -> Field:
        return np.maximum(self.lungs["right"].inside, self.lungs["left"].inside)


def build(grid: Grid, a: Anatomy) -> Body:
    torso = _torso(grid, a)
    heart = _heart(grid, a)
    lungs = {side: _lung(grid, a, side, heart) for side in SIGN}
    both = np.maximum(lungs["right"].inside, lungs["left"].inside)
    ribs = _ribs(grid, a)
    x, y = grid.x, grid.y
    spine = np.exp(-((x / 0.10) ** 4))
    vertebrae = 1.0 + 0.10 * np.cos(2 * np.pi * y / 0.17)
    mediastinum = np.exp(-((x / (0.17 + 0.03 * (y + 0.4) ** 2)) ** 4))
    below = grid.soft(y - (a.domes[1] + 0.06), 0.10)
    density = 0.50 * a.density * torso * (1.0 - 0.22 * (x / a.body) ** 2)
    # Organs lie behind each other, but the middle is about as thick everywhere.
    density = density + 0.17 * np.maximum(0.75 * mediastinum, heart) * torso
    density = density + 0.07 * spine * vertebrae * torso + 0.08 * below * torso * (1 - both)
    density = density - 0.27 * both
    density = density + ribs * torso * (0.7 + 0.3 * both)
    density = density + _clavicles(grid, a) * torso
    density = density + 0.012 * grid.texture("tissue", 0.5) * torso
    return Body(density, torso, heart, ribs, lungs, _vessels(grid, lungs))


def _torso(grid: Grid, a: Anatomy) -> Field:
    """Shoulders slope up to the neck; arms are out of the picture."""
    x, y = np.abs(grid.x), grid.y
    shoulder = -0.80 + 0.52 * np.clip(x - 0.20, 0, None) ** 1.6
    side = a.body + 0.06 * np.cos(1.8 * (y - 0.2)) - x
    side = side + 0.35 * np.clip(-y - 0.25, 0, None)
    neck = np.where(x < 0.2, 1.0, y - shoulder)
    return grid.soft(np.minimum(side, neck), 0.03)


def _heart(grid: Grid, a: Anatomy) -> Field:
    """Ventricles that lean to the patient's left, the right atrium, and the great vessels."""
    x, y = grid.x, grid.y
    low = min(a.domes) + 0.02

    def oval(cx: float, cy: float, rx: float, ry: float, lean: float = 0.0) -> Field:
        u = ((x - cx) * np.cos(lean) + (y - cy) * np.sin(lean)) / rx
        v = (-(x - cx) * np.sin(lean) + (y - cy) * np.cos(lean)) / ry
        return np.asarray((1.0 - np.sqrt(u**2 + v**2)) * rx)

    wide, high = a.heart_width, a.heart_height
    ventricle = oval(0.07 + 0.35 * wide, low - 0.62 * high, 0.86 * wide, 0.70 * high, 0.75)
    atrium = oval(-0.04, low - 0.70 * high, 0.62 * wide, 0.78 * high)
    trunk = oval(0.08, low - 1.25 * high, 0.14, 0.30, -0.2)
    knob = oval(0.10, -0.32, 0.095, 0.105)
    whole = np.maximum(np.maximum(ventricle, atrium), np.maximum(trunk, knob))
    return grid.soft(whole, 0.02)


def _lung(grid: Grid, a: Anatomy, side: str, heart: Field) -> Lung:
    sign = SIGN[side]
    dome = a.domes[0] if side == "right" else a.domes[1]
    top = -0.76
    centre = 0.155 + a.lung_width
    v = (grid.y - top) / (dome + 0.16 - top)  # 0 at the apex, 1 below the dome
    down = np.clip(v, 0.0, 1.0)
    # Narrow at the apex, widest below the middle; the inner edge leaves room for the vessels.
    half = a.lung_width * (1.0 - a.apex * (1.0 - down) ** 2.2)
    middle = centre - 0.10 * (1.0 - down) ** 1.5
    x = grid.x * sign
    u = (x - middle) / half
    round_top = np.sqrt(np.clip(1.0 - np.clip(1.0 - v / 0.16, 0, 1) ** 2, 0, 1))
    sides = (round_top - np.abs(u)) * half
    across = (x - 0.45) / 0.36
    floor = dome + 0.17 * across**2 + 0.10 * np.clip(across, 0, None) ** 3 - grid.y
    inside = np.minimum(np.minimum(sides, floor), v)
    shown = grid.soft(inside, 0.012) * (1.0 - heart)
    hilum = (sign * 0.19, -0.08)
    return Lung(sign, shown, u, v, hilum, (sign * (centre - 0.1), top))


def _ribs(grid: Grid, a: Anatomy) -> Field:
    x = np.abs(grid.x)
    total = np.zeros_like(x)
    for k in range(RIBS):
        start = -0.80 + a.rib_gap * k
        back = start + a.rib_slope * x + 0.62 * np.clip(x - 0.35, 0, None) ** 2
        reach = grid.soft(a.body - 0.06 - x, 0.04) * grid.soft(x - 0.06, 0.02)
        total = np.maximum(total, a.rib_strength * _tube(grid, grid.y - back, 0.034) * reach)
        front = start + 0.30 - 0.55 * (x - 0.62)
        reach = grid.soft(a.body - 0.05 - x, 0.04) * grid.soft(x - 0.38, 0.10)
        faint = 0.62 * a.rib_strength * _tube(grid, grid.y - front, 0.036) * reach
        total = np.maximum(total, faint)
    return np.asarray(total * grid.soft(0.86 - grid.y, 0.1))


def _tube(grid: Grid, away: Field, half: float) -> Field:
    """A hollow bone from the side: its edges are denser."""
    inside = grid.soft(half - np.abs(away), 0.006)
    return np.asarray(inside * (0.62 + 0.38 * (away / half) ** 2))


def _clavicles(grid: Grid, a: Anatomy) -> Field:
    bow = ((0.07, 0.10), (0.28, 0.03), (0.50, -0.05), (0.78, -0.06))
    lines = [([(sign * x, a.clavicle + y) for x, y in bow], 0.062) for sign in (-1, 1)]
    return 0.085 * blur(grid.strokes(lines), grid.size / 160)


def _vessels(grid: Grid, lungs: dict[str, Lung]) -> Field:
    """Branches from each hilum outwards, thinner and fainter with every turn."""
    rng = stream(grid.seed, "vessels")
    thick: list[tuple[Sequence[Point], float]] = []
    thin: list[tuple[Sequence[Point], float]] = []
    for lung in lungs.values():
        x0, y0 = lung.hilum
        for k in range(9):
            angle = -1.25 + 2.6 * (k + rng.random()) / 9
            length = 0.34 + 0.22 * rng.random()
            curl = 0.5 * (rng.random() - 0.5)
            points = [(x0, y0)]
            for _ in range(3):
                angle += curl * rng.random()
                x, y = points[-1]
                further = lung.sign * np.cos(angle) * length / 3
                points.append((x + further, y + np.sin(angle) * length / 3))
            thick.append((points[:3], 0.026))
            thin.append((points, 0.014))
            for _ in range(2):
                x, y = points[2]
                fork = angle + (rng.random() - 0.5) * 1.6
                end = (x + lung.sign * np.cos(fork) * 0.2, y + np.sin(fork) * 0.2)
                thin.append(([points[2], end], 0.010))
    lines = 0.055 * grid.strokes(thick) + 0.045 * grid.strokes(thin)
    hila = sum(0.07 * grid.gauss(*lung.hilum, 0.07, 0.12) for lung in lungs.values())
    fine = 0.010 * grid.texture("markings", 0.12, 2)
    return np.asarray(blur(lines, grid.size / 220) + hila + fine)
