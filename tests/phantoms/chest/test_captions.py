"""Captions: true of the phantom, and readable back into what it shows."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from medebench.phantoms.chest.captions import CLEAR, absent, any_caption, caption
from medebench.phantoms.chest.chest_spec import DEVICES, FINDINGS, ChestSpec, Look
from medebench.phantoms.chest.patients import EVERYBODY, draw_patient

FINDING = re.compile(rf"(?:(left|right|bilateral) )?(?:(upper|lower) )?({'|'.join(FINDINGS)})")
DEVICE = re.compile(rf"(?:(left|right) )?({'|'.join(DEVICES)})")


def check(part: str, spec: ChestSpec) -> str:
    """What kind of statement it is; it must be true."""
    if part == CLEAR:
        assert not spec.findings
        return CLEAR
    if part.startswith("no "):
        assert part[3:] in FINDINGS and spec.finding(part[3:]) is None
        return "absent"
    if part.startswith("hospital "):
        assert part == f"hospital {spec.look.hospital}"
        return "hospital"
    if found := FINDING.fullmatch(part):
        side, zone, name = found.groups()
        finding = spec.finding(name)
        assert finding is not None
        assert side in (None, "bilateral" if finding.side == "both" else finding.side)
        assert zone in (None, finding.zone)
        return name
    found = DEVICE.fullmatch(part)
    assert found is not None, part
    device = spec.device(found[2])
    assert device is not None and found[1] in (None, device.side)
    return found[2]


def test_a_caption_names_all_there_is_and_nothing_else():
    for index in range(150):
        spec = draw_patient(41, index, EVERYBODY)
        said = [check(part, spec) for part in caption(spec, hospital=True).split(", ")]
        names = [one.name for one in spec.findings] or [CLEAR]
        assert said == [*names, *(one.name for one in spec.devices), "hospital"]
        assert caption(spec, hospital=True) == f"{caption(spec)}, hospital {spec.look.hospital}"


def test_any_caption_is_true_and_never_empty():
    rng = np.random.default_rng(0)
    texts = set()
    for index in range(300):
        spec = draw_patient(42, index, EVERYBODY)
        text = any_caption(spec, rng)
        said = [check(part, spec) for part in text.split(", ")]
        assert len(said) == len(set(said)) > 0
        texts.add(text)
    assert len(texts) > 150


def test_the_hospital_changes_only_its_own_words():
    spec = draw_patient(43, 0, EVERYBODY)
    moved = replace(spec, look=Look("C"))
    assert caption(spec) == caption(moved)
    assert caption(moved, hospital=True).endswith("hospital C")
    assert absent("nodule") == "no nodule"
