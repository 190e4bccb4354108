"""How well an encoder's edit score separates good edits from failed ones: the card's figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.analysis.estimate import Estimate
from medebench.encoders.encoder import Encoder, Features
from medebench.metrics.metric import Undefined
from medebench.metrics.semantic import direction
from medebench.phantoms.chest import ChestSpec, render
from medebench.phantoms.training.chest_encoder.attempted_edits import (
    FAILURES,
    THINGS,
    Attempt,
    attempts,
)
from medebench.phantoms.training.chest_encoder.augmentation import disturb
from medebench.phantoms.training.chest_encoder.encoder_recipe import EVALUATION_SEED, RECIPE
from medebench.progress import Progress, silent
from medebench.stresstest.separation import separated_at, separation

COUNT = 40
#: Edits that score lower are discarded.
THRESHOLD = 0.2
ALL = "all"


@dataclass(frozen=True)
class ScoredAttempt:
    attempt: Attempt
    #: None if the encoder sees no difference in the pictures or texts.
    score: float | None


@dataclass(frozen=True)
class Figure:
    """Edits that did `thing` beside those that failed in one way; `all` stands for every one."""

    thing: str
    failure: str
    auroc: Estimate
    #: Shares at the threshold: completed edits that are kept, failed ones that are discarded.
    kept: Estimate
    thrown: Estimate
    #: Median scores; None where no edit has one.
    done: float | None
    failed: float | None
    #: Edits in which the encoder sees no difference; excluded from the other figures.
    unscored: int


def evaluate(
    encoder: Encoder,
    count: int = COUNT,
    things: Sequence[str] = THINGS,
    progress: Progress = silent,
) -> list[ScoredAttempt]:
    """Attempts on `count` patients for each thing, all outputs disturbed as by an editor."""
    scored: list[ScoredAttempt] = []
    for place, thing in enumerate(things):
        for index in range(count):
            scored += score(encoder, attempts(thing, EVALUATION_SEED, index))
            progress(place * count + index + 1, len(things) * count)
    return scored


def score(encoder: Encoder, tried: Sequence[Attempt]) -> list[ScoredAttempt]:
    """The edit score of attempts on one patient."""
    before = list(dict.fromkeys(one.before for one in tried))
    shown = {spec: render(spec).picture for one in tried for spec in (one.before, one.output)}
    outputs = _disturbed([shown[one.output] for one in tried], tried[0].patient)
    rows = _encode(encoder, [*(shown[spec] for spec in before), *outputs])
    vectors: dict[ChestSpec, Features] = dict(zip(before, rows, strict=False))
    texts = list(dict.fromkeys(text for one in tried for text in (one.prompt, one.caption)))
    read = dict(zip(texts, (one.features for one in encoder.read(texts)), strict=True))
    found = []
    for one, output in zip(tried, rows[len(before) :], strict=True):
        try:
            value = direction(output, vectors[one.before], read[one.prompt], read[one.caption])
        except Undefined:
            found.append(ScoredAttempt(one, None))
        else:
            found.append(ScoredAttempt(one, value))
    return found


def figures(scored: Sequence[ScoredAttempt], threshold: float = THRESHOLD) -> list[Figure]:
    """For each thing and for all: every failure alone, and all of them together."""
    things = list(dict.fromkeys(one.attempt.thing for one in scored))
    found = []
    for thing in (*things, ALL) if len(things) > 1 else things:
        own = [one for one in scored if thing in (ALL, one.attempt.thing)]
        done = [one for one in own if one.attempt.outcome == "done"]
        for failure in (*FAILURES, ALL):
            failed = [
                one
                for one in own
                if one.attempt.outcome != "done" and failure in (ALL, one.attempt.outcome)
            ]
            if failed:
                found.append(_figure(thing, failure, done, failed, threshold))
    return found


def _figure(
    thing: str,
    failure: str,
    done: Sequence[ScoredAttempt],
    failed: Sequence[ScoredAttempt],
    threshold: float,
) -> Figure:
    known = [(one, one.score) for one in (*done, *failed) if one.score is not None]
    values = [value for _, value in known]
    good = [one.attempt.outcome == "done" for one, _ in known]
    groups = [str(one.attempt.patient) for one, _ in known]
    (at,) = separated_at(values, good, groups, thresholds=[threshold])
    return Figure(
        thing,
        failure,
        separation(values, good, groups),
        at.good_kept,
        at.failed_thrown,
        _median([value for value, right in zip(values, good, strict=True) if right]),
        _median([value for value, right in zip(values, good, strict=True) if not right]),
        len(done) + len(failed) - len(known),
    )


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


def _encode(encoder: Encoder, pictures: Sequence[NDArray[np.uint8]]) -> Features:
    prepared: list[Any] = [
        encoder.prepare(np.repeat(picture[..., None], 3, axis=-1), 255) for picture in pictures
    ]
    parts = [
        encoder.encode(prepared[start : start + encoder.batch])
        for start in range(0, len(prepared), encoder.batch)
    ]
    return np.concatenate(parts)


def _disturbed(pictures: Sequence[NDArray[np.uint8]], seed: int) -> NDArray[np.uint8]:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(EVALUATION_SEED * 100_003 + seed)
        seen = disturb(torch.from_numpy(np.stack(pictures)).float()[:, None] / 255, RECIPE)
    rounded: NDArray[np.uint8] = (seen[:, 0] * 255).round().byte().numpy()
    return rounded
