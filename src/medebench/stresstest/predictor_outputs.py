"""A predictor's outputs for every picture and every edit, ready for comparison and to be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.cases.open_case import OpenCase, open_case
from medebench.errors import InputError
from medebench.images.picture import Picture, read_mask, read_picture
from medebench.runs import Run
from medebench.stresstest.predictor_measures import overlap
from medebench.stresstest.predictors import Predictor
from medebench.stresstest.predictors.predictor import Value
from medebench.stresstest.rows import Answers
from medebench.stresstest.sample import IntendedEdit, StressSet
from medebench.stresstest.stress_outcome import EditOutcome


@dataclass
class PredictorOutputs:
    """By id: for the test set, and for the edits once they are made."""

    predictor: Predictor
    originals: Mapping[str, Value]
    edits: Mapping[str, Value] = field(default_factory=dict)


def answers_of(
    said: PredictorOutputs, stress: StressSet, made: Sequence[IntendedEdit], *, reference: bool
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
            raise InputError(f"{name}: has no organ mask; add one")
        dice[name], far[name] = overlap(_mask(said[name]), read_mask(path) > 127)
    return dice, far


def _number(value: Value) -> float:
    assert isinstance(value, float)
    return value


def _mask(value: Value) -> NDArray[np.bool_]:
    assert not isinstance(value, float)
    return value


class RunPictures:
    """Of a stress test, for its page. One edit's pictures at a time are in memory."""

    def __init__(self, run: Run, said: Sequence[PredictorOutputs]) -> None:
        self._run = run
        self._said = {one.predictor.name: one for one in said}
        self._opened: OpenCase | None = None

    def before(self, edit: EditOutcome) -> Picture:
        return self._case(edit).previous

    def after(self, edit: EditOutcome) -> Picture | None:
        if not edit.output:
            return None
        return read_picture(self._run.output_path(edit.intended.id, 0))

    def edit_mask(self, edit: EditOutcome) -> NDArray[np.bool_] | None:
        case = self._case(edit)
        return None if case.case.roi is None else case.roi

    def keep_mask(self, edit: EditOutcome) -> NDArray[np.bool_] | None:
        return self._case(edit).keep

    def predicted(self, edit: EditOutcome, predictor: str) -> NDArray[np.bool_] | None:
        value = self._said[predictor].edits.get(edit.intended.id)
        return None if value is None or isinstance(value, float) else value

    def _case(self, edit: EditOutcome) -> OpenCase:
        if self._opened is None or self._opened.case.id != edit.intended.id:
            self._opened = open_case(self._run.cases[edit.intended.id])
        return self._opened
