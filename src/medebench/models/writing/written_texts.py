"""What comes back: a value or a reason, and what it took."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Change:
    """A change in words; `sentence` is what serves as a case's description."""

    modality: str
    action: str
    target: str
    expected_result: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[T]):
    """`value` or `reason`, never both, never neither."""

    value: T | None = None
    reason: str | None = None
    #: For programs: "refused", "unusable", "input", or the kind of a `Fault`.
    kind: str | None = None
    #: Of all answers it took, kept ones included.
    tokens_in: int = 0
    tokens_out: int = 0
    #: US dollars for calls made now, None where a price is not known; kept answers cost nothing.
    cost: float | None = 0.0
    #: No call was made for it.
    cached: bool = False
    #: How many answers were read, and the model that gave the last of them.
    tries: int = 0
    model: str | None = None
    #: Name, version and hash of the words that were used.
    instruction: str = ""

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None) or self.reason == "":
            raise ValueError("needs either a value or a reason")


@dataclass(frozen=True, kw_only=True)
class Written(Outcome[Change]):
    """A change description."""

    @property
    def description(self) -> str | None:
        return self.value.sentence if self.value else None


@dataclass(frozen=True, kw_only=True)
class Paraphrases(Outcome[tuple[str, ...]]):
    """Versions of a prompt, and the one of them that the seed chooses."""

    chosen: str | None = None


def choose(variants: tuple[str, ...], prompt: str, seed: int) -> str:
    """One of `variants`, the same for the same seed and prompt in whatever order they come."""

    def rank(variant: str) -> str:
        return hashlib.sha256(json.dumps([seed, prompt, variant]).encode()).hexdigest()

    return min(variants, key=rank)
