"""What a predictor said of every picture and every edit, ready to be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.cases.image import read_mask
from medebench.errors import InputError
from medebench.stress.measures import overlap
from medebench.stress.predictors import Predictor
from medebench.stress.predictors.base import Value
from medebench.stress.rows import Answers
from medebench.stress.sample import Intended, StressSet


@dataclass
class Said:
    """By id: of the test set, and of the edits once they are made."""

    predictor: Predictor
    originals: Mapping[str, Value]
    edits: Mapping[str, Value] = field(default_factory=dict)


def answers_of(
    said: Said, stress: StressSet, made: Sequence[Intended], *, reference: bool
) -> Answers:
    """Probabilities as they are; masks as their overlap with the organ's, read one by one."""
    name, threshold = said.predictor.name, said.predictor.threshold
    samples, edits = stress.samples, [(one.id, one.sample.mask) for one in made]
    if stress.task == "classification":
        originals = {one.id: _number(said.originals[one.id]) for one in samples}
        after = {one: _number(said.edits[one]) for one, _ in edits}
        return Answers(name, originals, after, reference, threshold)
    before, before_far = _overlaps(said.originals, [(one.id, one.mask) for one in samples])
    later, later_far = _overlaps(said.edits, edits)
    return Answers(name, before, later, reference, threshold, before_far, later_far)


def _overlaps(
    said: Mapping[str, Value], asked: Sequence[tuple[str, Path | None]]
) -> tuple[dict[str, float], dict[str, float | None]]:
    dice: dict[str, float] = {}
    far: dict[str, float | None] = {}
    for name, path in asked:
        if path is None:
            raise InputError(f"{name}: has no mask of the organ")
        dice[name], far[name] = overlap(_mask(said[name]), read_mask(path) > 127)
    return dice, far


def _number(value: Value) -> float:
    assert isinstance(value, float)
    return value


def _mask(value: Value) -> NDArray[np.bool_]:
    assert not isinstance(value, float)
    return value
