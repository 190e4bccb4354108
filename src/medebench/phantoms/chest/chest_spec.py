"""What a chest phantom is made of: numbers and words from which it can be drawn again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from medebench.errors import InputError

FindingName: TypeAlias = Literal["pneumothorax", "opacities", "nodule", "oedema", "consolidation"]
DeviceName: TypeAlias = Literal["chest drain", "pacemaker", "wires"]
#: The patient's own; as on every radiograph the left lung is on the right of the picture.
Side: TypeAlias = Literal["left", "right", "both"]
Zone: TypeAlias = Literal["upper", "lower", "all"]
Hospital: TypeAlias = Literal["A", "B", "C"]

FINDINGS: tuple[FindingName, ...] = get_args(FindingName)
DEVICES: tuple[DeviceName, ...] = get_args(DeviceName)
HOSPITALS: tuple[Hospital, ...] = get_args(Hospital)


def one_of(what: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise InputError(f"{what}: no '{given}'; there are: {', '.join(known)}")


@dataclass(frozen=True)
class Anatomy:
    """A body. Lengths are in half widths of the picture, -1 to 1; y points down."""

    scale: float = 1.0
    shift: tuple[float, float] = (0.0, 0.0)
    #: Half width of a lung, and how much the apex narrows.
    lung_width: float = 0.34
    apex: float = 0.42
    #: Top of the right and of the left dome of the diaphragm.
    domes: tuple[float, float] = (0.42, 0.48)
    heart_width: float = 0.30
    heart_height: float = 0.34
    rib_slope: float = 0.28
    rib_gap: float = 0.145
    rib_strength: float = 0.075
    body: float = 0.86
    density: float = 1.0
    clavicle: float = -0.60


@dataclass(frozen=True)
class Finding:
    name: FindingName
    side: Side
    zone: Zone = "all"
    #: From hardly visible, 0, to severe, 1.
    extent: float = 0.5

    def __post_init__(self) -> None:
        one_of("finding", self.name, FINDINGS)
        one_of("side", self.side, get_args(Side))
        one_of("zone", self.zone, get_args(Zone))
        if not 0.0 <= self.extent <= 1.0:
            raise InputError(f"extent={self.extent}: must be between 0 and 1")


@dataclass(frozen=True)
class Device:
    name: DeviceName
    #: Wires lie on both sides, whatever this says.
    side: Side

    def __post_init__(self) -> None:
        one_of("device", self.name, DEVICES)
        one_of("side", self.side, get_args(Side) if self.name == "wires" else ("left", "right"))


@dataclass(frozen=True)
class Look:
    """How a picture was taken: a hospital, and how this picture differs from its usual ones."""

    hospital: Hospital = "A"
    #: Each from -1 to 1, within what is usual there.
    contrast: float = 0.0
    brightness: float = 0.0
    collimation: float = 0.0

    def __post_init__(self) -> None:
        one_of("hospital", self.hospital, HOSPITALS)


@dataclass(frozen=True)
class ChestSpec:
    """Determines the picture completely; `seed` sets its texture and the grain of the noise."""

    seed: int
    anatomy: Anatomy = Anatomy()
    findings: tuple[Finding, ...] = ()
    devices: tuple[Device, ...] = ()
    look: Look = Look()

    def __post_init__(self) -> None:
        names = [*(one.name for one in self.findings), *(one.name for one in self.devices)]
        if len(set(names)) < len(names):
            once = "a chest phantom has each finding and device at most once"
            raise InputError(f"{', '.join(names)}: {once}")

    def finding(self, name: FindingName) -> Finding | None:
        return next((one for one in self.findings if one.name == name), None)

    def device(self, name: DeviceName) -> Device | None:
        return next((one for one in self.devices if one.name == name), None)

    def without(self, name: str) -> ChestSpec:
        """The same patient without this finding or device."""
        findings = tuple(one for one in self.findings if one.name != name)
        return replace(
            self, findings=findings, devices=tuple(one for one in self.devices if one.name != name)
        )

    def having(self, thing: Finding | Device) -> ChestSpec:
        """The same patient with this finding or device."""
        rest = self.without(thing.name)
        if isinstance(thing, Finding):
            return replace(rest, findings=(*rest.findings, thing))
        return replace(rest, devices=(*rest.devices, thing))
