"""A predictor's outputs for every picture and every edit, and the sets behind its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.cases.open_case import OpenCase, open_case
from medebench.errors import InputError
from medebench.images.picture import Picture, read_mask, read_picture
from medebench.runs import Run
from medebench.stresstest.predictor_measures import THRESHOLD, Bools, Floats, overlap
from medebench.stresstest.predictors import Predictor
from medebench.stresstest.predictors.predictor import Value
from medebench.stresstest.stress_outcome import EditOutcome, IntendedEdit, Sample, StressSet


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


@dataclass(frozen=True)
class Answers:
    """What one predictor says of every picture (by `Sample.id`) and every edit (`IntendedEdit.id`).

    Classification: the probability of the positive class. Segmentation: Dice, and in `*_distances`
    the average Hausdorff distance, None if the predicted mask is empty.
    """

    name: str
    originals: Mapping[str, float]
    edits: Mapping[str, float]
    reference: bool = False
    #: A probability at or above it counts as the positive class.
    threshold: float = THRESHOLD
    original_distances: Mapping[str, float | None] = field(default_factory=dict)
    edit_distances: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Pictures:
    """What is true of each picture, what was answered, and which group it belongs to."""

    value: Floats
    #: NaN where there is none.
    distance: Floats
    positive: Bools
    #: Numbers 0, 1, ... of all `total` groups of the test set.
    groups: NDArray[np.intp]
    total: int

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, which: Bools) -> Pictures:
        some: Any = {name: getattr(self, name)[which] for name in _ARRAYS}
        return replace(self, **some)

    def __add__(self, other: Pictures) -> Pictures:
        both = {name: (getattr(self, name), getattr(other, name)) for name in _ARRAYS}
        joined: Any = {name: np.concatenate(two) for name, two in both.items()}
        return replace(self, **joined)


#: Fields of `Pictures` with an entry for each.
_ARRAYS = ("value", "distance", "positive", "groups")


@dataclass(frozen=True)
class Rows:
    """The whole test set; the pictures of the kept edits as they were; these edits, in order."""

    original: Pictures
    before: Pictures
    edited: Pictures


def rows_of(stress: StressSet, edits: Sequence[EditOutcome], answers: Answers) -> Rows:
    """The test set and the kept of these `edits`; InputError where an answer is missing."""
    names = sorted({sample.cluster for sample in stress.samples})
    number = {name: place for place, name in enumerate(names)}
    known = {sample.id: sample for sample in stress.samples}
    intended = [edit.intended for edit in edits if edit.kept]
    for one in intended:
        there = known.get(one.sample.id)
        # The plan may have given the words that the table lacks.
        if there is None or replace(there, caption=one.sample.caption) != one.sample:
            raise InputError(f"edit {one.id}: its picture is not in the test set")

    def pictures(asked: Sequence[Sample | IntendedEdit], edited: bool = False) -> Pictures:
        values = answers.edits if edited else answers.originals
        distances = answers.edit_distances if edited else answers.original_distances
        far = [distances.get(one.id) for one in asked]
        return Pictures(
            np.array([_answer(answers.name, one.id, values) for one in asked], np.float64),
            np.array([np.nan if one is None else one for one in far], np.float64),
            np.array([one.label == stress.positive for one in asked], np.bool_),
            np.array([number[one.cluster] for one in asked], np.intp),
            len(names),
        )

    before = [one.sample for one in intended]
    return Rows(pictures(stress.samples), pictures(before), pictures(intended, edited=True))


def _answer(name: str, picture: str, values: Mapping[str, float]) -> float:
    value = values.get(picture)
    if value is None:
        raise InputError(f"predictor {name}: has no answer for {picture}")
    if not 0 <= value <= 1:
        raise InputError(f"predictor {name}: {value} for {picture} is not between 0 and 1")
    return float(value)
