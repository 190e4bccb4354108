"""From a ChestSpec to a picture and exact masks of everything in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from medebench.errors import InputError
from medebench.phantoms.chest import devices
from medebench.phantoms.chest.anatomy import Body, build
from medebench.phantoms.chest.chest_findings import Effect, effect
from medebench.phantoms.chest.chest_spec import Anatomy, ChestSpec
from medebench.phantoms.chest.devices import device_field
from medebench.phantoms.chest.fields import Grid, Masks
from medebench.phantoms.chest.hospital_look import Exposure
from medebench.phantoms.drawings.noise import Field

T = TypeVar("T")
#: Density added, and the share of each pixel that is covered.
DeviceLayer: TypeAlias = tuple[Field, Field]
#: Changes whenever the same spec gives another picture.
VERSION = 2
SIZE = 128
SMALLEST = 64
#: Of 255 grey levels: what changes less is lost when the picture is rounded.
VISIBLE = 1.0


@dataclass(frozen=True)
class ChestPhantom:
    """A picture and where everything in it is.

    `masks` has lungs, left lung, right lung, heart, ribs, body, marker, border, and each finding
    and device under its name: every pixel that it changes by a grey level or more before
    rounding. So outside of its mask the picture with it and `spec.without(name)` differ by one
    level at most. `cores` has findings and devices alone, as narrow as a person would outline them:
    of a pneumothorax the air, not the lung that it presses together.
    """

    spec: ChestSpec
    picture: NDArray[np.uint8]
    masks: Masks
    cores: Masks


def render(spec: ChestSpec, size: int = SIZE) -> ChestPhantom:
    """Draw it; a pure function of the spec and the size."""
    if size < SMALLEST:
        raise InputError(f"size={size}: a chest phantom needs at least {SMALLEST} pixels")
    grid = Grid(size, spec.seed, spec.anatomy.scale, spec.anatomy.shift)
    body = _body(size, spec.seed, spec.anatomy)
    effects: dict[str, Effect] = {one.name: effect(grid, body, one) for one in spec.findings}
    placed: dict[str, DeviceLayer] = {one.name: device_field(grid, one) for one in spec.devices}
    camera = Exposure(grid, spec.look)
    shown = camera.expose(_density(body, effects, placed))
    masks = _anatomy_masks(body, spec.anatomy) | camera.masks
    for name in (*effects, *placed):
        without = camera.expose(_density(body, _less(effects, name), _less(placed, name)))
        masks[name] = np.abs(shown - without) * 255.0 >= VISIBLE
    cores = {name: one.core for name, one in effects.items()}
    cores |= {name: cover > devices.VISIBLE for name, (_, cover) in placed.items()}
    return ChestPhantom(spec, np.floor(shown * 255.0 + 0.5).astype(np.uint8), masks, cores)


@lru_cache(maxsize=2)
def _body(size: int, seed: int, anatomy: Anatomy) -> Body:
    """Most of the work, and the same for a patient with and without a finding."""
    return build(Grid(size, seed, anatomy.scale, anatomy.shift), anatomy)


def _density(body: Body, effects: dict[str, Effect], placed: dict[str, DeviceLayer]) -> Field:
    density, markings = body.density, np.ones_like(body.density)
    for made in effects.values():
        density, markings = density + made.added, markings * made.markings
    density = density + body.vessels * markings * body.both
    for added, _ in placed.values():
        density = density + added
    return density


def _anatomy_masks(body: Body, anatomy: Anatomy) -> Masks:
    left, right = (body.lungs[side].inside > 0.5 for side in ("left", "right"))
    return {
        "left lung": left,
        "right lung": right,
        "lungs": left | right,
        "heart": body.heart > 0.5,
        "ribs": (body.ribs > 0.3 * anatomy.rib_strength) & (body.torso > 0.5),
        "body": body.torso > 0.5,
    }


def _less(things: dict[str, T], name: str) -> dict[str, T]:
    return {key: value for key, value in things.items() if key != name}
