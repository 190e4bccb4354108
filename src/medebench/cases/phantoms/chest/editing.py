"""Edits of chest phantoms: a patient with and without one thing, and two masks for an editor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.cases.phantoms.chest.render import SIZE, ChestPhantom, render
from medebench.cases.phantoms.chest.sampling import EVERYBODY, Population, draw_patient
from medebench.cases.phantoms.chest.spec import (
    DEVICES,
    FINDINGS,
    ChestSpec,
    Device,
    DeviceName,
    Finding,
    FindingName,
)

Kind: TypeAlias = Literal["removal", "addition"]
#: Which edits: every removal and addition, one kind of them, or those of a stress test.
Shift: TypeAlias = Literal[
    "all", "removal", "addition", "acquisition", "manifestation", "population"
]
SHIFTS: tuple[Shift, ...] = get_args(Shift)

#: How far an edit may reach beyond the lung or the device, in pixels of a picture of 128.
MARGIN = 3.0

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class ChestTask:
    kind: Kind
    name: FindingName | DeviceName
    #: Everybody in it has the thing.
    patients: Population

    @property
    def title(self) -> str:
        return f"{'Remove' if self.kind == 'removal' else 'Add'} {self.name}"


@dataclass(frozen=True)
class ChestEdit:
    """The same patient before and after; `edit` is where it may change, `keep` what must stay.

    All that changes lies in `edit`. `keep` covers the devices that stay, the letter and the border.
    A device that crosses a finding is kept whole, although what lies behind it changes; one that
    crosses the edited device is not kept at the crossing.
    """

    task: ChestTask
    thing: Finding | Device
    before: ChestPhantom
    after: ChestPhantom
    edit: Mask
    keep: Mask


def chest_tasks(shift: Shift = "all") -> tuple[ChestTask, ...]:
    """What is done in turn; the populations of the three stress tests are those of their shift."""
    if shift == "acquisition":
        # The sick were all examined in hospital B.
        there = replace(_with("opacities"), hospitals={"B": 1.0})
        return (ChestTask("removal", "opacities", there),)
    if shift == "manifestation":
        treated = Population(
            findings={"pneumothorax": 1.0},
            devices={"chest drain": 1.0},
            hospitals={"A": 0.5, "B": 0.5},
        )
        return (ChestTask("removal", "pneumothorax", treated),)
    if shift == "population":
        return (
            ChestTask("addition", "oedema", Population(findings={"oedema": 1.0})),
            ChestTask("addition", "pacemaker", Population(devices={"pacemaker": 1.0})),
            ChestTask("addition", "consolidation", Population(findings={"consolidation": 1.0})),
        )
    kinds: tuple[Kind, ...] = ("removal", "addition") if shift == "all" else (shift,)
    return tuple(
        ChestTask(kind, name, _with(name)) for kind in kinds for name in (*FINDINGS, *DEVICES)
    )


def _with(name: FindingName | DeviceName) -> Population:
    """Everybody, but all of them with this finding or device."""
    for finding in FINDINGS:
        if finding == name:
            return replace(EVERYBODY, findings={finding: 1.0})
    devices = {one: 1.0 if one == name else usual for one, usual in EVERYBODY.devices.items()}
    beside = {pair: chance for pair, chance in EVERYBODY.devices_with.items() if pair[0] != name}
    return replace(EVERYBODY, devices=devices, devices_with=beside)


def chest_edit(index: int, seed: int = 0, shift: Shift = "all", size: int = SIZE) -> ChestEdit:
    """Edit `index` of a set; tasks take turns."""
    tasks = chest_tasks(shift)
    task = tasks[index % len(tasks)]
    patient = draw_patient(seed, index, task.patients)
    having, without = render(patient, size), render(patient.without(task.name), size)
    before, after = (having, without) if task.kind == "removal" else (without, having)
    thing = next(one for one in things(patient) if one.name == task.name)
    edit, keep = _region(thing, having), _kept(task.name, having, without)
    return ChestEdit(task, thing, before, after, edit, keep)


def things(spec: ChestSpec) -> tuple[Finding | Device, ...]:
    return (*spec.findings, *spec.devices)


def _region(thing: Finding | Device, having: ChestPhantom) -> Mask:
    """The lungs concerned, or a box around a device, and a margin."""
    changed = having.masks[thing.name]
    if isinstance(thing, Finding):
        lungs = "lungs" if thing.side == "both" else f"{thing.side} lung"
        return wider(having.masks[lungs]) | changed
    rows, columns = np.nonzero(changed)
    box = np.zeros_like(changed)
    box[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1] = True
    return wider(box)


def _kept(name: str, having: ChestPhantom, without: ChestPhantom) -> Mask:
    keep = having.masks["marker"] | having.masks["border"]
    for device in without.spec.devices:
        keep |= having.masks[device.name] | without.masks[device.name]
    return keep & ~having.masks[name] if name in DEVICES else keep


def wider(mask: Mask, by: float = MARGIN) -> Mask:
    """`by` pixels of a picture of 128 further to all sides."""
    reach = max(1, round(by * mask.shape[0] / 128))
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1, 2 * reach + 1))
    return cv2.dilate(mask.astype(np.uint8), disc).astype(np.bool_)
