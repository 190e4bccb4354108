"""What things are called in each style of picture, and sentences about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from medebench.phantoms.medgen.scene import Kind, Lesion, Modality, Scene, Side

NUMBERS = ("no", "one", "two", "three")


@dataclass(frozen=True, slots=True)
class Terms:
    """Singular and plural of each kind of lesion, and what the two halves are halves of."""

    kinds: dict[Kind, tuple[str, str]]
    half: str
    #: A picture of this style, in a sentence.
    picture: str


def _terms(half: str, picture: str, bright: str, dark: str, ring: str) -> Terms:
    """Kinds as "singular/plural"."""
    pairs = {"bright": bright, "dark": dark, "ring": ring}
    kinds = {name: tuple(text.split("/")) for name, text in pairs.items()}
    return Terms(kinds, half, picture)  # type: ignore[arg-type]


TERMS: dict[Modality, Terms] = {
    "CT": _terms("{} lung", "axial CT", "nodule/nodules", "cyst/cysts", "cavity/cavities"),
    "MRI": _terms(
        "{} hemisphere",
        "axial MRI",
        "hyperintense lesion/hyperintense lesions",
        "hypointense cyst/hypointense cysts",
        "ring-enhancing lesion/ring-enhancing lesions",
    ),
    "Ultrasound": _terms(
        "{} lobe",
        "ultrasound image",
        "hyperechoic nodule/hyperechoic nodules",
        "simple cyst/simple cysts",
        "rim-calcified nodule/rim-calcified nodules",
    ),
    "X-ray": _terms(
        "{} lung", "frontal radiograph", "nodule/nodules", "bulla/bullae", "cavity/cavities"
    ),
    "Pathology": _terms(
        "{} half of the field",
        "stained section",
        "vacuole/vacuoles",
        "dense nest of cells/dense nests of cells",
        "gland/glands",
    ),
    "Clinical Photography": _terms(
        "{} half of the photograph",
        "photograph of skin",
        "pale patch/pale patches",
        "mole/moles",
        "ring-shaped rash/ring-shaped rashes",
    ),
}


def named(scene: Scene, count: int = 1) -> str:
    """The lesions of the scene, so many of them."""
    return TERMS[scene.modality].kinds[scene.kind][count != 1]


def half(scene: Scene, side: Side) -> str:
    return TERMS[scene.modality].half.format(side)


def where(scene: Scene, one: Lesion) -> str:
    return f"the {one.third} third of the {half(scene, one.side)}"


def sides_of(scene: Scene) -> str:
    """Which halves hold lesions: "left", "right" or "both"."""
    return scene.sides[0] if len(scene.sides) == 1 else "both"


def seen(scene: Scene) -> str:
    """A sentence that counts the lesions and says where they are.

    >>> from medebench.phantoms.medgen.scene import sample_scene
    >>> seen(sample_scene(0, "an example", count=0)).startswith("There is no ")
    True
    """
    if not scene.lesions:
        return f"There is no {named(scene)}."
    verb = "There is" if scene.count == 1 else "There are"
    count = "a" if scene.count == 1 else NUMBERS[scene.count]
    return f"{verb} {count} {named(scene, scene.count)} in {_places(scene)}."


def _places(scene: Scene) -> str:
    """Where the lesions are: thirds of each half, from the left and from above."""
    by_side: dict[Side, list[str]] = defaultdict(list)
    order = {"upper": 0, "middle": 1, "lower": 2}
    for one in sorted(scene.lesions, key=lambda one: order[one.third]):
        by_side[one.side].append(one.third)
    parts = []
    for side in scene.sides:
        thirds = by_side[side]
        noun = "third" if len(thirds) == 1 else "thirds"
        parts.append(f"the {listed(thirds)} {noun} of the {half(scene, side)}")
    return listed(parts)


def listed(parts: Sequence[str]) -> str:
    """Parts of a sentence with commas and "and".

    >>> listed(["upper", "middle", "lower"])
    'upper, middle and lower'
    """
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
