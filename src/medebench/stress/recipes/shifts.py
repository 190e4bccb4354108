"""The three shifts on phantoms: whom the test set shows, and what is to be edited in it.

Every one draws patients that no training saw. What an edit should look like is known exactly,
because the same patient can be drawn without the finding, or with one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from medebench.cases.phantoms.chest import ChestPhantom, ChestSpec, render
from medebench.cases.phantoms.chest.captions import caption
from medebench.cases.phantoms.chest.sampling import (
    Population,
    confounded,
    draw_finding,
    draw_patient,
)
from medebench.cases.phantoms.chest.spec import (
    Device,
    DeviceName,
    FindingName,
    Hospital,
    Side,
)
from medebench.cases.phantoms.noise import stream
from medebench.stress.recipes.regions import Region, edit_and_keep, upper_chest

Shift: TypeAlias = Literal["acquisition", "manifestation", "population"]
SHIFTS: tuple[Shift, ...] = get_args(Shift)

#: Of each classification shift: the illness, what comes with it, and the label of the others.
CONFOUNDED: dict[Shift, tuple[FindingName, DeviceName | Hospital, str]] = {
    "acquisition": ("opacities", "B", "clear"),
    "manifestation": ("pneumothorax", "chest drain", "no pneumothorax"),
}
#: What the population shift adds to healthy chests.
ADDED = ("oedema", "pacemaker", "consolidation")
HEALTHY = Population(hospitals={"A": 1.0})


@dataclass(frozen=True)
class Made:
    """An edit to make: what the picture should show, and how it should look."""

    kind: str
    prompt: str
    edit: Region
    keep: Region
    reference: NDArray[np.uint8]


@dataclass(frozen=True)
class Member:
    """A picture of the test set; `lungs` marks both."""

    picture: NDArray[np.uint8]
    label: str
    caption: str
    lungs: Region
    edits: tuple[Made, ...]


def member(shift: Shift, seed: int, index: int) -> Member:
    """Patient `index` of a test set."""
    return _DRAWN[shift](seed, index)


def _acquisition(seed: int, index: int) -> Member:
    """The sick are all from hospital B. Their lungs are cleared; what else is B's stays."""
    ill, place, healthy = CONFOUNDED["acquisition"]
    spec, sick = confounded(seed, index, ill, place, 1.0)
    drawn = render(spec)
    if not sick:
        return _member(drawn, healthy)
    edit, keep = edit_and_keep(drawn.masks["lungs"], drawn)
    return _member(drawn, ill, _made("", spec.without(ill), edit, keep))


def _manifestation(seed: int, index: int) -> Member:
    """All with air beside a lung have a drain, which stays when the air is taken away."""
    ill, device, healthy = CONFOUNDED["manifestation"]
    spec, sick = confounded(seed, index, ill, device, 1.0)
    drawn = render(spec)
    if not sick:
        return _member(drawn, healthy)
    air = spec.finding("pneumothorax")
    assert air is not None
    edit, keep = edit_and_keep(drawn.masks[f"{air.side} lung"], drawn, drawn.cores[device])
    return _member(drawn, ill, _made("", spec.without(ill), edit, keep))


def _population(seed: int, index: int) -> Member:
    """Healthy chests of one hospital, to which something is added; lungs stay where they are."""
    spec = draw_patient(seed, index, HEALTHY)
    drawn = render(spec)
    rng = stream(seed, f"added {index}")
    made = []
    for kind in ADDED:
        if kind == "pacemaker":
            # On the left, where nearly all are.
            after = spec.having(Device("pacemaker", "left"))
            lead = render(after).cores["pacemaker"]
            where = lead | upper_chest(spec.anatomy, len(lead))
        else:
            finding = draw_finding("oedema" if kind == "oedema" else "consolidation", rng)
            after = spec.having(finding)
            where = drawn.masks[_organ(finding.side)]
        edit, keep = edit_and_keep(where, drawn)
        made.append(_made(kind, after, edit, keep))
    return _member(drawn, "", *made)


def _organ(side: Side) -> str:
    return "lungs" if side == "both" else f"{side} lung"


def _made(kind: str, after: ChestSpec, edit: Region, keep: Region) -> Made:
    return Made(kind, caption(after, hospital=True), edit, keep, render(after).picture)


def _member(drawn: ChestPhantom, label: str, *edits: Made) -> Member:
    words = caption(drawn.spec, hospital=True)
    return Member(drawn.picture, label, words, drawn.masks["lungs"], edits)


_DRAWN: dict[Shift, Callable[[int, int], Member]] = {
    "acquisition": _acquisition,
    "manifestation": _manifestation,
    "population": _population,
}
