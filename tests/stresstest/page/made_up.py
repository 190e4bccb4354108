"""Stress tests that never were: exact counterfactuals of phantoms, and answers drawn by chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.errors import InputError
from medebench.images.picture import Picture, read_mask, read_picture
from medebench.phantoms.chest import render
from medebench.phantoms.chest.captions import caption
from medebench.phantoms.chest.chest_spec import Device, Finding
from medebench.phantoms.chest.patients import confounded
from medebench.phantoms.recipes.radedit_shifts import MANIFESTATION, POPULATION
from medebench.stresstest.page import PageContext
from medebench.stresstest.predictor_outputs import Answers
from medebench.stresstest.stress_outcome import (
    EditOutcome,
    IntendedEdit,
    Sample,
    StressOutcome,
    StressSet,
)
from medebench.stresstest.stress_run import analyze

Bools = NDArray[np.bool_]
ENCODER = "made-up"


@dataclass
class Folder:
    """Pictures of a made-up stress test as files."""

    path: Path
    outputs: dict[str, Path] = field(default_factory=dict)
    marked: dict[tuple[str, str], Bools] = field(default_factory=dict)
    #: By edit: the picture before cannot be read.
    lost: set[str] = field(default_factory=set)
    opened: int = 0

    def before(self, edit: EditOutcome) -> Picture:
        self.opened += 1
        if edit.intended.id in self.lost:
            raise InputError(f"{edit.intended.sample.image.name}: no such file")
        return read_picture(edit.intended.sample.image)

    def after(self, edit: EditOutcome) -> Picture | None:
        path = self.outputs.get(edit.intended.id)
        return None if path is None else read_picture(path)

    def edit_mask(self, edit: EditOutcome) -> Bools | None:
        return self._mask(edit.intended.edit)

    def keep_mask(self, edit: EditOutcome) -> Bools | None:
        return self._mask(edit.intended.keep)

    def predicted(self, edit: EditOutcome, predictor: str) -> Bools | None:
        return self.marked.get((edit.intended.id, predictor))

    def _mask(self, path: Path | None) -> Bools | None:
        return None if path is None else read_mask(path) > 127

    def save(self, name: str, pixels: NDArray[Any]) -> Path:
        path = self.path / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        grey = pixels if pixels.dtype == np.uint8 else np.where(pixels, 255, 0).astype(np.uint8)
        Image.fromarray(grey).save(path)
        return path


@dataclass(frozen=True)
class MadeUp:
    outcome: StressOutcome
    pictures: Folder
    making: PageContext


def edge(mask: Bools, by: int = 3) -> Bools:
    import cv2

    return np.asarray(cv2.dilate(mask.astype(np.uint8), np.ones((2 * by + 1,) * 2)) > 0)


def made_up_classification(
    folder: Path, count: int, *, texts: Mapping[int, str] | None = None, size: int = 64
) -> MadeUp:
    """Pneumothorax that comes with a drain: every second of `count` patients is ill."""
    rng = np.random.default_rng(1)
    files = Folder(folder)
    samples: list[Sample] = []
    edits: list[EditOutcome] = []
    said: dict[str, list[dict[str, float]]] = {"biased": [{}, {}], "unbiased": [{}, {}]}
    for number in range(count):
        spec, ill = confounded(7, number, "pneumothorax", "chest drain", 1.0)
        drawn = render(spec, size)
        name = f"p{number:03d}"
        sample = Sample(
            name,
            files.save(f"images/{name}", drawn.picture),
            "pneumothorax" if ill else "none",
            caption=caption(spec),
        )
        samples.append(sample)
        said["biased"][0][name] = float(rng.beta(20, 1) if ill else rng.beta(1, 20))
        said["unbiased"][0][name] = float(rng.beta(9, 2) if ill else rng.beta(2, 9))
        if not ill:
            continue
        without = spec.without("pneumothorax")
        clean = render(without, size)
        intended = IntendedEdit(
            sample,
            (texts or {}).get(number, caption(without)),
            "none",
            files.save(f"edit/{name}", edge(drawn.masks["lungs"])),
            files.save(f"keep/{name}", drawn.masks["chest drain"]),
            reference=files.save(f"wanted/{name}", clean.picture),
        )
        score: float | None = float(np.clip(rng.normal(0.55, 0.13), -1, 1))
        picture, reason = clean.picture, ""
        if number % 14 == 4:  # an edit that failed: noise where the picture should be
            score = float(rng.normal(0.0, 0.08))
            noise = rng.normal(0, 40, picture.shape)
            picture = np.clip(drawn.picture + noise, 0, 255).astype(np.uint8)
        if number % 30 == 8:
            score, reason = None, "the editor ran out of memory"
        else:
            files.outputs[name] = files.save(f"edits/{name}_0", picture)
        kept = score is not None and score >= 0.2
        edits.append(EditOutcome(intended, score, kept, reason, "" if reason else f"{name}_0.png"))
        if not reason:
            said["biased"][1][name] = float(rng.beta(9, 2))
            said["unbiased"][1][name] = float(rng.beta(2, 9))
    stress = StressSet("classification", tuple(samples), tuple(e.intended for e in edits),
                       "pneumothorax")  # fmt: skip
    answers = [Answers(n, *both, reference=n == "unbiased") for n, both in said.items()]
    making = PageContext(
        positive="pneumothorax",
        shift=MANIFESTATION.shift,
        about="A made-up test of the page: exact counterfactuals of phantoms stand in for edits, "
        "and no predictor was asked.",
        facts=[
            ("Editor", [("editor", "radedit:chest"), ("guidance", "7.5"), ("steps", "50")]),
            ("Seeds", [("edits", "0"), ("patients", "7")]),
        ],
        command="medebench stress manifestation --out stress/manifestation",
    )
    outcome = _conclude("Pneumothorax and chest drains", stress, edits, answers)
    return MadeUp(outcome, files, making)


def made_up_segmentation(folder: Path, count: int, size: int = 64) -> MadeUp:
    """Lungs of healthy patients, to whom a pacemaker or a consolidation is added."""
    rng = np.random.default_rng(2)
    files = Folder(folder)
    samples: list[Sample] = []
    edits: list[EditOutcome] = []
    names = {"weak": 0.14, "strong": 0.03}
    dice: dict[str, list[dict[str, float]]] = {name: [{}, {}] for name in names}
    far: dict[str, list[dict[str, float | None]]] = {name: [{}, {}] for name in names}
    things: dict[str, Finding | Device] = {
        "consolidation": Finding("consolidation", "left", "lower", 0.8),
        "pacemaker": Device("pacemaker", "left"),
    }
    for number in range(count):
        spec, _ = confounded(9, 2 * number + 1, "nodule", "wires", 1.0)
        drawn = render(spec, size)
        name = f"s{number:03d}"
        lungs = files.save(f"lungs/{name}", drawn.masks["lungs"])
        sample = Sample(name, files.save(f"images/{name}", drawn.picture), mask=lungs)
        samples.append(replace(sample, caption=caption(spec)))
        sample = samples[-1]
        for who in names:
            dice[who][0][name] = float(rng.beta(95, 4))
            far[who][0][name] = float(rng.gamma(2, 0.3))
        for kind, thing in things.items():
            added = render(spec.having(thing), size)
            where = edge(added.masks[kind])
            one = IntendedEdit(
                sample,
                caption(spec.having(thing)),
                edit=files.save(f"edit/{name}-{kind}", where),
                keep=files.save(f"keep/{name}-{kind}", ~edge(where, 4)),
                kind=kind,
            )
            files.outputs[one.id] = files.save(f"edits/{one.id}_0", added.picture)
            score = float(np.clip(rng.normal(0.5, 0.15), -1, 1))
            edits.append(EditOutcome(one, score, score >= 0.2, output=f"{one.id}_0.png"))
            for who, lost in names.items():
                empty = who == "weak" and number == 3
                value = max(0.0, dice[who][0][name] - rng.exponential(lost))
                dice[who][1][one.id] = 0.0 if empty else value
                far[who][1][one.id] = None if empty else float(rng.gamma(2, 0.3 + 5 * lost))
                seen = drawn.masks["lungs"] & ~where if who == "weak" else drawn.masks["lungs"]
                files.marked[one.id, who] = np.zeros_like(seen) if empty else seen
    stress = StressSet("segmentation", tuple(samples), tuple(e.intended for e in edits))
    answers = [
        Answers(
            who,
            *dice[who],
            reference=who == "strong",
            original_distances=far[who][0],
            edit_distances=far[who][1],
        )
        for who in names
    ]
    outcome = _conclude("Lungs with additions", stress, edits, answers)
    return MadeUp(outcome, files, PageContext(shift=POPULATION.shift))


def _conclude(
    name: str, stress: StressSet, edits: list[EditOutcome], answers: list[Answers]
) -> StressOutcome:
    told = [
        replace(
            edit,
            before={one.name: one.originals.get(edit.intended.sample.id) for one in answers},
            after={one.name: one.edits.get(edit.intended.id) for one in answers},
        )
        for edit in edits
    ]
    return analyze(name, stress, told, answers, threshold=0.2, encoder=ENCODER)
