"""Test sets without pictures, and predictors whose answers are drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from medebench.stresstest.predictor_comparison import Answers
from medebench.stresstest.stress_outcome import EditOutcome, IntendedEdit, Sample, StressSet


def classification(ill=60, well=60, per_patient=1):
    """The ill are edited to be well; every `per_patient` neighbours are one patient."""
    samples = tuple(
        Sample(
            f"{place}",
            Path(f"{place}.png"),
            label="ill" if place < ill else "well",
            group=f"patient {place // per_patient}" if per_patient > 1 else "",
        )
        for place in range(ill + well)
    )
    intended = tuple(IntendedEdit(one, "no disease", label="well") for one in samples[:ill])
    return StressSet("classification", samples, intended, "ill")


def segmentation(number=40, kinds=("",)):
    samples = tuple(
        Sample(f"{place}", Path(f"{place}.png"), mask=Path("mask.png")) for place in range(number)
    )
    intended = tuple(IntendedEdit(one, kind, kind=kind) for kind in kinds for one in samples)
    return StressSet("segmentation", samples, intended)


def made(stress, scores=None, threshold=0.2):
    """All edits, with these scores (0.5 unless given), kept from the threshold on."""
    scores = [0.5] * len(stress.intended) if scores is None else scores
    return [
        EditOutcome(
            one,
            None if score is None else float(score),
            score is not None and score >= threshold,
            "" if score is not None else "the editor refused",
            f"{one.id}_0.png" if score is not None else "",
        )
        for one, score in zip(stress.intended, scores, strict=True)
    ]


def classifier(stress, name="mine", right=0.95, edited=0.95, seed=0, reference=False, well=None):
    """Right with these probabilities: on the ill, on edits, and on the well if that differs."""
    rng = np.random.default_rng(seed)
    well = right if well is None else well

    def answer(label, share):
        says = (label == "ill") == (rng.random() < share)
        return float(rng.uniform(0.5, 1) if says else rng.uniform(0, 0.499))

    return Answers(
        name,
        {
            one.id: answer(one.label, right if one.label == "ill" else well)
            for one in stress.samples
        },
        {one.id: answer(one.label, edited) for one in stress.intended},
        reference,
    )


def segmenter(stress, name="mine", before=0.95, after=0.9, seed=0, reference=False):
    rng = np.random.default_rng(seed)
    own = {one.id: float(rng.normal(0, 0.01)) for one in stress.samples}

    def dice(mean, sample):
        return float(np.clip(mean + own[sample] + rng.normal(0, 0.01), 0, 1))

    originals = {one.id: dice(before, one.id) for one in stress.samples}
    edits = {one.id: dice(after, one.sample.id) for one in stress.intended}
    return Answers(
        name,
        originals,
        edits,
        reference,
        original_distances={name: 20 * (1 - value) for name, value in originals.items()},
        edit_distances={name: 20 * (1 - value) for name, value in edits.items()},
    )
