"""What an editor is: anything that turns a case into a picture."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from medebench.cases.image import Picture
from medebench.cases.opened import OpenCase
from medebench.settings import Settings as AnySettings


class Refused(Exception):
    """The editor gave no picture for this case; the text becomes the reason in the ledger."""


@dataclass(frozen=True)
class Edit:
    """What an editor returns: the picture, and whatever should stand in the ledger beside it."""

    picture: Picture
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """One edit to make: the opened case, which of several outputs it is, and its own seed."""

    case: OpenCase
    k: int
    seed: int

    @property
    def instruction(self) -> str:
        return self.case.case.prompt

    def generator(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


@runtime_checkable
class Editor(Protocol):
    """Implemented by every editor; the class is called with its settings.

    `sees` names what the editor is shown beyond picture and instruction ("roi", "reference");
    `control` sets it apart from models in every table.
    """

    summary: ClassVar[str]
    Settings: ClassVar[type[AnySettings]]
    sees: ClassVar[tuple[str, ...]]
    control: ClassVar[bool]

    def edit(self, request: Request) -> Edit | Picture: ...


def case_seed(seed: int, case_id: str, k: int) -> int:
    """A seed for one output: it depends on the run's seed, the case and k, never on the order."""
    digest = hashlib.sha256(f"{seed}/{case_id}/{k}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
