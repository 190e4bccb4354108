"""Random patients, and populations in which things come together more often than by chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from medebench.errors import InputError
from medebench.phantoms.chest.chest_spec import (
    DEVICES,
    FINDINGS,
    HOSPITALS,
    Anatomy,
    ChestSpec,
    Device,
    DeviceName,
    Finding,
    FindingName,
    Hospital,
    Look,
    Side,
    Zone,
    one_of,
)
from medebench.phantoms.drawings.noise import stream


@dataclass(frozen=True)
class Population:
    """How often findings and devices occur; a patient has at most one finding.

    `devices_with` gives the chance of a device beside a finding; shares of hospitals need not add
    up to 1.
    """

    findings: Mapping[FindingName, float] = field(default_factory=dict)
    devices: Mapping[DeviceName, float] = field(default_factory=dict)
    devices_with: Mapping[tuple[DeviceName, FindingName], float] = field(default_factory=dict)
    hospitals: Mapping[Hospital, float] = field(default_factory=lambda: {"A": 1.0})

    def __post_init__(self) -> None:
        known = {"findings": FINDINGS, "devices": DEVICES, "hospitals": HOSPITALS}
        for what, names in known.items():
            for name in getattr(self, what):
                one_of(what, name, names)
        for pair in self.devices_with:
            if pair[0] not in self.devices or pair[1] not in FINDINGS:
                raise InputError(f"devices_with: {pair}: expected one of `devices` and a finding")
        for what in (*known, "devices_with"):
            for name, chance in getattr(self, what).items():
                if not 0.0 <= chance <= 1.0:
                    raise InputError(f"{what}: {name}={chance}: must be between 0 and 1")
        if sum(self.findings.values()) > 1 + 1e-9:
            raise InputError("findings: the chances add up to more than 1; lower them")
        if not sum(self.hospitals.values()) > 0:
            raise InputError("hospitals: at least one must have a chance above 0")


def draw_anatomy(rng: np.random.Generator) -> Anatomy:
    def near(middle: float, spread: float) -> float:
        return middle + spread * (2.0 * rng.random() - 1.0)

    dome = near(0.42, 0.06)
    return Anatomy(
        scale=near(1.0, 0.06),
        shift=(near(0.0, 0.05), near(0.03, 0.05)),
        lung_width=near(0.34, 0.025),
        apex=near(0.42, 0.05),
        domes=(dome, dome + near(0.04, 0.03)),
        heart_width=near(0.30, 0.045),
        heart_height=near(0.34, 0.03),
        rib_slope=near(0.28, 0.06),
        rib_gap=near(0.145, 0.008),
        rib_strength=near(0.075, 0.02),
        body=near(0.86, 0.04),
        density=near(1.0, 0.05),
        clavicle=near(-0.60, 0.03),
    )


def draw_finding(name: FindingName, rng: np.random.Generator) -> Finding:
    one: Side = "left" if rng.random() < 0.5 else "right"
    part: Zone = "upper" if rng.random() < 0.5 else "lower"
    extent = float(rng.random())
    if name in ("opacities", "oedema"):
        return Finding(name, "both", "all", extent)
    return Finding(name, one, "all" if name == "pneumothorax" else part, extent)


def draw_device(name: DeviceName, spec: ChestSpec, rng: np.random.Generator) -> Device:
    """A drain lies where the air is; a pacemaker mostly on the left."""
    chance = rng.random()
    if name == "wires":
        return Device(name, "both")
    if name == "pacemaker":
        return Device(name, "left" if chance < 0.85 else "right")
    air = spec.finding("pneumothorax")
    side: Side = air.side if air and air.side != "both" else "left" if chance < 0.5 else "right"
    return Device(name, side)


def draw_look(hospital: Hospital, rng: np.random.Generator) -> Look:
    contrast, brightness, collimation = (float(2 * rng.random() - 1) for _ in range(3))
    return Look(hospital, contrast, brightness, collimation)


def draw_patient(seed: int, index: int, population: Population) -> ChestSpec:
    """Patient `index` of a population; no two indices or seeds share anything."""
    rng = stream(seed, f"chest {index}")
    own = int(rng.integers(0, 2**31))
    spec = ChestSpec(own, draw_anatomy(rng))
    at, edges = rng.random(), np.cumsum(list(population.findings.values()))
    for name, edge in zip(population.findings, edges, strict=True):
        if at < edge:
            spec = spec.having(draw_finding(name, rng))
            break
    for device, usual in population.devices.items():
        beside = population.devices_with.items()
        with_it = [chance for (one, ill), chance in beside if one == device and spec.finding(ill)]
        if rng.random() < max(with_it, default=usual):
            spec = spec.having(draw_device(device, spec, rng))
    places = list(population.hospitals)
    shares = np.cumsum(list(population.hospitals.values()))
    place = places[int(np.searchsorted(shares, rng.random() * shares[-1], side="right"))]
    return replace(spec, look=draw_look(place, rng))


def confounded(
    seed: int,
    index: int,
    ill: FindingName,
    with_it: DeviceName | Hospital,
    degree: float,
    instead: Hospital = "A",
) -> tuple[ChestSpec, bool]:
    """Patient `index`, every second ill, and whether; `with_it` comes with the illness.

    With degree 0 a sick and a healthy patient have it equally often, in half of the cases; with
    degree 1 every sick one and no healthy one has it:

        P(with_it | ill) = (1 + degree) / 2,   P(with_it | not ill) = (1 - degree) / 2
    """
    if not 0.0 <= degree <= 1.0:
        raise InputError(f"degree={degree}: must be between 0 and 1")
    place = next((one for one in HOSPITALS if one == with_it), None)
    device = next((one for one in DEVICES if one == with_it), None)
    if place is None and device is None:
        known = ", ".join((*DEVICES, *HOSPITALS))
        raise InputError(f"with_it='{with_it}': expected one of {known}")
    if place == instead:
        raise InputError(f"instead='{instead}': must differ from with_it")
    rng = stream(seed, f"confounded {index}")
    sick = index % 2 == 0
    has = rng.random() < (1.0 + degree) / 2.0 if sick else rng.random() < (1.0 - degree) / 2.0
    spec = ChestSpec(int(rng.integers(0, 2**31)), draw_anatomy(rng))
    if sick:
        spec = spec.having(draw_finding(ill, rng))
    if device is None:
        return replace(spec, look=draw_look(place if place and has else instead, rng)), sick
    spec = replace(spec, look=draw_look("A" if rng.random() < 0.5 else "B", rng))
    return (spec.having(draw_device(device, spec, rng)) if has else spec), sick


#: What the chest model learns from: all there is, and drains where they are usually found.
EVERYBODY = Population(
    findings=dict.fromkeys(FINDINGS, 0.15),
    devices={"chest drain": 0.12, "pacemaker": 0.2, "wires": 0.2},
    devices_with={("chest drain", "pneumothorax"): 0.6},
    hospitals={"A": 0.4, "B": 0.4, "C": 0.2},
)
