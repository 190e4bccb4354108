"""Edits of chest phantoms, for sets of cases and for the shifts of stress tests.

What an edit should look like is known exactly, because the same patient can be drawn without the
finding, or with one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.chest.chest_renderer import SIZE, ChestPhantom, render
from medebench.phantoms.chest.chest_spec import (
    DEVICES,
    FINDINGS,
    ChestSpec,
    Device,
    DeviceName,
    Finding,
    FindingName,
    Hospital,
)
from medebench.phantoms.chest.patients import (
    EVERYBODY,
    Population,
    confounded,
    draw_finding,
    draw_patient,
)
from medebench.phantoms.drawings.noise import stream

Kind: TypeAlias = Literal["removal", "addition"]
KINDS: tuple[Kind, ...] = ("removal", "addition")
Region = NDArray[np.bool_]
#: In pixels of a picture of 128: how far an edit reaches beyond the lung or the device, and how
#: wide the seam is between what may change and the rest, which may adapt to both.
REACH, SEAM = 3, 4
ShiftName: TypeAlias = Literal["acquisition", "manifestation", "population"]
SHIFTS: tuple[ShiftName, ...] = get_args(ShiftName)
#: What a set of cases consists of: every removal and addition, those of one kind, or of a shift.
Edits: TypeAlias = Literal["all", "removal", "addition", ShiftName]
#: Of each classification: the illness, what comes with it, and the label of the others.
CONFOUNDED: dict[ShiftName, tuple[FindingName, DeviceName | Hospital, str]] = {
    # The sick are all from hospital B. Their lungs are cleared; what else is B's stays.
    "acquisition": ("opacities", "B", "clear"),
    # All with air beside a lung have a drain, which stays when the air is taken away.
    "manifestation": ("pneumothorax", "chest drain", "no pneumothorax"),
}
#: What the population shift adds to healthy chests of one hospital; their lungs stay.
ADDED = ("oedema", "pacemaker", "consolidation")
HEALTHY = Population(hospitals={"A": 1.0})


@dataclass(frozen=True)
class ChestEdit:
    """The same patient before and after; `edit` is where it may change, `keep` what must stay.

    All that changes lies in `edit`. A device that crosses a finding is kept, although what lies
    behind it changes.
    """

    kind: Kind
    thing: Finding | Device
    before: ChestPhantom
    after: ChestPhantom
    edit: Region
    keep: Region

    @property
    def title(self) -> str:
        return f"{'Remove' if self.kind == 'removal' else 'Add'} {self.thing.name}"


def removal(thing: Finding | Device, before: ChestPhantom) -> ChestEdit:
    after = render(before.spec.without(thing.name), len(before.picture))
    return ChestEdit("removal", thing, before, after, *edit_and_keep(thing, before, after))


def addition(thing: Finding | Device, before: ChestPhantom) -> ChestEdit:
    after = render(before.spec.having(thing), len(before.picture))
    return ChestEdit("addition", thing, before, after, *edit_and_keep(thing, after, before))


def any_edit(seed: int, index: int, kinds: tuple[Kind, ...], size: int = SIZE) -> ChestEdit:
    """Edit `index` of a set in which every finding and device takes its turn."""
    names = (*FINDINGS, *DEVICES)
    turn = index % (len(kinds) * len(names))
    kind, name = kinds[turn // len(names)], names[turn % len(names)]
    patient = draw_patient(seed, index, _with(name))
    thing = next(one for one in things(patient) if one.name == name)
    if kind == "removal":
        return removal(thing, render(patient, size))
    return addition(thing, render(patient.without(name), size))


def things(spec: ChestSpec) -> tuple[Finding | Device, ...]:
    return (*spec.findings, *spec.devices)


def _with(name: FindingName | DeviceName) -> Population:
    """Everybody, but all of them with this finding or device."""
    for finding in FINDINGS:
        if finding == name:
            return replace(EVERYBODY, findings={finding: 1.0})
    devices = {one: 1.0 if one == name else usual for one, usual in EVERYBODY.devices.items()}
    beside = {pair: chance for pair, chance in EVERYBODY.devices_with.items() if pair[0] != name}
    return replace(EVERYBODY, devices=devices, devices_with=beside)


def edit_and_keep(
    thing: Finding | Device, having: ChestPhantom, without: ChestPhantom
) -> tuple[Region, Region]:
    """Masks for an edit of one phantom into the other; where both lie, the picture stays.

    All that changes may change: the lungs concerned, or a box around a device, and a little more.
    The rest of the picture beyond a seam stays, so do the letter, the border, and all other devices
    as far as they are seen; those that cross an edited device, not at the crossing.
    """
    changed = having.masks[thing.name]
    where = _box(changed) if isinstance(thing, Device) else having.masks[_organ(thing)]
    reach, seam = (round(one * len(changed) / 128) for one in (REACH, SEAM))
    may = grown(where, reach) | changed
    stays = having.masks["marker"] | having.masks["border"]
    for device in without.spec.devices:
        stays |= having.cores[device.name] | without.cores[device.name]
    if isinstance(thing, Device):
        stays &= ~changed
    return may, stays | ~grown(may, seam)


def grown(region: Region, pixels: int) -> Region:
    """With all that is `pixels` away or less."""
    away = cv2.distanceTransform((~region).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    return np.asarray(away <= pixels) if region.any() else region.copy()


def _organ(finding: Finding) -> str:
    return "lungs" if finding.side == "both" else f"{finding.side} lung"


def _box(region: Region) -> Region:
    rows, columns = np.nonzero(region)
    box = np.zeros_like(region)
    box[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1] = True
    return box


@dataclass(frozen=True)
class Member:
    """A patient of a test set; `label` is empty where lungs are to be found."""

    drawn: ChestPhantom
    label: str
    edits: tuple[ChestEdit, ...]


def member(shift: ShiftName, seed: int, index: int, size: int = SIZE) -> Member:
    """Patient `index` of a test set; of a classification every second is ill, and edited."""
    if shift == "population":
        return _population(seed, index, size)
    ill, with_it, healthy = CONFOUNDED[shift]
    spec, sick = confounded(seed, index, ill, with_it, 1.0)
    drawn = render(spec, size)
    if not sick:
        return Member(drawn, healthy, ())
    illness = next(one for one in things(spec) if one.name == ill)
    return Member(drawn, ill, (removal(illness, drawn),))


def _population(seed: int, index: int, size: int) -> Member:
    drawn = render(draw_patient(seed, index, HEALTHY), size)
    rng = stream(seed, f"added {index}")
    # A pacemaker on the left, where nearly all are.
    pacemaker = Device("pacemaker", "left")
    added = (draw_finding("oedema", rng), pacemaker, draw_finding("consolidation", rng))
    return Member(drawn, "", tuple(addition(one, drawn) for one in added))


def chest_edit(index: int, seed: int = 0, edits: Edits = "all", size: int = SIZE) -> ChestEdit:
    """Edit `index` of a set of cases; those of a shift are the ones its test set asks for."""
    if edits == "population":
        return member(edits, seed, index // len(ADDED), size).edits[index % len(ADDED)]
    if edits == "acquisition" or edits == "manifestation":
        return member(edits, seed, 2 * index, size).edits[0]
    return any_edit(seed, index, KINDS if edits == "all" else (edits,), size)
