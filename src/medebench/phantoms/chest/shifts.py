"""The shifts of stress tests: which patients a test set shows, and what is edited in it.

What an edit should look like is known exactly, because the same patient can be drawn without the
finding, or with one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from medebench.phantoms.chest.chest_edit import (
    KINDS,
    ChestEdit,
    addition,
    any_edit,
    removal,
    things,
)
from medebench.phantoms.chest.chest_renderer import SIZE, ChestPhantom, render
from medebench.phantoms.chest.chest_spec import Device, DeviceName, FindingName, Hospital
from medebench.phantoms.chest.patients import (
    Population,
    confounded,
    draw_finding,
    draw_patient,
)
from medebench.phantoms.drawings.noise import stream

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
    added = (
        draw_finding("oedema", rng),
        # On the left, where nearly all are.
        Device("pacemaker", "left"),
        draw_finding("consolidation", rng),
    )
    return Member(drawn, "", tuple(addition(one, drawn) for one in added))


def chest_edit(index: int, seed: int = 0, edits: Edits = "all", size: int = SIZE) -> ChestEdit:
    """Edit `index` of a set of cases; those of a shift are the ones its test set asks for."""
    if edits == "population":
        return member(edits, seed, index // len(ADDED), size).edits[index % len(ADDED)]
    if edits == "acquisition" or edits == "manifestation":
        return member(edits, seed, 2 * index, size).edits[0]
    return any_edit(seed, index, KINDS if edits == "all" else (edits,), size)
