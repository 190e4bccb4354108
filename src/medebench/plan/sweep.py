"""Sweeps: several settings of one system, the best chosen on cases that are not reported."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from medebench.analysis import Bounds, mean
from medebench.analysis.interval import UNIT
from medebench.errors import InputError, MedebenchError
from medebench.judge import Judge, ModelJudge
from medebench.metrics import AnyMetric, SetMetric
from medebench.runs.run_folder import Run, Tried, Tuned
from medebench.systems import SystemInstance, find_system

#: More than this is a mistake in the plan rather than a wish.
MOST = 100
#: A setting takes part if it has so many scores, as a share of the best covered one's.
COVERAGE = 0.9


def find_sweep(
    call: str, given: dict[str, Any], lists: dict[str, list[Any]]
) -> tuple[list[SystemInstance], list[dict[str, Any]]]:
    """The system with every combination of the lists, the last one changing fastest."""
    products = itertools.product(*lists.values())
    combinations = [dict(zip(lists, values, strict=True)) for values in products]
    if len(combinations) > MOST:
        raise InputError(f"sweep: {len(combinations)} combinations; at most {MOST} are tried")
    if twice := sorted(set(lists) & set(given)):
        raise InputError(f"sweep: '{twice[0]}' is in settings too; name it once")
    chosen = [find_system(call, given | one) for one in combinations]
    for number, one in enumerate(chosen):
        for name in lists:
            if name in one.runtime_only:
                raise InputError(f"sweep: '{name}' does not change the outputs")
        if any(one.settings == other.settings for other in chosen[:number]):
            raise InputError("sweep: two combinations are the same; name each value once")
    # As the system writes them down, which leaves passwords in addresses out.
    return chosen, [{name: one.settings[name] for name in lists} for one in chosen]


class Aim(NamedTuple):
    """What settings are chosen by: whether more of the score is better, and its ends."""

    higher: bool = True
    bounds: Bounds = UNIT


def find_aim(name: str, metrics: list[AnyMetric], judge: Judge | ModelJudge | None) -> Aim:
    """A score that the plan computes; any other is refused."""
    if judge is not None and name in judge.scores:
        return Aim()
    for metric in (one.info for one in metrics if not isinstance(one, SetMetric)):
        if metric.name == name:
            if metric.better == "neither":
                raise InputError(f"choose.metric: '{name}' is neither better high nor low")
            return Aim(metric.better == "higher", Bounds(metric.low, metric.high))
    if any(one.name == name for one in metrics):
        raise InputError(f"choose.metric: '{name}' is of whole sets and has no value for a case")
    known = [
        one.name
        for one in metrics
        if one.info.better != "neither" and not isinstance(one, SetMetric)
    ]
    known += judge.scores if judge is not None else ()
    raise InputError(f"choose.metric: '{name}' is not computed; there are: {', '.join(known)}")


def choose(run: Run, metric: str, aim: Aim, combinations: list[dict[str, Any]]) -> Tuned:
    """The setting k of a scored sweep with the best mean.

    A setting that fails often must not win by the cases it gets through: those with far fewer
    scores than the best covered one are out, and the others are compared on the same cases.
    """
    values: dict[int, dict[str, float]] = {k: {} for k in range(len(combinations))}
    sources: dict[str, str] = {}
    for row in run.frame().filter(metric=metric).iter_rows(named=True):
        sources[row["case"]] = row["source"]
        if row["value"] is not None:
            values[row["k"]][row["case"]] = row["value"]
    most = max(len(one) for one in values.values())
    competing = [k for k, one in values.items() if most and len(one) >= COVERAGE * most]
    common = sorted(set.intersection(*(set(values[k]) for k in competing))) if competing else []
    if not common:
        raise MedebenchError(
            f"{run.path}: no case has a {metric} under every setting that works; look at the "
            f"reasons with `medebench export {run.path}`"
        )
    tried = []
    for k, settings in enumerate(combinations):
        one = Tried(settings=settings, scored=len(values[k]), asked=len(sources))
        if k in competing:
            own = [values[k][case] for case in common]
            found = mean(own, [sources[case] for case in common], aim.bounds)
            assert found is not None
            known = {"mean": found.value, "interval": found.interval(), "why": found.reason}
            one = one.model_copy(update=known)
        tried.append(one)
    sign = 1 if aim.higher else -1
    best = max(competing, key=lambda k: (sign * (tried[k].mean or 0.0), -k))
    return Tuned(
        metric=metric,
        higher_is_better=aim.higher,
        sweep=run.name,
        tried=tried,
        cases=len(common),
        best=best,
    )
