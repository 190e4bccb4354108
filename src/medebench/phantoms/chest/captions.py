"""What a chest phantom shows, in words: the short texts that the chest model reads."""

from __future__ import annotations

import numpy as np

from medebench.phantoms.chest.chest_spec import FINDINGS, ChestSpec, Device, Finding

CLEAR = "clear lungs"


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
