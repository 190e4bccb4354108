"""One output to make, and the two ways of not making it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from medebench.cases.open_case import OpenCase
from medebench.outputs import Part


class Refused(Exception):
    """The system gave no output for this case; the text becomes the reason in the ledger.

    `detail` stands beside the reason: what the model said instead, what the try cost.
    """

    def __init__(self, reason: str, detail: dict[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.detail = detail or {}


class NotTried(Exception):
    """It is not the case's fault (no money left, no connection): nothing is written about it.

    The run goes on to the end, says so, and the next one tries again.
    """


@dataclass(frozen=True)
class Request:
    """One output to make: the opened case, which of several outputs it is, and its own seed."""

    case: OpenCase
    k: int
    seed: int
    #: What to do, where that is said in other words than the case's own.
    said: str | None = None
    #: Cases of the same task, for a model that is shown how it is done.
    demonstrations: tuple[OpenCase, ...] = ()
    #: What the task asks for in this case.
    gives: tuple[Part, ...] = ("image",)

    @property
    def instruction(self) -> str:
        return self.case.case.prompt if self.said is None else self.said

    def generator(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


def case_seed(seed: int, case_id: str, k: int) -> int:
    """A seed for one output: it depends on the run's seed, the case and k, never on the order."""
    digest = hashlib.sha256(f"{seed}/{case_id}/{k}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
