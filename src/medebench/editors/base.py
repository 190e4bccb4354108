"""What an editor is: anything that turns a case into a picture."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from medebench.cases.image import Picture
from medebench.cases.opened import OpenCase
from medebench.settings import Settings as AnySettings


class Refused(Exception):
    """The editor gave no picture for this case; the text becomes the reason in the ledger.

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
class Edit:
    """What an editor returns: the picture, and whatever should stand in the ledger beside it."""

    picture: Picture
    detail: dict[str, Any] = field(default_factory=dict)
    #: Where the model looked for the key concept, 0 to 1, in the picture's aspect ratio.
    attention: NDArray[np.float32] | None = None
    #: Pictures made on the way, this one among them; what is known of each is in
    #: `detail["attempts"]`.
    attempts: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Request:
    """One edit to make: the opened case, which of several outputs it is, and its own seed."""

    case: OpenCase
    k: int
    seed: int
    #: What to do, where that is said in other words than the case's own.
    said: str | None = None
    #: Cases of the same task, for a model that is shown how it is done.
    demonstrations: tuple[OpenCase, ...] = ()

    @property
    def instruction(self) -> str:
        return self.case.case.prompt if self.said is None else self.said

    def generator(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


@runtime_checkable
class Editor(Protocol):
    """Implemented by every editor; the class is called with its settings.

    `sees` names what the editor is shown beyond picture and instruction ("roi", "reference");
    `control` sets it apart from models in every table.

    An editor may also have

    - `problems() -> list[str]`: what stands in its way here, asked before any work. An editor with
      `problems` is made in order to be asked: it must not load in its constructor;
    - `prepare()`: load; `close()`: let go, at the end of a run; `share(other) -> bool`: use what
      another editor of a sweep has loaded;
    - `identity() -> str`: what tells its weights from others;
    - `argument`: the setting that may follow its name without a key, or `rest`: the setting that
      takes all that follows its own settings, as it stands (`refine:rounds=2,blur:sigma=4`);
    - `at_once`: how many edits may be under way in threads, where that is not a matter of cores;
    - `demonstrations`: how many cases of the same task it wants to be shown with each request;
    - `estimate(requests) -> clients.Plan`: what calls these would take, without making any;
    - `judged_by`: the judge it has looked at its outputs while it makes them;
    - `written_inner() -> (settings, how)`: what is written down of an editor inside this one;
    - `needs` and `example`: words and a call for `medebench editors`;
    - what `BatchEditor` has.
    """

    summary: ClassVar[str]
    Settings: ClassVar[type[AnySettings]]
    sees: ClassVar[tuple[str, ...]]
    control: ClassVar[bool]

    def edit(self, request: Request) -> Edit | Picture: ...


@runtime_checkable
class BatchEditor(Protocol):
    """An editor that owns a device: called from one thread, with up to `batch` requests."""

    batch: int

    def edit_batch(self, requests: Sequence[Request]) -> list[Edit | Refused]: ...


def case_seed(seed: int, case_id: str, k: int) -> int:
    """A seed for one output: it depends on the run's seed, the case and k, never on the order."""
    digest = hashlib.sha256(f"{seed}/{case_id}/{k}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
