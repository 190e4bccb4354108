"""How well an encoder's edit score separates good edits from failed ones: the card's figures."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from medebench.analysis.estimate import Estimate
from medebench.encoders.encoder import Encoder, Features
from medebench.metrics.metric import Undefined
from medebench.metrics.semantic import direction
from medebench.phantoms.chest import ChestSpec, render
from medebench.phantoms.chest.captions import caption
from medebench.phantoms.chest.chest_spec import DEVICES, FINDINGS, HOSPITALS, Device, Finding
from medebench.phantoms.chest.patients import EVERYBODY, draw_device, draw_finding, draw_patient
from medebench.phantoms.drawings.noise import stream
from medebench.phantoms.training.chest_encoder.encoder_fit import disturb
from medebench.phantoms.training.chest_encoder.statements import opposite
from medebench.phantoms.training.model_recipes import ENCODER, ENCODER_EVALUATION_SEED
from medebench.progress import Progress, silent
from medebench.stresstest.separation import separated_at, separation

Failure = Literal[
    "nothing happened", "another finding", "the opposite", "a device too", "the other side"
]
FAILURES: tuple[Failure, ...] = get_args(Failure)
Outcome = Literal["done", Failure]
HOSPITAL = "hospital"
#: What edits add, take away or, for hospitals, exchange.
THINGS = (*FINDINGS, *DEVICES, HOSPITAL)
COUNT = 40
#: Edits that score lower are discarded.
THRESHOLD = 0.2
ALL = "all"
BINS = np.linspace(-1, 1, 41)


@dataclass(frozen=True)
class Attempt:
    """`output` is what the picture came to show when it was to show what `prompt` says."""

    thing: str
    outcome: Outcome
    patient: int
    before: ChestSpec
    output: ChestSpec
    prompt: str
    caption: str


def attempts(thing: str, seed: int, index: int) -> list[Attempt]:
    """Of one patient; every second one is to lose the thing, the others to get it."""
    rng = stream(seed, f"attempts {thing} {index}")
    spec = draw_patient(seed, index, EVERYBODY)
    absent, present, new = _both(thing, spec, rng)
    told = {one: caption(one, hospital=thing == HOSPITAL) for one in (absent, present)}
    before, after = (present, absent) if index % 2 else (absent, present)

    def attempt(outcome: Outcome, start: ChestSpec, end: ChestSpec, output: ChestSpec) -> Attempt:
        return Attempt(thing, outcome, index, start, output, told[end], told[start])

    others = [name for name in FINDINGS if name != thing and before.finding(name) is None]
    other = draw_finding(others[int(rng.integers(len(others)))], rng)
    made = [
        attempt("done", before, after, after),
        attempt("nothing happened", before, after, before),
        attempt("another finding", before, after, before.having(other)),
        Attempt(thing, "the opposite", index, before, after, told[before], told[after]),
    ]
    held = [one.name for one in after.devices if before.device(one.name)]
    if held:
        made.append(attempt("a device too", before, after, after.without(held[0])))
    if new is not None and new.side != "both":
        there = absent.having(replace(new, side=opposite(new.side)))
        # Captions do not tell on which side a pacemaker is.
        if caption(there) != told[present]:
            made.append(attempt("the other side", absent, present, there))
    return made


def _both(
    thing: str, spec: ChestSpec, rng: np.random.Generator
) -> tuple[ChestSpec, ChestSpec, Finding | Device | None]:
    """The patient without and with the thing, and with nothing else that is ill."""
    for name in FINDINGS:
        spec = spec.without(name)
    if not spec.devices:
        # So that there is something to be lost along with it.
        spec = spec.having(draw_device(DEVICES[int(rng.integers(len(DEVICES)))], spec, rng))
    if thing == HOSPITAL:
        others = [name for name in HOSPITALS if name != spec.look.hospital]
        chosen = others[int(rng.integers(len(others)))]
        return spec, replace(spec, look=replace(spec.look, hospital=chosen)), None
    absent = spec.without(thing)
    new: Finding | Device
    if thing in FINDINGS:
        new = draw_finding(next(one for one in FINDINGS if one == thing), rng)
    else:
        new = draw_device(next(one for one in DEVICES if one == thing), absent, rng)
    return absent, absent.having(new), new


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
    encoder: Encoder, count: int = COUNT, progress: Progress = silent
) -> list[ScoredAttempt]:
    """Attempts on `count` patients for each thing, all outputs disturbed as by an editor."""
    scored: list[ScoredAttempt] = []
    for place, thing in enumerate(THINGS):
        for index in range(count):
            scored += score(encoder, attempts(thing, ENCODER_EVALUATION_SEED, index))
            progress(place * count + index + 1, len(THINGS) * count)
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
        value = None
        with suppress(Undefined):
            value = direction(output, vectors[one.before], read[one.prompt], read[one.caption])
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
            wrong = [one for one in own if one.attempt.outcome != "done"]
            if failed := [one for one in wrong if failure in (ALL, one.attempt.outcome)]:
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
    shown = (np.repeat(picture[..., None], 3, axis=-1) for picture in pictures)
    prepared: list[Any] = [encoder.prepare(one, 255) for one in shown]
    starts = range(0, len(prepared), encoder.batch)
    return np.concatenate([encoder.encode(prepared[k : k + encoder.batch]) for k in starts])


def _disturbed(pictures: Sequence[NDArray[np.uint8]], seed: int) -> NDArray[np.uint8]:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(ENCODER_EVALUATION_SEED * 100_003 + seed)
        seen = disturb(torch.from_numpy(np.stack(pictures)).float()[:, None] / 255, ENCODER)
    rounded: NDArray[np.uint8] = (seen[:, 0] * 255).round().byte().numpy()
    return rounded


def draw_scores(scored: Sequence[ScoredAttempt], path: Path) -> None:
    """One row per outcome, with a line at the threshold below which edits are discarded."""
    from matplotlib.figure import Figure

    rows = ("done", *FAILURES)
    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    for axes, outcome in zip(figure.subplots(len(rows), sharex=True), rows, strict=True):
        values = [one.score for one in scored if one.attempt.outcome == outcome]
        known = [value for value in values if value is not None]
        axes.hist(known, BINS, color="#2a6f97" if outcome == "done" else "#b0532c")
        axes.axvline(THRESHOLD, color="black", linewidth=1, linestyle="--")
        axes.set_yticks([])
        axes.set_title(f"{outcome} ({len(known)})", loc="left", fontsize=9)
        axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("edit score")
    figure.savefig(path, dpi=150)
