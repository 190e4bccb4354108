"""Devices in or on the patient: dense, with sharp edges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from medebench.phantoms.chest.anatomy import SIGN
from medebench.phantoms.chest.chest_spec import Device, DeviceName
from medebench.phantoms.chest.fields import Grid, Point
from medebench.phantoms.drawings.noise import Field, stream

#: From this share of a pixel on, a pixel belongs to the core of a device.
VISIBLE = 0.15


def device_field(grid: Grid, device: Device) -> tuple[Field, Field]:
    """Density added, and the share of each pixel that the device covers."""
    return _DRAWN[device.name](grid, device)


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
    lead = grid.stroke(
        [
            (cx - sign * 0.06, cy - 0.07),
            (sign * 0.36, -0.60),
            (sign * 0.14, -0.52),
            (0.02 * sign, -0.20),
            (0.04, 0.10),
            (0.20, 0.24 + 0.04 * rng.random()),
        ],
        0.020,
    )
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


_DRAWN: dict[DeviceName, Callable[[Grid, Device], tuple[Field, Field]]] = {
    "chest drain": _drain,
    "pacemaker": _pacemaker,
    "wires": _wires,
}
