"""How often the answers of tuning experiments hold: `python tools/simulate_tuning.py`.

Every study has a pool of training pairs, each with an effect of its own. A draw takes them in a
random order, and training on n pairs changes the scores by the mean effect of the first n, so that
4 of 8 of 16 are nested and draws overlap as far as the pool is small. To that come effects of the
case, of the seed, of case by draw, and noise; all changes are taken from one untouched model with
noise of its own. What the analysis says is held against what is true for pairs, seeds and cases
without end. Scores do not depend on the number of pairs, so every trend that is found is false.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from medebench.analysis.crossed_design import CrossedDesign
from medebench.analysis.crossed_mean import MOST_OVERLAP, Crossed, crossed
from medebench.analysis.interval import UNIT
from medebench.analysis.mean_test import POWER, smallest
from medebench.analysis.means import wilson
from medebench.tuning.doublings import slope_weights

Rows = NDArray[np.float64]

NUMBERS = (4, 8, 16)
#: Share of the variance of a mean over a study that draws make at the most pairs.
SHARES = {"none": 0.0, "little": 0.2, "half": 0.5, "most": 0.9, "nearly all": 0.99}
RESAMPLES = 200


@dataclass(frozen=True)
class World:
    """Standard deviations of the effects, in those of the noise of one output."""

    name: str
    case: float = 1.0
    seed: float = 0.0
    crossing: float = 0.5
    #: "normal", "skewed" (exponential), "bounded" (0 to 1, many at the ends) or "binary" (0 or 1).
    scores: str = "normal"
    #: Of the outputs.
    missing: float = 0.0
    pool: int = 40


WORLDS = (
    World("noise only", case=0.0, crossing=0.0),
    World("plain"),
    World("seeds as well", seed=0.5),
    World("seeds most", seed=2.0),
    World("case by draw", crossing=2.0, case=0.5),
    World("cases most", case=4.0),
    World("skewed", case=2.0, seed=0.3, scores="skewed"),
    World("0 to 1", case=1.0, seed=0.3, scores="bounded"),
    World("0 or 1", case=1.0, seed=0.3, scores="binary"),
    World("a tenth missing", seed=0.5, missing=0.1),
    World("pool of 160", pool=160),
    World("pool of 20", pool=20),
)
COLUMNS = (
    "covered", "score", "trend", "power", "stated", "median width", "bootstrap of draws",
    "t of outputs",
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """Sizes of a study."""

    draws: int
    seeds: int
    cases: int = 30

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.cases, self.draws, self.seeds


@dataclass(frozen=True)
class Studies:
    """Scores of many studies: the untouched model's (studies, case); others have draw and seed."""

    before: Rows
    #: By number of pairs: (studies, case, draw, seed).
    after: Mapping[int, Rows]
    #: (studies,): the pool's own part of the mean at the most pairs.
    luck: Rows


def draw_effect(world: World, plan: Plan, share: float) -> float:
    """Spread of what 16 pairs do, such that draws make this share of the variance of a mean."""
    c, d, s = plan.shape
    one = 2 if world.scores == "normal" else 1
    rest = (world.case**2 + one) / c + world.seed**2 / d / s
    rest += world.crossing**2 / c / d + 1 / c / d / s
    q = NUMBERS[-1] / world.pool
    part = (1 - q) / d + (q if q <= MOST_OVERLAP else 0.0)
    return float(np.sqrt(rest * share / (1 - share) / part))


def draw_studies(
    world: World, plan: Plan, share: float, studies: int, generator: np.random.Generator
) -> Studies:
    c, d, s = plan.shape
    normal = generator.normal

    def spread(*shape: int) -> Rows:
        if world.scores != "skewed":
            return normal(size=(studies, *shape))
        return generator.exponential(size=(studies, *shape)) - 1

    most = NUMBERS[-1]
    pairs = normal(size=(studies, world.pool)) * draw_effect(world, plan, share) * np.sqrt(most)
    order = np.argsort(generator.random((studies, d, world.pool)), axis=-1)
    effects = np.take_along_axis(np.broadcast_to(pairs[:, None], order.shape), order, axis=-1)
    level, changed = spread(c), world.case * spread(c)
    after = {}
    crossing = world.crossing * normal(size=(studies, c, d, 1))
    for n in NUMBERS:
        latent = (level + changed)[:, :, None, None] + crossing
        latent = latent + effects[..., :n].mean(axis=-1)[:, None, :, None]
        latent = latent + world.seed * normal(size=(studies, 1, d, s)) + spread(c, d, s)
        after[n] = scored(latent, world, generator)
    return Studies(scored(level + spread(c), world, generator), after, pairs.mean(axis=1))


def scored(latent: Rows, world: World, generator: np.random.Generator) -> Rows:
    if world.scores == "bounded":
        return np.clip(0.6 + 0.25 * latent, 0, 1)
    if world.scores == "binary":
        return (generator.random(latent.shape) < special.expit(latent)).astype(np.float64)
    return latent


def true_change(world: World, plan: Plan, share: float, seed: int) -> tuple[float, float]:
    """Mean change, and mean score after training, without end of everything."""
    if world.scores in ("normal", "skewed"):
        return 0.0, 0.0
    generator, size = np.random.default_rng(seed), 2_000_000
    normal = generator.normal
    level = normal(size=size)
    latent = level + world.case * normal(size=size) + world.crossing * normal(size=size)
    latent += draw_effect(world, plan, share) * normal(size=size) + world.seed * normal(size=size)
    latent += normal(size=size)
    after = float(scored(latent, world, generator).mean())
    return after - float(scored(level + normal(size=size), world, generator).mean()), after


def analyse(
    world: World, plan: Plan, share: float, studies: Studies, seed: int
) -> dict[str, float]:
    """The columns of the table."""
    case, draw, repeat = (axis.ravel() for axis in np.indices(plan.shape))
    there = np.random.default_rng(seed).random(len(case)) >= world.missing
    rows = np.flatnonzero(there)
    count = len(studies.before)

    def design(overlap: float) -> CrossedDesign:
        one = np.zeros(len(rows), dtype=int)
        labels = {"tasks": one, "folds": one, "sources": case[rows], "cases": case[rows]}
        labels |= {"draws": draw[rows], "seeds": repeat[rows]}
        return CrossedDesign(**labels, overlap=overlap)

    def columns(values: Rows) -> Rows:
        return np.ascontiguousarray(values.reshape(count, -1)[:, rows].T)

    overlap = NUMBERS[-1] / world.pool
    change = studies.after[NUMBERS[-1]] - studies.before[:, :, None, None]
    slope = sum(w * studies.after[n] for n, w in zip(NUMBERS, slope_weights(NUMBERS), strict=True))
    truth, level = true_change(world, plan, share, seed)
    # Of a pool that is nearly used up the answer is about this pool.
    about = studies.luck if overlap > MOST_OVERLAP else 0.0
    found, trend = crossed(design(overlap), columns(change)), crossed(design(0.0), columns(slope))
    reach = reach_of(found)
    off = found.value - truth - about
    limits = {f: smallest(1.0, float(f)) for f in np.unique(np.round(found.freedom, 1)) if f >= 1}
    stated = np.sqrt(found.variance) * [limits[f] for f in np.round(found.freedom, 1)]
    typical = float(np.median(stated))
    told = {
        "covered": np.mean(np.abs(off) <= reach),
        "trend": np.mean(np.abs(trend.value) > reach_of(trend)),
        "power": np.mean(np.abs(off + typical) > reach),
        "stated": POWER,
        "median width": 2 * np.median(reach),
    }
    if world.scores in ("bounded", "binary"):
        whole = columns(studies.after[NUMBERS[-1]])
        score = crossed(design(overlap), whole, UNIT)
        told["score"] = np.mean(bounded_held(score, level))
    told |= naive(plan, change - (truth + np.reshape(about, (-1, 1, 1, 1))), seed)
    return {name: float(value) for name, value in told.items()}


def reach_of(found: Crossed) -> Rows:
    return special.stdtrit(found.freedom, 0.975) * np.sqrt(found.variance)


def bounded_held(found: Crossed, truth: float) -> NDArray[np.bool_]:
    t = special.stdtrit(found.freedom, 0.975)
    held = []
    for value, variance, each in zip(found.value, found.variance, t, strict=True):
        inside = 0 < value < 1 and variance > 0
        low, high = wilson(value, variance, each) if inside else (value, value)
        held.append(low <= truth <= high)
    return np.array(held)


def naive(plan: Plan, off: Rows, seed: int) -> dict[str, float]:
    """What one would do without the model: resample the draws; take outputs for independent."""
    generator = np.random.default_rng(seed + 1)
    means = off.mean(axis=(1, 3))
    picked = generator.integers(0, plan.draws, size=(len(off), RESAMPLES, plan.draws))
    again = np.take_along_axis(means[:, None, :], picked, axis=2).mean(axis=2)
    low, high = np.quantile(again, [0.025, 0.975], axis=1)
    flat = off.reshape(len(off), -1)
    t = stats.t.ppf(0.975, flat.shape[1] - 1) * stats.sem(flat, axis=1)
    return {
        "bootstrap of draws": np.mean((low <= 0) & (high >= 0)),
        "t of outputs": np.mean(np.abs(flat.mean(axis=1)) <= t),
    }


def simulate(
    world: World, plan: Plan, share: float, *, studies: int, seed: int
) -> dict[str, float]:
    generator = np.random.default_rng([seed, plan.draws, plan.seeds, int(1000 * share)])
    return analyse(world, plan, share, draw_studies(world, plan, share, studies, generator), seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plans", nargs="+", default=["3x2", "5x3"], help="draws x seeds")
    parser.add_argument("--worlds", nargs="+", help="by name; all of them")
    parser.add_argument("--shares", nargs="+", default=[*SHARES], help="of variance by draws")
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--studies", type=int, default=2000, help="for each row")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    heads = ["draws x seeds", "scores", "draws' part", *COLUMNS]
    print("| " + " | ".join(heads) + " |")
    print("|" + " --- |" * 3 + " ---: |" * len(COLUMNS))
    start = time.monotonic()
    for size in given.plans:
        plan = Plan(*(int(part) for part in size.split("x")), given.cases)
        for world in WORLDS:
            if given.worlds and world.name not in given.worlds:
                continue
            for name in given.shares:
                seen = simulate(world, plan, SHARES[name], studies=given.studies, seed=given.seed)
                cells = [
                    "-" if column not in seen
                    else f"{seen[column]:.2f}" if column == "median width"
                    else f"{seen[column]:.1%}"
                    for column in COLUMNS
                ]  # fmt: skip
                print("| " + " | ".join([size, world.name, name, *cells]) + " |", flush=True)
    print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
