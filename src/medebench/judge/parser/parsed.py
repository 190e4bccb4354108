"""What comes out of reading an answer."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Scored:
    """A score on the rubric's scale as the answer states it, and the reason given with it."""

    value: float
    reason: str = ""


@dataclass(frozen=True)
class Parsed:
    """Scores that are beyond doubt; everything else is a problem, in words for the model."""

    asked: tuple[str, ...]
    scores: dict[str, Scored] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    refused: bool = False

    @property
    def missing(self) -> tuple[str, ...]:
        """The scores that were asked for and cannot be had from this answer."""
        return tuple(name for name in self.asked if name not in self.scores)

    @property
    def complete(self) -> bool:
        return not self.problems


@dataclass(frozen=True)
class Candidate:
    """One place where the answer gives a score: a value, or what is wrong with it."""

    score: str
    value: float | None
    problem: str | None
    reason: str
    position: int
    #: "Accuracy" alone counts only where "editing accuracy" is nowhere scored.
    generic: bool = False
