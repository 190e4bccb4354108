"""The same patient with one thing changed, so that only this differs between two pictures."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from medebench.phantoms.chest.chest_spec import DEVICES, FINDINGS, HOSPITALS, ChestSpec, Side
from medebench.phantoms.chest.patients import (
    EVERYBODY,
    draw_device,
    draw_finding,
    draw_patient,
)
from medebench.phantoms.drawings.noise import stream


@dataclass(frozen=True)
class Change:
    """From one picture to another of the same patient."""

    before: ChestSpec
    after: ChestSpec

    def __neg__(self) -> Change:
        return Change(self.after, self.before)


def patient(seed: int, index: int) -> tuple[ChestSpec, ChestSpec, ChestSpec]:
    """Patient `index` as drawn, with another finding, and with another device or hospital."""
    first = draw_patient(seed, index, EVERYBODY)
    rng = stream(seed, f"changed {index}")
    other = _device(first, rng) if rng.random() < 0.6 else _hospital(first, rng)
    return first, _finding(first, rng), other


def _finding(spec: ChestSpec, rng: np.random.Generator) -> ChestSpec:
    """Mostly there or gone; now and then on the other side, another one, or one more."""
    there = [one.name for one in spec.findings]
    absent = [name for name in FINDINGS if name not in there]
    new = draw_finding(absent[int(rng.integers(len(absent)))], rng)
    if not spec.findings:
        return spec.having(new)
    chance, old = rng.random(), spec.findings[0]
    if chance < 0.6:
        return spec.without(old.name)
    if chance < 0.75 and old.side != "both":
        return spec.having(replace(old, side=opposite(old.side)))
    return spec.without(old.name).having(new) if chance < 0.85 else spec.having(new)


def _device(spec: ChestSpec, rng: np.random.Generator) -> ChestSpec:
    name = DEVICES[int(rng.integers(len(DEVICES)))]
    return spec.without(name) if spec.device(name) else spec.having(draw_device(name, spec, rng))


def _hospital(spec: ChestSpec, rng: np.random.Generator) -> ChestSpec:
    others = [name for name in HOSPITALS if name != spec.look.hospital]
    chosen = others[int(rng.integers(len(others)))]
    return replace(spec, look=replace(spec.look, hospital=chosen))


def opposite(side: Side) -> Side:
    return "right" if side == "left" else "left"
