"""How often the 95 % intervals of FID and KID hold: `python tools/set_intervals.py`.

Vectors are drawn from a known population: source images with one to three cases each, the output
of a case made from the case's reference by a shift and noise. KID should hold the distance of the
population, FID the mean of FID over samples of the same size, which is all it is an estimate of.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.metrics.realism.fid import fid_with_error
from medebench.metrics.realism.kid import kid
from medebench.metrics.realism.paired_sets import interval, pair

Rows = NDArray[np.float64]


@dataclass(frozen=True)
class Population:
    """Non-negative vectors of a few hidden causes, as networks have them."""

    shift: float
    noise: float
    length: int = 128
    causes: int = 10

    def draw(self, sources: int, generator: np.random.Generator, most: int = 3) -> tuple[Any, ...]:
        """Outputs, references and their groups; a source image has up to `most` cases."""
        groups = np.repeat(np.arange(sources), generator.integers(1, most + 1, sources))
        hidden = generator.normal(size=(sources, self.causes))[groups]
        hidden = hidden + 0.5 * generator.normal(size=hidden.shape)
        made = hidden + self.noise * generator.normal(size=hidden.shape)
        made[:, 0] += self.shift
        return self._see(made), self._see(hidden), groups

    def _see(self, hidden: Rows) -> Rows:
        mixing = np.random.default_rng(0).normal(size=(self.causes, self.length))
        mixing *= np.linspace(1.5, 0.2, self.causes)[:, None]
        # The mean and the spread of Inception's vectors.
        return np.maximum(0.0, 0.1 * hidden @ mixing + 0.35)


def simulate(population: Population, sources: int, times: int, seed: int) -> dict[str, float]:
    """The share of intervals that hold their target, and standard errors over the true ones."""
    generator = np.random.default_rng(seed)
    kids, fids = [], []
    for _ in range(times):
        outputs, references, groups = population.draw(sources, generator)
        kids.append(kid(outputs, references, groups, groups))
        fids.append(fid_with_error(pair(outputs, references, groups, groups)))
    large = [population.draw(3000, generator, most=1) for _ in range(25)]
    target = np.mean([kid(made, wanted, own, own).value for made, wanted, own in large])
    values = np.array([one.value for one in kids])
    distances, errors = np.array(fids).T
    held = [one.interval[0] <= target <= one.interval[1] for one in kids if one.interval]
    ranges = [interval(value, error, sources) for value, error in fids]
    return {
        "kid": float(np.mean(held)),
        "kid_error": float(np.mean([one.se for one in kids]) / values.std(ddof=1)),
        "kid_bias": float((values.mean() - target) / values.std(ddof=1)),
        "fid": float(np.mean([low <= distances.mean() <= high for low, high in ranges])),
        "fid_error": float(errors.mean() / distances.std(ddof=1)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=400)
    given = parser.parse_args()
    print("sources  shift noise | KID held  se/true  bias/se | FID held  se/true")
    for sources in (10, 30, 100):
        for shift, noise in ((1.0, 0.5), (0.3, 0.5), (0.0, 0.5), (0.0, 0.0001)):
            found = simulate(Population(shift, noise), sources, given.times, seed=sources)
            print(
                f"{sources:7}  {shift:5} {noise:5} | {found['kid']:8.1%} {found['kid_error']:8.2f} "
                f"{found['kid_bias']:8.2f} | {found['fid']:8.1%} {found['fid_error']:8.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
