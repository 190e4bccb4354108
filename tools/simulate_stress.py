"""How often the intervals of a stress test hold the truth, and how often its words are wrong.

`python tools/simulate_stress.py` draws test sets whose truth is known and prints the tables of
docs/stress-numbers.md. A few minutes of one core.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from medebench.analysis import Difference, Interval, share
from medebench.stresstest.predictor_comparison import Answers, compare
from medebench.stresstest.predictor_measures import ranked
from medebench.stresstest.stress_outcome import EditOutcome, IntendedEdit, Sample, StressSet
from medebench.stresstest.stress_verdict import ruling

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Rng = np.random.Generator

#: How alike the pictures of one patient are answered (intraclass correlation).
ALIKE = 0.4
#: (on the originals, on the edits)
LOSSES = ((0.99, 0.05), (0.95, 0.90), (0.95, 0.95), (0.80, 0.60), (0.70, 0.20))
#: What a predictor truly is: (right on the originals, right on the edits, edits).
PREDICTORS = (
    (0.95, 0.85, 100),
    (0.95, 0.50, 100),
    (0.95, 0.95, 100),
    (0.95, 0.95, 50),
    (0.95, 0.95, 30),
    (0.98, 0.10, 100),
    (0.98, 0.10, 20),
)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--sets", type=int, default=1000, help="test sets of each kind")
    sets = given.parse_args().sets
    print(f"share of {sets} test sets whose interval holds the truth, in percent\n")
    print(f"{'share, groups x pictures':40}{'ours':>8}{'plain bootstrap':>18}")
    for truth in (0.5, 0.8, 0.95, 0.98, 0.995):
        for groups, each in ((20, 1), (30, 1), (60, 1), (150, 1), (20, 3), (60, 3), (60, 6)):
            held = _coverage(sets, truth, _share, truth, groups, each)
            print(f"{f'{truth:.1%}, {groups} x {each}':40}{held[0]:8.1f}{held[1]:18.1f}")
    print(f"\n{'loss, edits':40}{'ours':>8}{'plain bootstrap':>18}")
    for before, after in LOSSES:
        for edits in (20, 50):
            held = _coverage(sets, before - after, _loss, before, after, edits)
            print(f"{f'{before:.0%} to {after:.0%}, {edits}':40}{held[0]:8.1f}{held[1]:18.1f}")
    fewer = max(1, sets * 3 // 10)
    print(f"\n{f'AUROC, positives and negatives ({fewer} sets)':48}{'ours':>8}")
    for truth in (0.5, 0.7, 0.9, 0.97, 0.99):
        for number in (30, 100):
            held = _coverage(fewer, truth, _auroc, truth, number)
            print(f"{f'{truth:.2f}, {number} each':48}{held[0]:8.1f}")
    print(f"\nwords, in percent of {sets} test sets with as many negatives as edits\n")
    for before, after, edits in PREDICTORS:
        drawn = (np.random.default_rng(seed) for seed in range(sets))
        said = Counter(_word(rng, before, after, edits) for rng in drawn)
        shown = ", ".join(f"{word} {100 * n / sets:.1f}" for word, n in said.most_common())
        print(f"{f'{before:.0%} to {after:.0%}, {edits} edits':40}{shown}")


def _coverage(
    sets: int, truth: float, draw: Callable[..., tuple[Interval | None, ...]], *how: float
) -> list[float]:
    held = []
    for seed in range(sets):
        found = draw(np.random.default_rng(seed), *how)
        held.append([one is not None and one.low <= truth <= one.high for one in found])
    return list(100 * np.mean(held, axis=0))


def _answers(rng: Rng, truth: float, groups: int, each: int) -> Bools:
    """Right or wrong, alike within a group (beta-binomial)."""
    if each == 1:
        return rng.random((groups, 1)) < truth
    size = (1 - ALIKE) / ALIKE
    chances = rng.beta(truth * size, (1 - truth) * size, (groups, 1))
    return np.asarray(rng.random((groups, each)) < chances)


def _share(rng: Rng, truth: float, groups: int, each: int) -> tuple[Interval | None, ...]:
    right = _answers(rng, truth, groups, each)
    number = np.repeat(np.arange(groups), each)
    drawn = right.mean(axis=1)[rng.integers(groups, size=(2000, groups))].mean(axis=1)
    return share(right.ravel(), number, groups).interval(), _percentile(drawn)


def _loss(rng: Rng, before: float, after: float, edits: int) -> tuple[Interval | None, ...]:
    """Negatives of other patients, and edits; single pictures."""
    whole, total = np.arange(2 * edits), 2 * edits
    first, second = rng.random(edits) < before, rng.random(edits) < after
    ours = Difference(share(first, whole[:edits], total), share(second, whole[edits:], total))
    picks = rng.integers(edits, size=(2, 2000, edits))
    drawn = first[picks[0]].mean(axis=1) - second[picks[1]].mean(axis=1)
    return ours.interval(), _percentile(drawn)


def _auroc(rng: Rng, truth: float, number: int) -> tuple[Interval | None, ...]:
    positive = np.repeat([True, False], number)
    score = rng.normal(size=2 * number) + positive * np.sqrt(2) * norm.ppf(truth)
    return (ranked(positive, score, np.arange(2 * number), 2 * number).interval,)


def _percentile(drawn: Floats) -> Interval:
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Interval(float(low), float(high))


def _word(rng: Rng, before: float, after: float, edits: int) -> str:
    """What is said of a classifier whose test set is half ill, all of whom are edited."""
    picture = Path("none.png")
    ill = [Sample(f"ill {n}", picture, label="ill") for n in range(edits)]
    well = [Sample(f"well {n}", picture, label="well") for n in range(edits)]
    intended = tuple(IntendedEdit(one, "well", label="well") for one in ill)
    stress = StressSet("classification", (*ill, *well), intended, "ill")
    made = [EditOutcome(one, 1.0, True, "", "") for one in intended]
    right = rng.random(2 * edits) < before
    originals = {
        one.id: float((one.label == "ill") == ok)
        for one, ok in zip(stress.samples, right, strict=True)
    }
    answers = Answers("it", originals, {one.id: float(rng.random() >= after) for one in intended})
    table = compare(stress, made, answers, brief=True).table
    return ruling(table, "classification", edits).word


if __name__ == "__main__":
    main()
