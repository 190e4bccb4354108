"""Which value belongs to which case, draw and seed, and what each of them adds to the variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from medebench.analysis.clusters import Floats, Indices, sum_by
from medebench.analysis.macro import strata_of

#: Passes over rows and columns of a table with gaps, and when they have come to rest.
_PASSES, _REST = 200, 1e-12


@dataclass(frozen=True)
class Part:
    """A share of the variance of a mean, as estimated, and with how many degrees of freedom.

    `variance` has an entry for each column of values.
    """

    variance: Floats
    freedom: float


@dataclass(frozen=True)
class Group:
    """Rows tested on the same draws: a task, or one fold of it."""

    task: int
    rows: Indices
    #: Numbers 0, 1, ... of the rows' sources, draws, and seeds within all draws.
    sources: Indices
    draws: Indices
    seeds: Indices
    weights: Floats

    @property
    def weight(self) -> float:
        return float(self.weights.sum())

    @cached_property
    def n_draws(self) -> int:
        return len(np.unique(self.draws))


class CrossedDesign:
    """Cases crossed with draws, seeds nested in draws; folds and tasks have draws of their own.

    Rows of one source image belong together, whatever their case. A draw below 0 says that there
    is none, as for a model that was not trained. The mean gives equal weight to the tasks, to the
    cases of a task, to the draws that a case was tested with, and to the seeds of those; with
    nothing missing that is the plain mean within a task.

    `overlap` is the share of the pool that each draw takes: see `crossed_mean`.
    """

    def __init__(
        self,
        *,
        tasks: ArrayLike,
        folds: ArrayLike,
        sources: ArrayLike,
        cases: ArrayLike,
        draws: ArrayLike,
        seeds: ArrayLike,
        overlap: ArrayLike = 0.0,
    ) -> None:
        task, case, source = _codes(tasks), _codes(cases), _codes(sources)
        fold, draw = _codes(task, folds), np.asarray(draws)
        own_draw = _codes(fold, draw)
        own_seed = _codes(own_draw, seeds)
        self.rows = len(task)
        self.drawn = bool((draw >= 0).any())
        self.sources = source
        self.weights = _weights([task, _codes(task, case), fold, own_draw, own_seed])
        share = np.broadcast_to(np.asarray(overlap, dtype=np.float64), task.shape)
        self.overlap = sum_by(task, share) / np.bincount(task)
        self.groups = [self._group(rows, task, own_draw, own_seed) for rows in _rows_of(fold)]
        self._fold = fold

    def _group(self, rows: Indices, task: Indices, draw: Indices, seed: Indices) -> Group:
        source, draw, seed = (_codes(codes[rows]) for codes in (self.sources, draw, seed))
        return Group(int(task[rows[0]]), rows, source, draw, seed, self.weights[rows])

    @cached_property
    def source_weights(self) -> Floats:
        return sum_by(self.sources, self.weights)

    @cached_property
    def fewest_sources(self) -> int:
        """In any group."""
        return min(len(np.unique(group.sources)) for group in self.groups)

    @cached_property
    def fewest_draws(self) -> int:
        return min(group.n_draws for group in self.groups)

    def mean(self, values: Floats) -> Floats:
        least = values.min(axis=0)  # makes the mean of a constant exactly that constant
        found: Floats = self.weights @ (values - least) + least
        return found

    def influence(self, values: Floats) -> Floats:
        """What each source adds to the error of the mean."""
        off = np.empty_like(values)
        for group in self.groups:
            inside = values[group.rows]
            off[group.rows] = inside - (group.weights @ inside) / group.weight
        return _sums(self.sources, off * self.weights[:, None])

    def case_parts(self, influence: Floats) -> list[Part]:
        """One for each set of groups that sources were tested in, as `macro_mean` has them."""
        pairs = np.unique(np.column_stack([self.sources, self._fold]), axis=0)
        return [
            Part(_between(influence[some], self.source_weights[some]), len(some) - 1.0)
            for some in (np.array(members) for members in strata_of(pairs))
        ]

    def draw_part(self, group: Group, values: Floats) -> Part:
        """Between draws: their own variance, and what seeds, cases by draws and rest add to it."""
        inside = values[group.rows] * group.weights[:, None]
        sums, shares = _sums(group.draws, inside), sum_by(group.draws, group.weights)
        return Part(_between(sums, shares), group.n_draws - 1.0)

    def crossed_part(self, group: Group, values: Floats) -> Part:
        """Cases by draws, and the rest."""
        return _interaction(values[group.rows], group.weights, group.sources, group.draws)

    def seed_part(self, group: Group, values: Floats) -> Part:
        """Between seeds of the same draw, and the rest."""
        parts = []
        for inside in _rows_of(group.draws):
            codes = np.unique(group.seeds[inside], return_inverse=True)[1]
            weights = group.weights[inside]
            if codes.max() > 0:
                data = values[group.rows[inside]] * weights[:, None]
                shares = sum_by(codes, weights)
                parts.append(Part(_between(_sums(codes, data), shares), float(codes.max())))
        return _added(parts, values.shape[1])

    def rest_part(self, group: Group, values: Floats) -> Part:
        """Cases by seeds within draws: what is left."""
        parts = []
        for inside in _rows_of(group.draws):
            seeds, sources = group.seeds[inside], group.sources[inside]
            data = values[group.rows[inside]]
            parts.append(_interaction(data, group.weights[inside], sources, seeds))
        return _added(parts, values.shape[1])


def _codes(*labels: ArrayLike) -> Indices:
    """Numbers 0, 1, ... of combinations of labels, in their order."""
    codes = np.unique(np.asarray(labels[0]), return_inverse=True)[1]
    for label in labels[1:]:
        more = np.unique(np.asarray(label), return_inverse=True)[1]
        codes = codes * (int(more.max(initial=0)) + 1) + more
    return np.unique(codes, return_inverse=True)[1].astype(np.intp)


def _rows_of(codes: Indices) -> list[Indices]:
    return [np.flatnonzero(codes == code) for code in range(int(codes.max(initial=-1)) + 1)]


def _weights(levels: Sequence[Indices]) -> Floats:
    """Each level shares the weight of the one above equally among its own that are there."""
    weights, above = np.ones(len(levels[0])), np.zeros(len(levels[0]), dtype=np.intp)
    for level in levels:
        below = _codes(above, level)
        count = np.bincount(np.unique(np.column_stack([above, below]), axis=0)[:, 0])
        weights /= count[above]
        above = below
    weights /= np.bincount(above)[above]
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _sums(codes: Indices, data: Floats) -> Floats:
    """Sums of the rows of each code."""
    if data.shape[1] == 1:
        return sum_by(codes, data[:, 0])[:, None]
    there: NDArray[np.float64] = (np.arange(codes.max() + 1)[:, None] == codes).astype(np.float64)
    return np.asarray(there @ data)


def _between(sums: Floats, shares: Floats) -> Floats:
    """Variance of a total from the weighted sums of its clusters: as in `means.mean`."""
    part = (shares / shares.sum())[:, None]
    own = sums - part * sums.sum(axis=0)
    if len(shares) < 2:
        return np.zeros(sums.shape[1])
    return np.asarray((own**2 / (1 - part)).sum(axis=0))


def _interaction(values: Floats, weights: Floats, rows: Indices, columns: Indices) -> Part:
    """What a table of cells adds to the variance of its mean beyond its rows and columns.

    Every cell is taken as the mean of what is in it; rows and columns are fitted by least squares,
    in one pass where no cell is empty.
    """
    cells = _codes(rows, columns)
    weight = sum_by(cells, weights)
    first = np.unique(cells, return_index=True)[1]
    row, column = (_codes(codes[first]) for codes in (rows, columns))
    freedom = len(weight) - row.max() - column.max() - 1.0
    if freedom < 1:
        return Part(np.zeros(values.shape[1]), 0.0)
    rest = _sums(cells, values * weights[:, None]) / weight[:, None]
    size = float(np.abs(rest).max()) or 1.0
    per_row, per_column = (sum_by(codes, weight)[:, None] for codes in (row, column))
    for _ in range(_PASSES):
        own = _sums(row, rest * weight[:, None]) / per_row
        rest = rest - own[row]
        other = _sums(column, rest * weight[:, None]) / per_column
        rest = rest - other[column]
        left = _sums(row, rest * weight[:, None]) / per_row
        if float(np.abs(left).max()) <= _REST * size:
            break
    squares = ((weight[:, None] * rest) ** 2).sum(axis=0)
    return Part(np.asarray(squares * len(weight) / freedom), freedom)


def _added(parts: Sequence[Part], columns: int) -> Part:
    there = [part for part in parts if part.freedom > 0]
    variance = sum((part.variance for part in there), np.zeros(columns))
    return Part(variance, sum(part.freedom for part in there))
