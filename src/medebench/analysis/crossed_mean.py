"""Mean of scores of cases crossed with draws of training pairs, with seeds within draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from medebench.analysis.clusters import Floats
from medebench.analysis.crossed_design import CrossedDesign
from medebench.analysis.interval import UNBOUNDED, Bounds
from medebench.analysis.macro import LONE
from medebench.analysis.means import LEAST_EFFECTIVE, Mean, raised, scale_ends

#: With fewer draws nothing is known of how draws differ.
LEAST_DRAWS = 2
ONE_DRAW = "no interval: a single draw of training pairs"
#: A draw that takes more of the pool than this tells too little of pairs outside of the pool.
MOST_OVERLAP = 0.5
#: How much of the spread between seeds is taken off that between draws: see `crossed_mean`.
SEEDS_SHARE = 0.5
#: Draws that differ no more than this, in units of what cases by draws explain, are taken to be
#: alike; three draws must be a little more so than many.
ALIKE, ALIKE_FEW = 1.25, 1.0
#: Values differ by rounding only.
_SAME = 1e-12


@dataclass(frozen=True)
class Crossed:
    """Means and their variances, an entry for each column of values."""

    value: Floats
    variance: Floats
    freedom: Floats


def crossed_mean(
    values: ArrayLike,
    *,
    sources: ArrayLike,
    draws: ArrayLike,
    seeds: ArrayLike,
    cases: ArrayLike | None = None,
    folds: ArrayLike | None = None,
    tasks: ArrayLike | None = None,
    overlap: ArrayLike = 0.0,
    bounds: Bounds = UNBOUNDED,
) -> Mean | None:
    """Mean of the finite `values`, each of one case after one training; None without any.

    A value is taken as

        value = mean + case + draw + seed (within draw) + case by draw + rest,

    all but the first of them random. With C cases, D draws and S seeds, none missing, and the mean
    squares of the analysis of variance, the variance of the mean of all is

        v = (MS_case + MS_draw - MS_case:draw) / (C D S),

    whatever the five variances are, and never taken below MS_case or MS_draw alone. Where values
    are missing or cases share a source image, each term is the sum of squares of what each
    source, draw, or cell adds to the error of the mean, made up for being few as in `mean`. Folds
    and tasks have draws of their own, whose parts add up; sources used for several of them stay
    whole (`macro_mean`). A draw below 0 means that nothing was drawn.

    Draws from one pool overlap: they differ less from one another than from draws of other pairs.
    `overlap` is the share q of its pool that a draw takes. Two draws then have at most the share q
    of the variance between draws of unlimited supply in common, so q / (1 - q) times the variance
    between draws is added to v, and the interval is about *other pairs of the kind*. With q above
    `MOST_OVERLAP` nothing is added, and it is about *other draws from this pool*. The variance
    between draws is MS_draw - MS_case:draw less one half of what seeds explain of it: all of it
    leaves too little too often, none of it makes seeds count as draws.

    Degrees of freedom lie half-way between Satterthwaite's, which are too many where the few draws
    happen to agree, and those of the draws (D - 1 of them for each fold and task), where they are
    fewer. Where MS_draw is no larger than MS_case:draw, draws are taken to be alike: v and the
    degrees of freedom are those of MS_case alone, else a test would find next to nothing where
    there is only noise. That asks for three draws; with two, the degrees of freedom are one.
    `tools/simulate_tuning.py` shows what that gives.

    >>> case, draw = np.meshgrid(np.arange(6), np.arange(3))
    >>> found = crossed_mean((case * 3 % 7 + draw).ravel(), sources=case.ravel(),
    ...                      draws=draw.ravel(), seeds=np.zeros(18))
    >>> [round(end, 2) for end in found.interval()]
    [0.71, 6.96]
    """
    data = np.asarray(values, dtype=np.float64).ravel()
    keep = np.isfinite(data)
    if not keep.any():
        return None
    given = {"sources": sources, "draws": draws, "seeds": seeds}
    given |= {"cases": sources if cases is None else cases, "overlap": overlap}
    given |= {"folds": 0 if folds is None else folds, "tasks": 0 if tasks is None else tasks}
    labels = {name: np.broadcast_to(np.asarray(each), data.shape) for name, each in given.items()}
    # Sums must not depend on the order of the rows, down to the last bit.
    order = np.lexsort([data, *(labels[name] for name in sorted(labels))])
    order = order[keep[order]]
    design = CrossedDesign(**{name: each[order] for name, each in labels.items()})
    return mean_of(design, data[order], bounds)


def mean_of(design: CrossedDesign, data: Floats, bounds: Bounds = UNBOUNDED) -> Mean:
    """`crossed_mean` of finite values of a design."""
    column = data[:, None]
    influence = design.influence(column)[:, 0]
    shares = design.source_weights
    effective = max(1 / float((shares**2).sum()), LEAST_EFFECTIVE)
    lone = len(design.groups) > 1 and design.fewest_sources < 2
    few = design.drawn and design.fewest_draws < LEAST_DRAWS
    found = Crossed(design.mean(column), np.zeros(1), np.array([effective - 1]))
    if len(shares) > 1 and not lone and np.ptp(data) > _SAME * max(1.0, float(np.abs(data).max())):
        found = crossed(design, column, bounds)
    levels = (influence / shares).round(12)
    return Mean(
        float(found.value[0]),
        float(found.variance[0]),
        float(found.freedom[0]),
        effective,
        scale_ends(data, bounds),
        influence,
        len(shares),
        len(shares) - int(np.unique(levels, return_counts=True)[1].max()),
        len(data),
        lacking=LONE if lone else ONE_DRAW if few else "",
    )


def crossed(design: CrossedDesign, values: Floats, bounds: Bounds = UNBOUNDED) -> Crossed:
    """Means of many columns of values of the same design at once."""
    value = design.mean(values)
    cases = design.case_parts(design.influence(values))
    own = np.asarray(sum(part.variance for part in cases))
    more = _skew(own, value, values, design, bounds)
    squares = np.zeros_like(own)
    for part in cases:
        squares = squares + (more * part.variance) ** 2 / part.freedom
    own = more * own
    alone = _ratio(own**2, squares)
    if not design.drawn or design.fewest_draws < LEAST_DRAWS:
        return Crossed(value, own, alone)
    between, crossing, pooled = (np.zeros_like(own) for _ in range(3))
    plans = np.zeros(2)
    for task in range(len(design.overlap)):
        groups = [group for group in design.groups if group.task == task]
        draws = [design.draw_part(group, values) for group in groups]
        cells = [design.crossed_part(group, values) for group in groups]
        scale = [group.n_draws / group.weight**2 for group in groups]
        freedom = np.array([part.freedom for part in draws])
        share = freedom / freedom.sum()
        odds, excess = _odds(float(design.overlap[task])), np.zeros_like(own)
        seeds = [design.seed_part(group, values) for group in groups] if odds else []
        for at, seed in enumerate(seeds):
            rest = design.rest_part(groups[at], values).variance if seed.freedom else 0.0
            apart = draws[at].variance - cells[at].variance
            apart = apart - SEEDS_SHARE * (seed.variance - rest)
            excess = excess + share[at] * scale[at] * apart
        whole = sum(group.weight for group in groups) ** 2
        pooled = pooled + odds * whole * np.maximum(excess, 0)
        for at, group in enumerate(groups):
            times = odds * whole * scale[at] * share[at] * (excess > 0)
            between, crossing = between + draws[at].variance, crossing + cells[at].variance
            squares = squares + ((1 + times) * draws[at].variance) ** 2 / freedom[at]
            if cells[at].freedom:
                squares = squares + ((1 + times) * cells[at].variance) ** 2 / cells[at].freedom
            if seeds and seeds[at].freedom:
                taken = SEEDS_SHARE * times * seeds[at].variance
                squares = squares + taken**2 / seeds[at].freedom
            plan = group.weight**2 / group.n_draws
            plans += plan, plan**2 / freedom[at]
    variance = np.maximum(own + between - crossing, np.maximum(own, between)) + pooled
    seen = _ratio(variance**2, squares)
    planned = float(plans[0] ** 2 / plans[1])
    freedom = (seen + np.minimum(seen, planned)) / 2
    if planned < 2:  # two draws: that they agree says nothing
        return Crossed(value, variance, np.maximum(np.minimum(seen, planned), 1.0))
    apart = between > crossing * (ALIKE_FEW if planned < 3 else ALIKE)
    return Crossed(value, np.where(apart, variance, own), np.where(apart, freedom, alone))


def _odds(overlap: float) -> float:
    return overlap / (1 - overlap) if overlap <= MOST_OVERLAP else 0.0


def _ratio(above: Floats, below: Floats) -> Floats:
    """Degrees of freedom, never fewer than one; many where there is no variance at all."""
    found = np.divide(above, below, out=np.ones_like(above), where=below > 0)
    return np.asarray(np.maximum(found, 1.0))


def _skew(
    own: Floats, value: Floats, values: Floats, design: CrossedDesign, bounds: Bounds
) -> Floats:
    """How many times larger the variance over cases is taken for the skew of scores."""
    effective = max(1 / float((design.source_weights**2).sum()), LEAST_EFFECTIVE)
    if not (np.isfinite(bounds.low) or np.isfinite(bounds.high)):
        return np.full_like(own, 1 + 1 / effective)
    found = np.ones_like(own)
    for at in np.flatnonzero(own > 0):
        ends = scale_ends(values[:, at], bounds)
        found[at] = raised(float(own[at]), float(value[at]), effective, ends) / own[at]
    return found
