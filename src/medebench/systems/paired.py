"""`paired:control=blank,SYSTEM`: a system that is shown something else than the case.

A grey image (blank); the image of another case of the task, of another modality (unrelated), of the
same, or of any (shuffled-image); or the instruction and choices of another case of the task; or no
instruction at all (no-instruction).

How much of its score is left tells how far a benchmark depends on the image, or the instruction,
at all. Everything it is scored by stays that of the case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from pydantic import Field

from medebench.cases.open_case import OpenCase
from medebench.errors import InputError
from medebench.images.picture import Picture
from medebench.outputs import Output, Part
from medebench.settings import Settings as AnySettings
from medebench.systems.inner_system import Around
from medebench.systems.request import Refused, Request
from medebench.systems.returned_output import as_output

Pairing = Literal["blank", "unrelated", "same-modality", "shuffled-image", "shuffled-instruction"]
Control = Literal[Pairing, "no-instruction"]
#: Those that break the pair of image and instruction.
CONTROLS: tuple[Pairing, ...] = get_args(Pairing)
#: All other cases of a task are drawn from.
_ALL = 10_000


class PairedSettings(AnySettings):
    system: str = Field(repr=False, description="the system inside, with its settings; comes last")
    control: Control = Field("blank", description="what it is shown in place of its own")


class Paired(Around):
    summary = "shows a system another image, or another instruction, than the case's"
    Settings = PairedSettings
    example = "paired:control=blank,identity"
    gives: tuple[Part, ...] = ("image", "text")
    settings: PairedSettings

    def __init__(self, settings: PairedSettings) -> None:
        super().__init__(settings)
        inner = self._inner
        if inner.demonstrations:
            raise InputError(
                f"system 'paired': {self._instance.name} is shown other cases itself; "
                "leave its demonstrations out"
            )
        self.gives, self.takes = inner.gives, inner.takes
        self.batch = inner.batch if self._instance.is_batched else None
        alone = settings.control in ("blank", "no-instruction")
        self.demonstrations = 0 if alone else _ALL
        self.least_demonstrations = min(1, self.demonstrations)

    def generate(self, request: Request) -> Output:
        shown, told = self._altered(request)
        made = as_output(self._instance.generate(shown))
        return replace(made, detail=made.detail | told)

    def generate_batch(self, requests: Sequence[Request]) -> Sequence[Output | Picture | Refused]:
        found: list[Any] = [None] * len(requests)
        shown: dict[int, tuple[Request, dict[str, Any]]] = {}
        for n, request in enumerate(requests):
            try:
                shown[n] = self._altered(request)
            except Refused as refusal:
                found[n] = refusal
        made = self._instance.generate_batch([one for one, _ in shown.values()]) if shown else []
        for (n, (_, told)), one in zip(shown.items(), made, strict=True):
            whole = one if isinstance(one, Refused) else as_output(one)
            if isinstance(whole, Output):
                whole = replace(whole, detail=whole.detail | told)
            found[n] = whole
        return found

    def _altered(self, request: Request) -> tuple[Request, dict[str, Any]]:
        """What the system inside is given, and what the ledger says of it."""
        control = self.settings.control
        if control == "blank":
            blank = replace(request, case=_Blank(request.case), demonstrations=())
            return blank, {"shown": "a blank image"}
        if control == "no-instruction":
            untold = OpenCase(replace(request.case.case, prompt=""))
            return replace(request, case=untold, said=None), {"shown": "no instruction"}
        other = _other(control, request).case
        case = request.case.case
        if control == "shuffled-instruction":
            case = replace(case, prompt=other.prompt, choices=other.choices)
        else:
            case = replace(case, previous=other.previous, images=other.images, bits=other.bits)
            # What is told of the own image is not true of this one.
            case = replace(case, caption=other.caption, roi=None, keep=None)
        opened = OpenCase(case)
        return replace(request, case=opened, demonstrations=()), {"shown": other.id}


def _other(control: Control, request: Request) -> OpenCase:
    """Another case of the task, if there is one with as many images."""
    own, found = request.case.case, list(request.demonstrations)
    if control == "unrelated":
        found = [one for one in found if one.case.modality != own.modality]
    elif control == "same-modality":
        found = [one for one in found if one.case.modality == own.modality]
    if not found:
        which = "another" if control == "unrelated" else "this"
        raise Refused(f"the task has no other case of {which} modality")
    alike = [one for one in found if len(one.case.inputs()) == len(own.inputs())]
    return (alike or found)[0]


class _Blank(OpenCase):
    """A case whose input images are grey all over."""

    def __init__(self, given: OpenCase) -> None:
        super().__init__(given.case)
        self._given = given

    @cached_property
    def previous(self) -> Picture:
        return self._grey(self._given.previous)

    def image(self, role: str) -> Picture:
        return self.previous if role == "previous" else self._grey(self._given.image(role))

    def _grey(self, picture: Picture) -> Picture:
        return np.full_like(picture, (self._given.data_range + 1) // 2)
