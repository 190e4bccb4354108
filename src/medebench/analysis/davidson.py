"""Strengths from comparisons of two, with ties: Davidson's form of Bradley and Terry's model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medebench.analysis.clusters import Floats, Indices, chunks

#: The prior takes this much times the square of every log parameter off the log likelihood: a
#: normal distribution of standard deviation 7, where a difference of 7 is odds of 1000 to 1.
PENALTY = 0.01
_STEPS = 100
_HALVINGS = 30


def pairs_of(models: int) -> tuple[Indices, Indices]:
    """The columns of the tables of pairs below: (0, 1), (0, 2), ..., (1, 2), ..."""
    first, second = np.triu_indices(models, 1)
    return first, second


def fit(
    wins: Floats, losses: Floats, ties: Floats, models: int, *, penalty: float = PENALTY
) -> tuple[Floats, Floats]:
    """Log strengths (tables x models), of mean 0, and the tie parameter nu, of many tables.

    `wins[b, p]`, `losses[b, p]` and `ties[b, p]` say how often, in table b, the first model of
    pair p (see `pairs_of`) was put above, below and level with the second; fractions are fine.
    With strengths p_i = exp(s_i) (Davidson 1970),

        P(i above j) = p_i / (p_i + p_j + nu sqrt(p_i p_j)),
        P(i level j) = nu sqrt(p_i p_j) / (p_i + p_j + nu sqrt(p_i p_j)).

    The answer maximises log likelihood - penalty (sum_i s_i^2 + (log nu)^2), which has one maximum;
    Newton's method with halved steps finds it. The penalty keeps a model that was never beaten
    finite. A table without ties has nu = 0 exactly, and this is Bradley and Terry's model.

    >>> strengths, nu = fit(np.array([[3.0]]), np.array([[1.0]]), np.zeros((1, 1)), 2, penalty=1e-9)
    >>> round(float(np.exp(strengths[0, 0] - strengths[0, 1])), 6), nu.tolist()
    (3.0, [0.0])
    """
    strengths = np.zeros((len(wins), models))
    nu = np.zeros(len(wins))
    for part in chunks(len(wins), (models + 1) ** 2):
        strengths[part], nu[part] = _fit(wins[part], losses[part], ties[part], models, penalty)
    return strengths, nu


def _fit(
    wins: Floats, losses: Floats, ties: Floats, models: int, penalty: float
) -> tuple[Floats, Floats]:
    tied = ties.sum(axis=1) > 0
    decided = (wins + losses).sum(axis=1)
    # The last parameter is log nu; it starts where equal strengths would put it.
    found = np.zeros((len(wins), models + 1))
    found[tied, models] = np.log(2 * ties.sum(axis=1)[tied] / np.maximum(decided[tied], 0.5))
    busy = np.arange(len(wins))
    for _ in range(_STEPS):
        if not len(busy):
            break
        table = _Tables(wins[busy], losses[busy], ties[busy], models, penalty, tied[busy])
        here = found[busy]
        step = np.linalg.solve(*table.curve(here))[..., 0]
        value = table.value(here)
        # Rounding must not stop a step that no longer changes the likelihood.
        slack = 1e-12 * (1 + np.abs(value))
        size = np.ones((len(busy), 1))
        for _ in range(_HALVINGS):
            worse = table.value(here + size * step) < value - slack
            if not worse.any():
                break
            size[worse] /= 2
        found[busy] = here + size * step
        busy = busy[np.abs(size * step).max(axis=1) > 1e-10]
    strengths = found[:, :models]
    centred = strengths - strengths.mean(axis=1, keepdims=True)
    return centred, np.where(tied, np.exp(found[:, models]), 0.0)


class _Tables:
    """Penalised log likelihood of many tables, each at its own parameters."""

    def __init__(
        self,
        wins: Floats,
        losses: Floats,
        ties: Floats,
        models: int,
        penalty: float,
        tied: NDArray[np.bool_],
    ) -> None:
        self.first, self.second = pairs_of(models)
        self.models, self.penalty, self.tied = models, penalty, tied
        self.ties = ties
        #: A tie is half a win for either side.
        self.won, self.lost = wins + ties / 2, losses + ties / 2
        self.times = wins + losses + ties

    def value(self, at: Floats) -> Floats:
        a, b, level = self._exponents(at)
        top = np.maximum(np.maximum(a, b), level)
        total = top + np.log(np.exp(a - top) + np.exp(b - top) + np.exp(level - top))
        extra = self.ties.sum(axis=1) * at[:, self.models]
        likelihood = (self.won * a + self.lost * b - self.times * total).sum(axis=1) + extra
        return np.asarray(likelihood - self.penalty * (at * at).sum(axis=1))

    def curve(self, at: Floats) -> tuple[Floats, Floats]:
        """The negated second derivatives and, as columns, the first ones."""
        a, b, level = self._exponents(at)
        top = np.maximum(np.maximum(a, b), level)
        above, below, even = np.exp(a - top), np.exp(b - top), np.exp(level - top)
        total = above + below + even
        above, even = above / total, even / total
        share = above + even / 2
        first, second, last = self.first, self.second, self.models
        slope = -2 * self.penalty * at
        bend = np.zeros((len(at), last + 1, last + 1))
        # Moments of (won or half, tie) in one comparison, times the number of comparisons.
        spread = self.times * (above + even / 4 - share**2)
        mixed = self.times * even * (0.5 - share)
        surprise = self.won - self.times * share
        bend[:, first, second] = bend[:, second, first] = -spread
        for pair, (i, j) in enumerate(zip(first, second, strict=True)):
            slope[:, i] += surprise[:, pair]
            slope[:, j] -= surprise[:, pair]
            bend[:, i, i] += spread[:, pair]
            bend[:, j, j] += spread[:, pair]
            bend[:, i, last] += mixed[:, pair]
            bend[:, j, last] -= mixed[:, pair]
        bend[:, last, :last] = bend[:, :last, last]
        bend[:, last, last] = (self.times * even * (1 - even)).sum(axis=1)
        slope[:, last] += (self.ties - self.times * even).sum(axis=1)
        bend += 2 * self.penalty * np.eye(last + 1)
        # Without ties log nu stays where it is, at 0, and takes no part.
        slope[~self.tied, last] = 0.0
        return bend, slope[..., None]

    def _exponents(self, at: Floats) -> tuple[Floats, Floats, Floats]:
        a, b = at[:, self.first], at[:, self.second]
        log_nu = np.where(self.tied, at[:, self.models], -np.inf)
        return a, b, (a + b) / 2 + log_nu[:, None]
