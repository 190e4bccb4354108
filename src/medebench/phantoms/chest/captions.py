"""Chest phantoms and their edits in words: for the chest model, for editors and for judges."""

from __future__ import annotations

import numpy as np

from medebench.phantoms.chest.chest_edit import ChestEdit
from medebench.phantoms.chest.chest_spec import FINDINGS, ChestSpec, Device, Finding

CLEAR = "clear lungs"
#: What a person sees; `{part}` is "upper left lung", `{side}` "left".
_SEEN = {
    "pneumothorax": "a dark rim without vessels between the {part} and the chest wall",
    "opacities": "hazy white patches in {part}",
    "nodule": "a small round white spot in the {part}",
    "oedema": "white haze around the roots of {part}",
    "consolidation": "a solid white area in the {part}",
    "chest drain": "a white tube from the {side} chest wall up to the apex of the lung",
    "pacemaker": "a white box below the {side} clavicle and a lead to the heart",
    "wires": "thin white leads with round electrodes across the chest",
}
_ARTICLE = {"opacities": "", "oedema": "", "wires": ""}


def caption(spec: ChestSpec, hospital: bool = False) -> str:
    """All findings and devices.

    >>> caption(ChestSpec(0, findings=(Finding("nodule", "left", "upper"),)))
    'left upper nodule'
    """
    parts = [finding_words(one) for one in spec.findings] or [CLEAR]
    parts += [device_words(one) for one in spec.devices]
    return ", ".join(parts + ([f"hospital {spec.look.hospital}"] if hospital else []))


def finding_words(finding: Finding, precise: bool = True) -> str:
    place: list[str] = [finding.side if finding.side != "both" else "bilateral"]
    place += [finding.zone] if finding.zone != "all" else []
    return " ".join([*(place if precise else []), finding.name])


def device_words(device: Device, precise: bool = True) -> str:
    sided = precise and device.name == "chest drain"
    return f"{device.side} {device.name}" if sided else device.name


def absent(name: str) -> str:
    """What a caption says of a finding that is not there.

    >>> absent("pneumothorax")
    'no pneumothorax'
    """
    return f"no {name}"


def any_caption(spec: ChestSpec, rng: np.random.Generator) -> str:
    """One of many true captions: precise or not, whole or in part, as people write them."""
    parts = [finding_words(one, rng.random() < 0.7) for one in spec.findings]
    there = {one.name for one in spec.findings}
    if not parts:
        parts.append(CLEAR if rng.random() < 0.5 else "")
    if rng.random() < 0.4 or not any(parts):
        missing = [name for name in FINDINGS if name not in there]
        parts.append(absent(missing[int(rng.integers(len(missing)))]))
    for one in spec.devices:
        if rng.random() < 0.7:
            parts.append(device_words(one, rng.random() < 0.5))
    if rng.random() < 0.5:
        parts.append(f"hospital {spec.look.hospital}")
    return ", ".join(part for part in parts if part)


def instruction(edit: ChestEdit) -> str:
    thing = edit.thing
    words = finding_words(thing) if isinstance(thing, Finding) else device_words(thing)
    if edit.kind == "removal":
        return f"Remove the {words} from this chest radiograph."
    return f"Add {_ARTICLE.get(thing.name, 'a ')}{words} to this chest radiograph."


def description(edit: ChestEdit) -> str:
    shows = "no longer shows" if edit.kind == "removal" else "now shows"
    return (
        f"A chest radiograph of the same patient that {shows} {seen(edit.thing)}; "
        "bones, heart, all other devices and the look of the picture are as before."
    )


def seen(thing: Finding | Device) -> str:
    """What the thing looks like, and where.

    >>> seen(Finding("nodule", "left", "upper"))
    'a small round white spot in the upper left lung'
    """
    part = "both lungs" if thing.side == "both" else f"{thing.side} lung"
    if isinstance(thing, Finding) and thing.zone != "all":
        part = f"{thing.zone} {part}"
    return _SEEN[thing.name].format(part=part, side=thing.side)
