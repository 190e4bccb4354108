"""How often the intervals of a report hold the truth: `python tools/simulate_intervals.py`.

Scores are drawn from populations whose mean is known, in numbers of source images that real sets
have, and every interval that a report can show is asked whether it holds that mean. Prints the
tables of docs/metrics.md: percent of the sets whose interval holds the truth, then the median
width. Intervals of FID and KID: `tools/set_intervals.py`; of studies: `tools/simulate_study.py`;
of stress tests: `tools/simulate_stress.py`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from medebench.analysis import (
    Bounds,
    Difference,
    Interval,
    cluster_spearman,
    macro_mean,
    mean,
    share,
    sign_flip_test,
)
from medebench.analysis.interval import LEVEL, UNBOUNDED, UNIT, students
from medebench.analysis.resampled import tail

Floats = NDArray[np.float64]
Rng = np.random.Generator

SOURCES = (4, 5, 6, 8, 10, 20, 50)
#: Cases of one source image are alike: so much of their variance is common to them.
ALIKE = 0.5
VERY_ALIKE = 0.9
SSIM = Bounds(-1.0, 1.0)
ABOVE_ZERO = Bounds(low=0.0)


@dataclass(frozen=True)
class Shape:
    """How the scores of a model are spread."""

    name: str
    draw: Callable[[Rng, int], Floats]
    bounds: Bounds = UNIT

    def quantiles(self) -> Floats:
        """The scores in order: a uniform number picks one, so that scores can be made alike."""
        return np.sort(self.draw(np.random.default_rng(1), 400_000))


Draw = Callable[[Rng, int], Floats]


def _mostly(often: float, usual: Draw, other: Draw) -> Draw:
    return lambda rng, n: np.where(rng.random(n) < often, usual(rng, n), other(rng, n))


def _all(value: float) -> Draw:
    return lambda rng, n: np.full(n, value)


def _any(rng: Rng, n: int) -> Floats:
    return rng.random(n)


def _beta(a: float, b: float) -> Draw:
    return lambda rng, n: rng.beta(a, b, n)


def _tenths(a: float, b: float) -> Draw:
    return lambda rng, n: np.round(10 * rng.beta(a, b, n)) / 10


SHAPES = (
    Shape("symmetric", _beta(4, 4)),
    Shape("near 1 (CP-like)", _beta(18, 1), SSIM),
    Shape("near 1, long tail", _beta(6, 0.6), SSIM),
    Shape("80 % zeros", _mostly(0.8, _all(0), _any)),
    Shape("judge's tenths", _tenths(2.2, 1.5)),
    Shape("judge's tenths, low", _tenths(0.8, 2.5)),
    Shape("near 0 (IoU-like)", _beta(0.7, 3)),
    Shape("two heaps", _mostly(0.5, _beta(2, 6), _beta(6, 2))),
)
#: Nearly all scores have one value: intervals may hold too often.
DEGENERATE = (
    Shape("95 % ones", _mostly(0.95, _all(1), _any)),
    Shape("80 % failures, else 1", _mostly(0.8, _all(0), _all(1))),
)
#: Rare and far off: a few sources that do not show it cannot know.
HOPELESS = (Shape("near 1, one in seven ruined", _mostly(6 / 7, _beta(60, 2), _beta(4, 3)), SSIM),)
ENDLESS = (
    Shape("PSNR-like", lambda rng, n: np.maximum(0, rng.normal(24, 4, n)), ABOVE_ZERO),
    Shape("LPIPS-like", lambda rng, n: 0.1 * rng.gamma(2, 1, n), ABOVE_ZERO),
    Shape("LPIPS-like, long tail", lambda rng, n: 0.2 * rng.gamma(1, 1, n), ABOVE_ZERO),
    Shape("reward-like", lambda rng, n: rng.standard_t(5, n), UNBOUNDED),
    Shape("reward-like, skewed", lambda rng, n: 1 - rng.gamma(2, 1, n), UNBOUNDED),
)
#: Cases by source image.
SIZES = {
    "1 2 3 4": (1, 2, 3, 4),
    "1 1 1 5": (1, 1, 1, 5),
    "1 1 2 2 3 4": (1, 1, 2, 2, 3, 4),
    "nine of 1, one of 6": (1,) * 9 + (6,),
    "1 1 1 1 2 2 3 6 9 12": (1, 1, 1, 1, 2, 2, 3, 6, 9, 12),
    "1 to 10": tuple(range(1, 11)),
}
#: Source images by organ.
ORGANS = {
    "6 organs x 2": (2,) * 6,
    "4 organs x 3": (3,) * 4,
    "13 organs x 2": (2,) * 13,
    "13 organs x 3": (3,) * 13,
    "2 2 2 8 8 20": (2, 2, 2, 8, 8, 20),
    "6 organs x 5": (5,) * 6,
}
BY_NAME = {shape.name: shape for shape in (*SHAPES, *DEGENERATE, *HOPELESS, *ENDLESS)}
#: Two runs on the same images: shapes, and how far they agree on which images are hard.
PAIRS = (
    ("symmetric", "symmetric", 0.5),
    ("near 1 (CP-like)", "near 1 (CP-like)", 0.5),
    ("near 1 (CP-like)", "near 1 (CP-like)", 0.95),
    ("judge's tenths", "judge's tenths", 0.7),
    ("judge's tenths, low", "symmetric", 0.5),
    ("80 % zeros", "80 % zeros", 0.5),
    ("80 % zeros", "symmetric", 0.3),
    ("80 % failures, else 1", "symmetric", 0.0),
    ("near 0 (IoU-like)", "two heaps", 0.95),
    ("judge's tenths, low", "judge's tenths", 0.9),
    ("LPIPS-like", "LPIPS-like", 0.7),
)


@dataclass
class Held:
    """How often an interval held the truth, out of those that were given, and how wide it was."""

    held: int = 0
    given: int = 0
    sets: int = 0
    widths: list[float] = field(default_factory=list)

    def add(self, found: Interval | None, truth: float) -> None:
        self.sets += 1
        if found is None:
            return
        self.given += 1
        slack = 1e-12
        self.held += found.low - slack <= truth <= found.high + slack
        self.widths.append(found.high - found.low)

    @property
    def percent(self) -> float:
        return 100 * self.held / self.given if self.given else math.nan

    def __str__(self) -> str:
        if not self.given:
            return "no interval"
        lacking = "" if self.given == self.sets else f", in {100 * self.given / self.sets:.0f} %"
        return f"{self.percent:.1f} ({np.median(self.widths):.2g}{lacking})"


def alike(rng: Rng, table: Floats, codes: NDArray[np.intp], share: float = ALIKE) -> Floats:
    """Scores of cases in clusters; those of one cluster share so much of their variance."""
    common = rng.standard_normal(int(codes.max()) + 1)[codes]
    own = rng.standard_normal(len(codes))
    return _at(table, math.sqrt(share) * common + math.sqrt(1 - share) * own)


def _at(table: Floats, normal: Floats) -> Floats:
    return table[np.minimum((ndtr(normal) * len(table)).astype(np.intp), len(table) - 1)]


def over_cases(
    shape: Shape, codes: Sequence[int], sets: int, seed: int = 0, share: float = ALIKE
) -> Held:
    """The mean over cases, of the source images `codes`; cases of one share so much."""
    rng, table, found = np.random.default_rng(seed), shape.quantiles(), Held()
    places, truth = np.array(codes), float(table.mean())
    for _ in range(sets):
        one = mean(alike(rng, table, places, share), places, shape.bounds)
        found.add(one.interval() if one else None, truth)
    return found


def over_organs(shapes: Sequence[Shape], sizes: Sequence[int], sets: int, seed: int = 0) -> Held:
    """The mean over organs with so many source images; shapes are dealt out in turn."""
    rng, found = np.random.default_rng(seed), Held()
    organs = np.repeat(np.arange(len(sizes)), sizes)
    tables = [shapes[organ % len(shapes)].quantiles() for organ in range(len(sizes))]
    truth = float(np.mean([table.mean() for table in tables]))
    bounds = Bounds(min(s.bounds.low for s in shapes), max(s.bounds.high for s in shapes))
    for _ in range(sets):
        values = np.concatenate(
            [_at(t, rng.standard_normal(n)) for t, n in zip(tables, sizes, strict=True)]
        )
        one = macro_mean(values, organs, np.arange(len(values)), bounds)
        found.add(one.interval() if one else None, truth)
    return found


@dataclass(frozen=True)
class Compared:
    """The difference of two runs: its interval, and how often equal means were called unequal."""

    interval: Held
    wrong: float
    wrong_by_flips: float


def between_runs(
    first: Shape, second: Shape, common: float, sources: int, sets: int, seed: int = 0
) -> Compared:
    """Unequal means are made equal for the tests by the truth that the interval must hold."""
    rng, held, wrong, flipped = np.random.default_rng(seed), Held(), 0, 0
    one, other = first.quantiles(), second.quantiles()
    truth, codes = float(one.mean() - other.mean()), np.arange(sources)
    for _ in range(sets):
        hard = math.sqrt(common) * rng.standard_normal(sources)
        a, b = (
            _at(table, hard + math.sqrt(1 - common) * rng.standard_normal(sources))
            for table in (one, other)
        )
        x, y = mean(a, codes, first.bounds), mean(b, codes, second.bounds)
        assert x is not None
        assert y is not None
        found = Difference(x, y).interval()
        held.add(found, truth)
        by_flips = (sign_flip_test(a - b - truth, codes, resamples=999) or 0) <= 0.05
        flipped += by_flips
        wrong += by_flips and found is not None and not found.low <= truth <= found.high
    return Compared(held, 100 * wrong / sets, 100 * flipped / sets)


def of_shares(truth: float, sources: int, sets: int, seed: int = 0) -> Held:
    rng, found = np.random.default_rng(seed), Held()
    for _ in range(sets):
        right = rng.random(sources) < truth
        found.add(share(right, np.arange(sources), sources).interval(), truth)
    return found


def of_ranks(rho: float, sources: int, sets: int, seed: int = 0) -> Held:
    """Spearman's rho of two normal scores that have the correlation `rho`."""
    rng, found = np.random.default_rng(seed), Held()
    truth = 6 / math.pi * math.asin(rho / 2)
    for _ in range(sets):
        x, e = rng.standard_normal((2, sources))
        one = cluster_spearman(x, rho * x + math.sqrt(1 - rho**2) * e, np.arange(sources))
        found.add(one.interval if one else None, truth)
    return found


def other_intervals(values: Floats, rng: Rng) -> dict[str, Interval]:
    """What else could be given for a mean of single cases: the usual ones, from 999 resamples."""
    n, value = len(values), float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(n)
    drawn = values[rng.integers(n, size=(999, n))]
    means, errors = drawn.mean(axis=1), drawn.std(axis=1, ddof=1) / math.sqrt(n)
    t = students(LEVEL, n - 1)
    out = tail(LEVEL, n)
    found = {
        "Student's": (value - t * error, value + t * error),
        "percentile": np.quantile(means, (0.025, 0.975)),
        "expanded percentile": np.quantile(means, (out, 1 - out)),
    }
    if error > 0:
        # A resample of equal values has no spread: infinitely far off.
        off = (means - value) / np.maximum(errors, 1e-9)
        far = np.quantile(off, (0.975, 0.025))
        found["studentised"] = np.clip(value - far * error, 0, 1)
        spread = values - value
        lean = float((spread**3).sum() / (6 * (spread**2).sum() ** 1.5))
        below = float(np.mean(means < value) + np.mean(means == value) / 2)
        start = float(ndtri(min(max(below, 1e-3), 1 - 1e-3)))
        ends = [start + (start + z) / (1 - lean * (start + z)) for z in (ndtri(out), -ndtri(out))]
        found["BCa, expanded"] = np.quantile(means, ndtr(ends))
    return {name: Interval(float(low), float(high)) for name, (low, high) in found.items()}


def of_others(shape: Shape, sources: int, sets: int, seed: int = 0) -> dict[str, Held]:
    rng, table = np.random.default_rng(seed), shape.quantiles()
    found: dict[str, Held] = {}
    for _ in range(sets):
        made = other_intervals(_at(table, rng.standard_normal(sources)), rng)
        for name, one in made.items():
            found.setdefault(name, Held()).add(one, float(table.mean()))
    return found


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--sets", type=int, default=2000, help="sets of scores for each figure")
    given.add_argument("--others", action="store_true", help="what else could have been chosen")
    asked = given.parse_args()
    sets = asked.sets
    error = 100 * math.sqrt(0.95 * 0.05 / sets)
    print(f"{sets} sets for each figure: its standard error is {error:.1f} where it is 95.\n")
    for title, head, rows in other_tables(sets) if asked.others else tables(sets):
        print(f"**{title}**\n\n| {' | '.join(head)} |\n|---{'|---:' * (len(head) - 1)}|")
        for row in rows:
            print(f"| {' | '.join(map(str, row))} |", flush=True)
        print()


def tables(sets: int) -> Iterator[tuple[str, list[str], Iterable[list[object]]]]:
    numbers = [str(n) for n in SOURCES]
    for title, shapes in (
        ("Mean over cases, by source images", SHAPES),
        ("The same where nearly all scores have one value", DEGENERATE),
        ("The same where what matters is rare", HOPELESS),
        ("The same for scores with one end (PSNR, LPIPS) or none (rewards)", ENDLESS),
    ):
        rows: Iterable[list[object]] = (
            [shape.name, *(over_cases(shape, range(n), sets) for n in SOURCES)] for shape in shapes
        )
        yield title, ["scores", *numbers], rows
    repeated = {name: np.repeat(np.arange(len(size)), size) for name, size in SIZES.items()}
    for common in (ALIKE, VERY_ALIKE):
        rows = (
            [
                shape.name,
                *(over_cases(shape, one.tolist(), sets, share=common) for one in repeated.values()),
            ]
            for shape in SHAPES
        )
        title = f"Mean over cases, several cases to a source image, {common:.0%} in common"
        yield title, ["scores", *SIZES], rows
    mixed = [("mixed shapes", SHAPES), *((shape.name, (shape,)) for shape in SHAPES)]
    yield (
        "Mean over organs, by source images per organ",
        ["scores", *ORGANS],
        ([name, *(over_organs(some, n, sets) for n in ORGANS.values())] for name, some in mixed),
    )
    yield (
        "Difference of two runs on the same source images",
        ["first, second, in common", *numbers],
        (_pair_row(pair, sets, lambda one: one.interval) for pair in PAIRS),
    )
    yield (
        "Equal means called different, in percent (p as reported, in parentheses sign flips alone)",
        ["first, second, in common", *numbers],
        (
            _pair_row(pair, sets, lambda one: f"{one.wrong:.1f} ({one.wrong_by_flips:.1f})")
            for pair in PAIRS
        ),
    )
    yield (
        "Share of successes",
        ["true share", *numbers],
        ([f"{p:.0%}", *(of_shares(p, n, sets) for n in SOURCES)] for p in (0.05, 0.2, 0.5)),
    )
    yield (
        "Spearman's rank correlation",
        ["true correlation", *numbers],
        ([rho, *(of_ranks(rho, n, sets) for n in SOURCES)] for rho in (0.0, 0.3, 0.6, 0.9)),
    )


def other_tables(sets: int) -> Iterator[tuple[str, list[str], Iterable[list[object]]]]:
    some = (4, 5, 10, 20)
    for shape in ("symmetric", "near 1 (CP-like)", "80 % zeros"):
        found = [of_others(BY_NAME[shape], n, sets) for n in some]
        rows: Iterable[list[object]] = (
            [name, *(one.get(name, Held()) for one in found)] for name in found[-1]
        )
        yield f"Other intervals of the mean, {shape}", ["interval", *map(str, some)], rows


def _pair_row(
    pair: tuple[str, str, float], sets: int, shown: Callable[[Compared], object]
) -> list[object]:
    first, second, common = pair
    found = (between_runs(BY_NAME[first], BY_NAME[second], common, n, sets) for n in SOURCES)
    return [f"{first}, {second}, {common:g}", *map(shown, found)]


if __name__ == "__main__":
    main()
