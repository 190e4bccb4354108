"""Findings, which change the density inside the lungs, and devices: dense, with sharp edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.chest.anatomy import SIGN, Body, Lung
from medebench.phantoms.chest.chest_spec import Device, DeviceName, Finding, FindingName
from medebench.phantoms.chest.fields import Grid, Point, blur
from medebench.phantoms.drawings.noise import Field, stream

#: From this change of density on, a pixel belongs to the core of a finding.
VISIBLE = 0.02
#: From this share of a pixel on, a pixel belongs to the core of a device.
COVERED = 0.15


@dataclass(frozen=True)
class Effect:
    """Density added, the share of lung markings left, and where the finding itself lies."""

    added: Field
    markings: Field
    core: NDArray[np.bool_]


def effect(grid: Grid, body: Body, finding: Finding) -> Effect:
    return _FINDINGS[finding.name](grid, body, finding)


def _lungs(body: Body, finding: Finding) -> list[Lung]:
    sides = SIGN if finding.side == "both" else [finding.side]
    return [body.lungs[side] for side in sides]


def _pneumothorax(grid: Grid, body: Body, finding: Finding) -> Effect:
    """Air between lung and wall, at the top and the outer side: dark, empty, with a fine edge."""
    added, markings = np.zeros_like(grid.x), np.ones_like(grid.x)
    region = np.zeros(grid.x.shape, np.bool_)
    for lung in _lungs(body, finding):
        depth = 0.14 + 0.16 * finding.extent
        hard = lung.inside > 0.5
        away = cv2.distanceTransform(np.pad(hard.astype(np.uint8), 1), cv2.DIST_L2, 5)[1:-1, 1:-1]
        away = away * grid.pixel
        # Measured from the wall; towards the middle and the base the lung still fills the chest.
        outer = np.clip(0.55 + 0.75 * lung.u, 0.0, 1.25)
        upper = np.clip(1.30 - 1.15 * lung.v, 0.0, 1.2)
        rim = depth * np.maximum(outer * np.clip(1.25 - 0.75 * lung.v, 0, 1), upper * 0.9)
        gap = grid.soft(rim - away, 0.006) * lung.inside
        line = np.exp(-(((rim - away) / (0.8 * grid.pixel + 0.008)) ** 2))
        line = line * lung.inside * (rim > 0.03)
        added = added - 0.10 * gap + 0.13 * line
        markings = markings * (1.0 - gap)
        # What is left of the lung is denser.
        added = added + 0.035 * finding.extent * (lung.inside - gap)
        region |= gap > 0.5
    region = cv2.dilate(region.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
    return Effect(added, markings, region & (body.both > 0.2))


def _opacities(grid: Grid, body: Body, finding: Finding) -> Effect:
    """Several hazy patches, mostly at the outer side and below."""
    rng = stream(grid.seed, "opacities")
    haze = np.zeros_like(grid.x)
    for lung in _lungs(body, finding):
        for _ in range(3 + round(2 * finding.extent)):
            x = lung.sign * (0.30 + 0.36 * rng.random())
            y = -0.35 + 0.75 * rng.random()
            rx, ry = 0.08 + 0.06 * rng.random(), 0.08 + 0.07 * rng.random()
            haze = np.maximum(haze, grid.gauss(x, y, rx, ry))
    patchy = np.clip(0.85 + 0.35 * grid.texture("patches", 0.12, 2), 0.3, 1.4)
    return _dense(body, haze * patchy * (0.15 + 0.13 * finding.extent))


def _nodule(grid: Grid, body: Body, finding: Finding) -> Effect:
    rng = stream(grid.seed, "nodule")
    (lung, *_) = _lungs(body, finding)
    x = lung.sign * (0.32 + 0.24 * rng.random())
    low, high = {"upper": (-0.5, -0.15), "lower": (0.0, 0.3), "all": (-0.5, 0.3)}[finding.zone]
    y = low + (high - low) * rng.random()
    radius = 0.055 + 0.055 * finding.extent
    away = np.hypot(grid.x - x, grid.y - y)
    ball = np.sqrt(np.clip(1.0 - (away / radius) ** 2, 0.0, 1.0)) ** 0.7
    return _dense(body, 0.20 * blur(ball, grid.size / 200))


def _oedema(grid: Grid, body: Body, finding: Finding) -> Effect:
    """Haze around both hila, like the wings of a butterfly."""
    haze = np.zeros_like(grid.x)
    for lung in _lungs(body, finding):
        x, y = lung.hilum
        haze = haze + grid.gauss(x + lung.sign * 0.12, y + 0.06, 0.20, 0.30)
    cloudy = np.clip(1.0 + 0.25 * grid.texture("oedema", 0.18, 3), 0.4, 1.5)
    return _dense(body, haze * cloudy * (0.16 + 0.14 * finding.extent))


def _consolidation(grid: Grid, body: Body, finding: Finding) -> Effect:
    """A lobe filled up: nearly as dense as the heart, its border to the wall is lost."""
    added = np.zeros_like(grid.x)
    for lung in _lungs(body, finding):
        wave = 0.05 * grid.texture("lobe", 0.25, 2)
        above = finding.zone == "upper"
        edge = 0.42 + 0.12 * finding.extent if above else 0.58 - 0.16 * finding.extent
        part = lung.v - edge + wave
        part = -part if above else part
        dense = grid.soft(part, 0.045) * lung.inside
        bronchi = 1.0 - 0.22 * np.clip(grid.texture("bronchi", 0.07, 1), 0, 1.5)
        added = np.maximum(added, 0.29 * dense * bronchi)
    return _dense(body, added)


def _dense(body: Body, haze: Field) -> Effect:
    added = haze * body.both
    return Effect(added, 1.0 - np.clip(1.8 * added, 0.0, 0.8), added > VISIBLE)


_FINDINGS: dict[FindingName, Callable[[Grid, Body, Finding], Effect]] = {
    "pneumothorax": _pneumothorax,
    "opacities": _opacities,
    "nodule": _nodule,
    "oedema": _oedema,
    "consolidation": _consolidation,
}


def device_field(grid: Grid, device: Device) -> tuple[Field, Field]:
    """Density added, and the share of each pixel that the device covers."""
    return _DEVICES[device.name](grid, device)


def _drain(grid: Grid, device: Device) -> tuple[Field, Field]:
    """A tube from the lower chest wall up to the apex."""
    rng = stream(grid.seed, "drain")
    sign = SIGN[device.side]
    wobble = [0.05 * (rng.random() - 0.5) for _ in range(4)]
    points: list[Point] = [
        (sign * 1.02, 0.30 + 2 * wobble[0]),
        (sign * 0.80, 0.20 + wobble[1]),
        (sign * (0.64 + wobble[2]), -0.08),
        (sign * (0.52 + wobble[3]), -0.36),
        (sign * 0.36, -0.52 + wobble[0]),
    ]
    tube = grid.stroke(points, 0.070)
    lumen = grid.stroke(points, 0.028)
    return 0.36 * tube - 0.10 * lumen, tube


def _pacemaker(grid: Grid, device: Device) -> tuple[Field, Field]:
    """A can below the clavicle and a lead into the heart."""
    rng = stream(grid.seed, "pacemaker")
    sign = SIGN[device.side]
    cx, cy = sign * (0.56 + 0.06 * rng.random()), -0.40 + 0.06 * rng.random()
    u, v = np.abs(grid.x - cx) / 0.115, np.abs(grid.y - cy) / 0.095
    can = grid.soft((1.0 - (u**3 + v**3) ** (1 / 3)) * 0.1, 0.004)
    vein = [(cx - sign * 0.06, cy - 0.07), (sign * 0.36, -0.60), (sign * 0.14, -0.52)]
    heart = [(0.02 * sign, -0.20), (0.04, 0.10), (0.20, 0.24 + 0.04 * rng.random())]
    lead = grid.stroke([*vein, *heart], 0.020)
    cover = np.maximum(can, lead)
    return np.maximum(0.50 * can, 0.30 * lead), cover


def _wires(grid: Grid, device: Device) -> tuple[Field, Field]:
    """Leads of an electrocardiogram with their electrodes."""
    rng = stream(grid.seed, "wires")
    cover = np.zeros_like(grid.x)
    for sign, y in ((-1, -0.34), (1, -0.30), (1, 0.30)):
        x = sign * (0.58 + 0.08 * rng.random())
        at = y + 0.06 * (rng.random() - 0.5)
        below = (0.25 * sign * rng.random(), 0.55)
        line = [(x, at), (x * 0.75, at + 0.2), below, (0.1 * sign, 1.1)]
        away = np.hypot(grid.x - x, grid.y - at)
        cover = np.maximum(cover, grid.stroke(line, 0.014))
        cover = np.maximum(cover, grid.soft(0.040 - away, 0.004))
    return 0.24 * cover, cover


_DEVICES: dict[DeviceName, Callable[[Grid, Device], tuple[Field, Field]]] = {
    "chest drain": _drain,
    "pacemaker": _pacemaker,
    "wires": _wires,
}
