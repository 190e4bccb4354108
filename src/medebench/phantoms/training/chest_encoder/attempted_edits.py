"""Edits of unseen patients: completed, and failed in every way that is known exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from medebench.phantoms.chest.captions import caption
from medebench.phantoms.chest.chest_spec import (
    DEVICES,
    FINDINGS,
    HOSPITALS,
    ChestSpec,
    Device,
    Finding,
)
from medebench.phantoms.chest.patients import (
    EVERYBODY,
    draw_device,
    draw_finding,
    draw_patient,
)
from medebench.phantoms.drawings.noise import stream
from medebench.phantoms.training.chest_encoder.patient_change import opposite

Outcome = Literal[
    "done", "nothing happened", "another finding", "the opposite", "a device too", "the other side"
]
FAILURES: tuple[Outcome, ...] = (
    "nothing happened",
    "another finding",
    "the opposite",
    "a device too",
    "the other side",
)
HOSPITAL = "hospital"
#: What edits add, take away or, for hospitals, exchange.
THINGS = (*FINDINGS, *DEVICES, HOSPITAL)


@dataclass(frozen=True)
class Attempt:
    """`output` is what the picture came to show when it was to show what `prompt` says."""

    thing: str
    outcome: Outcome
    patient: int
    before: ChestSpec
    output: ChestSpec
    prompt: str
    caption: str


def attempts(thing: str, seed: int, index: int) -> list[Attempt]:
    """Of one patient; every second one is to lose the thing, the others to get it."""
    rng = stream(seed, f"attempts {thing} {index}")
    spec = draw_patient(seed, index, EVERYBODY)
    absent, present, new = _both(thing, spec, rng)
    told = {one: caption(one, hospital=thing == HOSPITAL) for one in (absent, present)}
    before, after = (present, absent) if index % 2 else (absent, present)

    def attempt(outcome: Outcome, start: ChestSpec, end: ChestSpec, output: ChestSpec) -> Attempt:
        return Attempt(thing, outcome, index, start, output, told[end], told[start])

    others = [name for name in FINDINGS if name != thing and before.finding(name) is None]
    other = draw_finding(others[int(rng.integers(len(others)))], rng)
    made = [
        attempt("done", before, after, after),
        attempt("nothing happened", before, after, before),
        attempt("another finding", before, after, before.having(other)),
        Attempt(thing, "the opposite", index, before, after, told[before], told[after]),
    ]
    held = [one.name for one in after.devices if before.device(one.name)]
    if held:
        made.append(attempt("a device too", before, after, after.without(held[0])))
    if new is not None and new.side != "both":
        there = absent.having(replace(new, side=opposite(new.side)))
        # Captions do not tell on which side a pacemaker is.
        if caption(there) != told[present]:
            made.append(attempt("the other side", absent, present, there))
    return made


def _both(
    thing: str, spec: ChestSpec, rng: np.random.Generator
) -> tuple[ChestSpec, ChestSpec, Finding | Device | None]:
    """The patient without and with the thing, and with nothing else that is ill."""
    for name in FINDINGS:
        spec = spec.without(name)
    if not spec.devices:
        # So that there is something to be lost along with it.
        spec = spec.having(draw_device(DEVICES[int(rng.integers(len(DEVICES)))], spec, rng))
    if thing == HOSPITAL:
        others = [name for name in HOSPITALS if name != spec.look.hospital]
        chosen = others[int(rng.integers(len(others)))]
        return spec, replace(spec, look=replace(spec.look, hospital=chosen)), None
    absent = spec.without(thing)
    new: Finding | Device
    if thing in FINDINGS:
        new = draw_finding(next(one for one in FINDINGS if one == thing), rng)
    else:
        new = draw_device(next(one for one in DEVICES if one == thing), absent, rng)
    return absent, absent.having(new), new
