"""Is a mean difference more than chance, and how large must it be to be found? Student's t."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from medebench.analysis.interval import LEVEL, students

if TYPE_CHECKING:
    from medebench.analysis.means import Mean

#: How often a difference should be found that is called detectable.
POWER = 0.8


def p_value(found: Mean) -> float | None:
    """Two-sided p of a mean being 0, of the same t as its interval; None where that has none.

    >>> from medebench.analysis import mean
    >>> round(p_value(mean([0.1, 0.3, 0.2, 0.4, 0.5], list("abcde"))), 4)
    0.0178
    """
    from scipy.special import stdtr

    if found.reason or found.same:
        return None
    return float(2 * stdtr(found.freedom, -abs(found.value) / math.sqrt(found.variance)))


def power(effect: float, error: float, freedom: float, level: float = LEVEL) -> float:
    """How often an effect is found whose estimate has this standard error (noncentral t).

    >>> round(power(0.0, 1.0, 10), 3), round(power(2.0, 1.0, 10), 2)
    (0.05, 0.44)
    """
    from scipy.special import nctdtr

    # That it is found on the wrong side adds next to nothing, except where there is no effect.
    t, shift = students(level, freedom), abs(effect) / error
    return 1 - level if shift == 0 else float(1 - nctdtr(freedom, shift, t))


def detectable(found: Mean, level: float = LEVEL, often: float = POWER) -> float | None:
    """The smallest true mean that is found this often by a test at 1 - `level`, uncorrected.

    >>> from medebench.analysis import mean
    >>> round(detectable(mean([0.1, 0.3, 0.2, 0.4, 0.5], list("abcde"))), 2)
    0.32
    """
    if found.reason or found.same:
        return None
    return smallest(math.sqrt(found.variance), found.freedom, level, often)


def smallest(error: float, freedom: float, level: float = LEVEL, often: float = POWER) -> float:
    """`detectable` from a standard error and its degrees of freedom.

    A standard error of few degrees of freedom is more often too small than too large. It is taken
    as large as makes both equally frequent: divided by the root of the median of chi²(f) / f.
    """
    from scipy.special import chdtri, nctdtrinc

    t, middle = students(level, freedom), float(chdtri(freedom, 0.5)) / freedom
    found = nctdtrinc(freedom, 1 - often, t)
    return error / math.sqrt(middle) * float(found)
