"""What a picture of a MedGEN phantom shows: its style, and lesions of one kind at known places."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from medebench.phantoms.drawings.noise import stream
from medebench.phantoms.drawings.phantom_spec import Draw
from medebench.phantoms.drawings.stage import Stage

Modality = Literal["CT", "MRI", "Ultrasound", "X-ray", "Pathology", "Clinical Photography"]
Kind = Literal["bright", "dark", "ring"]
Side = Literal["left", "right"]
Third = Literal["upper", "middle", "lower"]

MODALITIES: tuple[Modality, ...] = (
    *("CT", "MRI", "Ultrasound", "X-ray", "Pathology", "Clinical Photography"),
)
KINDS: tuple[Kind, ...] = ("bright", "dark", "ring")
SIDES: tuple[Side, ...] = ("left", "right")
THIRDS: tuple[Third, ...] = ("upper", "middle", "lower")

#: The half on the left of the picture: centre x and y, half width and half height. The other half
#: is its mirror image.
HALVES: dict[Modality, tuple[float, float, float, float]] = {
    "CT": (82.0, 128.0, 34.0, 58.0),
    "MRI": (88.0, 128.0, 36.0, 70.0),
    "Ultrasound": (80.0, 140.0, 36.0, 56.0),
    "X-ray": (80.0, 124.0, 32.0, 66.0),
    "Pathology": (70.0, 128.0, 44.0, 82.0),
    "Clinical Photography": (70.0, 128.0, 44.0, 82.0),
}


@dataclass(frozen=True, slots=True)
class Lesion:
    """One lesion; sides are those of the picture, x and y those of a frame of 256."""

    side: Side
    third: Third
    x: float
    y: float
    radius: float
    stretch: float
    angle: float


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything needed to draw the picture again, and everything that is true of it."""

    modality: Modality
    kind: Kind
    lesions: tuple[Lesion, ...]
    noise: int
    tone: float
    turn: float
    zoom: float
    shift: tuple[float, float]

    def stage(self) -> Stage:
        return Stage(self.noise, zoom=self.zoom, turn=self.turn, shift=self.shift)

    @property
    def count(self) -> int:
        return len(self.lesions)

    @property
    def sides(self) -> tuple[Side, ...]:
        return tuple(side for side in SIDES if any(one.side == side for one in self.lesions))

    def grown(self, factor: float) -> Scene:
        """The same with lesions of another size."""
        found = tuple(replace(one, radius=one.radius * factor) for one in self.lesions)
        return replace(self, lesions=found)

    def healthy(self) -> Scene:
        return replace(self, lesions=())


def sample_scene(seed: int, name: str, count: int | None = None) -> Scene:
    """The scene of this name with so many lesions, 0 to 3 unless given."""
    d = Draw(stream(seed, f"medgen {name}"))
    modality, kind = d.pick(MODALITIES), d.pick(KINDS)
    wanted = d.whole(0, 3)
    wanted = wanted if count is None else count
    slots: list[tuple[Side, Third]] = [(side, third) for side in SIDES for third in THIRDS]
    lesions = []
    for _ in range(wanted):
        side, third = slots.pop(d.whole(0, len(slots) - 1))
        lesions.append(_lesion(d, modality, side, third))
    return Scene(
        modality,
        kind,
        tuple(lesions),
        noise=d.whole(0, 2**31 - 1),
        tone=d.real(0.15, 0.5),
        turn=d.real(-0.05, 0.05),
        zoom=d.real(0.97, 1.05),
        shift=(d.real(-5.0, 5.0), d.real(-5.0, 5.0)),
    )


def slot(modality: Modality, side: Side, third: Third) -> tuple[float, float]:
    """The middle of a third of a half."""
    x, y, _, high = HALVES[modality]
    down = {"upper": -0.58, "middle": 0.0, "lower": 0.58}[third]
    return (x if side == "left" else 256.0 - x), y + down * high


def _lesion(d: Draw, modality: Modality, side: Side, third: Third) -> Lesion:
    x, y = slot(modality, side, third)
    _, _, wide, high = HALVES[modality]
    radius = d.real(8.0, 11.5)
    across, down = d.real(-0.2, 0.2) * wide, d.real(-0.07, 0.07) * high
    return Lesion(side, third, x + across, y + down, radius, d.real(0.88, 1.0), d.real(0.0, 3.1))
