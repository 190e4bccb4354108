"""A predictor's answers, and the sets of pictures behind the rows of its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from medebench.errors import InputError
from medebench.stresstest.predictor_measures import THRESHOLD, Bools, Floats
from medebench.stresstest.sample import StressSet
from medebench.stresstest.stress_outcome import EditOutcome


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
        return Pictures(
            self.value[which],
            self.distance[which],
            self.positive[which],
            self.groups[which],
            self.total,
        )

    def __add__(self, other: Pictures) -> Pictures:
        return Pictures(
            np.concatenate([self.value, other.value]),
            np.concatenate([self.distance, other.distance]),
            np.concatenate([self.positive, other.positive]),
            np.concatenate([self.groups, other.groups]),
            self.total,
        )


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

    def pictures(
        asked: Sequence[tuple[str, str, str]],
        values: Mapping[str, float],
        distances: Mapping[str, float | None],
    ) -> Pictures:
        far = [distances.get(name) for name, _, _ in asked]
        return Pictures(
            np.array([_answer(answers.name, name, values) for name, _, _ in asked], np.float64),
            np.array([np.nan if one is None else one for one in far], np.float64),
            np.array([label == stress.positive for _, label, _ in asked], np.bool_),
            np.array([number[cluster] for _, _, cluster in asked], np.intp),
            len(names),
        )

    samples = [one.sample for one in intended]
    originals = answers.originals, answers.original_distances
    return Rows(
        pictures([(one.id, one.label, one.cluster) for one in stress.samples], *originals),
        pictures([(one.id, one.label, one.cluster) for one in samples], *originals),
        pictures(
            [(one.id, one.label, one.sample.cluster) for one in intended],
            answers.edits,
            answers.edit_distances,
        ),
    )


def _answer(name: str, picture: str, values: Mapping[str, float]) -> float:
    value = values.get(picture)
    if value is None:
        raise InputError(f"predictor {name}: has no answer for {picture}")
    if not 0 <= value <= 1:
        raise InputError(f"predictor {name}: {value} for {picture} is not between 0 and 1")
    return float(value)
