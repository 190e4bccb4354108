"""Edits of chest phantoms: a patient with and without one thing, and two masks for an editor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from medebench.phantoms.chest.chest_renderer import SIZE, ChestPhantom, render
from medebench.phantoms.chest.chest_spec import (
    DEVICES,
    FINDINGS,
    ChestSpec,
    Device,
    DeviceName,
    Finding,
    FindingName,
)
from medebench.phantoms.chest.edit_regions import Region, edit_and_keep
from medebench.phantoms.chest.patients import EVERYBODY, Population, draw_patient

Kind: TypeAlias = Literal["removal", "addition"]
KINDS: tuple[Kind, ...] = ("removal", "addition")


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
