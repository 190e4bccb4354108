"""How often a study finds the true order, and its intervals hold: `python tools/simulate_study.py`.

Every output has a hidden quality: an effect of its model, one of model and source picture, and one
of model and case. Annotators see it with noise of their own and cannot tell apart what is close,
which makes ties; metrics see it with noise of several strengths, two of them equally well. What is
true of such studies is taken from one that is very large; then many of the usual size are drawn,
analysed as `medebench study results` does, and their intervals held against the truth. To each
belong two further contests: 15 equally good metrics, whose leader looks better than it is, and 25
that see nothing, none of which should be said to follow people or to go against them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from medebench.analysis.agreement import agreement
from medebench.analysis.estimate import Estimate
from medebench.analysis.ordering import order_models
from medebench.analysis.ranked import Ranked, midranks
from medebench.analysis.worth import metric_worths
from medebench.study.results.thresholds_in_words import grade

Rows = NDArray[np.float64]

#: Noise of the metrics; people's lies near 0.6. The first two are equally good.
METRICS = {"sharp": 0.5, "twin": 0.5, "fair": 1.0, "poor": 2.5, "blind": np.inf}
#: How many metrics there are in the two further contests.
EQUAL, BLIND = 15, 25
COVERED = (
    "agreement rho", "alpha", "mean rank", "preferred", "strength difference", "metric rho",
    "metric tau", "behind", "one person", "person gap", "leader",
)  # fmt: skip


@dataclass(frozen=True)
class World:
    """Known qualities, and the people and metrics that look at them."""

    models: int
    annotators: int
    #: Steps between the models, from best to worst, where qualities vary by 1 from case to case.
    step: float = 0.35
    #: Share of that variance which the cases of one source picture have in common.
    shared: float = 0.5
    #: Share of the source pictures that two cases were made from.
    double: float = 0.3
    #: Differences that annotators cannot see.
    blur: float = 0.4

    def draw(
        self, sources: int, generator: np.random.Generator, noises: dict[str, float] = METRICS
    ) -> tuple[Ranked, dict[str, Rows]]:
        """A study of this many source pictures: people's ranks and the values of metrics."""
        of = np.repeat(np.arange(sources), 1 + (generator.random(sources) < self.double))
        shape = (len(of), self.models)
        effects = self.step * (np.arange(self.models)[::-1] - (self.models - 1) / 2)
        common = generator.normal(size=(sources, self.models))[of]
        quality = effects + np.sqrt(self.shared) * common
        quality += np.sqrt(1 - self.shared) * generator.normal(size=shape)
        # Some people look more closely than others.
        noise = np.linspace(0.4, 0.8, self.annotators)[:, None, None]
        seen = quality + noise * generator.normal(size=(self.annotators, *shape))
        ranks = midranks(-np.round(seen / self.blur))
        metrics = {
            name: generator.normal(size=shape)
            if np.isinf(sigma)
            else quality + sigma * generator.normal(size=shape)
            for name, sigma in noises.items()
        }
        ranked = Ranked(
            tuple(f"annotator {a}" for a in range(self.annotators)),
            tuple(f"{case:07}" for case in range(len(of))),
            tuple(f"model {m}" for m in range(self.models)),
            tuple(f"{source:07}" for source in of),
            ranks,
        )
        return ranked, metrics


Numbers = dict[tuple[str, ...], Estimate]


def analyse(
    ranked: Ranked, metrics: dict[str, Rows], resamples: int, flips: int = 999
) -> tuple[Numbers, list[str]]:
    """Everything a study tells, by name, and its order of the models."""
    found: Numbers = {}
    agreed = agreement(ranked)
    found["agreement rho",], found["alpha",] = agreed.spearman, agreed.alpha
    ordering = order_models(ranked, resamples=resamples, flips=1)
    for one in ordering.standings:
        found["mean rank", one.model] = one.mean_rank
        found["preferred", one.model] = one.preferred
    for (better, worse), (difference, _) in ordering.differences.items():
        found["strength difference", better, worse] = difference
    worths = metric_worths(ranked, metrics, resamples=resamples, flips=flips)
    found["one person",] = worths.ceiling
    leader = worths.metrics[0].metric
    for worth in worths.metrics:
        found["metric rho", worth.metric] = worth.rho
        found["metric tau", worth.metric] = worth.tau
        if worth.gap is not None:
            found["person gap", worth.metric] = worth.gap
        if worth.behind is not None:
            found["behind", leader, worth.metric] = worth.behind
        # Ruled out as the best one: the truth is that it is not.
        if worth.p is not None and worth.p <= 0.05:
            found["ruled out", worth.metric] = worth.rho
    return found, [one.model for one in ordering.standings]


@cache
def true_values(world: World, sources: int, seed: int) -> dict[tuple[str, ...], float]:
    """The same numbers of a study so large that chance plays no part."""
    found, _ = analyse(*world.draw(sources, np.random.default_rng(seed)), 1, flips=1)
    truth = {name: one.value for name, one in found.items() if one.value is not None}
    for name, value in list(truth.items()):
        if name[0] == "strength difference":
            truth[name[0], name[2], name[1]] = -value
    for first in METRICS:
        for second in METRICS:
            gap = truth["metric rho", first] - truth["metric rho", second]
            truth["behind", first, second] = 0.0 if METRICS[first] == METRICS[second] else gap
    return truth


@dataclass(frozen=True)
class Outcome:
    """Of many studies: shares of intervals that held the truth, and what was recovered."""

    held: dict[str, float]
    #: Share of the studies that put all models in their true order.
    order: float
    #: Share of the pairs of models in their true order.
    pairs: float
    #: Share of the studies that ruled out neither of the two best metrics.
    kept: float
    #: Share of the studies in which a metric that sees nothing was said to follow people, or to
    #: rank against them.
    fooled: float


def contests(
    world: World, sources: int, generator: np.random.Generator, resamples: int, truth: float
) -> tuple[bool | None, bool]:
    """Whether the leader of equals holds the truth, and whether one of the blind is said to see."""
    noises = {f"equal {k:02}": METRICS["sharp"] for k in range(EQUAL)}
    noises |= {f"blind {k:02}": np.inf for k in range(BLIND)}
    ranked, metrics = world.draw(sources, generator, noises)
    # rho knows people by their mean only; one who says just that is quicker to reckon with.
    mean = replace(ranked, annotators=("all",), ranks=midranks(ranked.ranks.mean(axis=0))[None])
    equal, blind = (
        metric_worths(
            mean,
            {name: values for name, values in metrics.items() if name.startswith(kind)},
            resamples=resamples // 2,  # `corrected` takes no more than the spread from them
            flips=1,
        ).metrics
        for kind in ("equal", "blind")
    )
    ends = equal[0].corrected
    held = None if ends is None else ends.low <= truth <= ends.high
    follows = any(grade(one) not in ("unknown", "does not follow") for one in blind)
    against = any(one.corrected is not None and one.corrected.high < 0 for one in blind)
    return held, follows or against


def simulate(
    world: World, sources: int, *, times: int, resamples: int, population: int, seed: int
) -> Outcome:
    truth = true_values(world, population, seed)
    held: dict[str, list[bool]] = defaultdict(list)
    orders, pairs, kept, fooled = [], [], [], []
    for repeat in range(times):
        generator = np.random.default_rng([seed, sources, repeat])
        found, order = analyse(*world.draw(sources, generator), resamples)
        for name, one in found.items():
            if name[0] in COVERED and one.interval is not None:
                held[name[0]].append(one.interval.low <= truth[name] <= one.interval.high)
        places = np.argsort([int(model.removeprefix("model ")) for model in order])
        above = np.triu(places[:, None] < places[None, :], 1).sum()
        pairs.append(above / (world.models * (world.models - 1) / 2))
        orders.append(pairs[-1] == 1)
        kept.append(not {("ruled out", "sharp"), ("ruled out", "twin")} & set(found))
        sharp = truth["metric rho", "sharp"]
        leads, seeing = contests(world, sources, generator, resamples, sharp)
        fooled.append(seeing)
        if leads is not None:
            held["leader"].append(leads)
    return Outcome(
        {name: float(np.mean(held[name])) for name in COVERED if held[name]},
        float(np.mean(orders)),
        float(np.mean(pairs)),
        float(np.mean(kept)),
        float(np.mean(fooled)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=int, nargs="+", default=[20, 52, 260])
    parser.add_argument("--annotators", type=int, nargs="+", default=[2, 5])
    parser.add_argument("--models", type=int, nargs="+", default=[4, 7])
    parser.add_argument("--times", type=int, default=200, help="studies for each row")
    parser.add_argument("--resamples", type=int, default=1000, help="of each interval")
    parser.add_argument("--population", type=int, default=40_000, help="sources of the true study")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    columns = ["sources", "annotators", "models", "order found", "pairs in order", "best kept"]
    columns.append("all blind")
    print("| " + " | ".join([*columns, *COVERED]) + " |")
    print("|" + " ---: |" * (len(columns) + len(COVERED)))
    start = time.monotonic()
    for models in given.models:
        for annotators in given.annotators:
            for sources in given.sources:
                found = simulate(
                    World(models, annotators),
                    sources,
                    times=given.times,
                    resamples=given.resamples,
                    population=given.population,
                    seed=given.seed,
                )
                shares = [found.order, found.pairs, found.kept, found.fooled]
                cells = [f"{share:.0%}" for share in shares]
                cells += [f"{found.held[k]:.1%}" if k in found.held else "-" for k in COVERED]
                row = [str(sources), str(annotators), str(models), *cells]
                print("| " + " | ".join(row) + " |", flush=True)
    print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
