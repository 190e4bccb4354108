"""BRISQUE (Mittal, Moorthy, Bovik 2012): a quality score from 36 statistics.

Features x of the picture and of its half are brought to -1 ... 1 by the range each had in training;
a support vector regression with centres c and weights w then gives

    brisque = Σ w exp(-γ |x - c|²) - ρ
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.errors import InputError, one_line
from medebench.images.picture import Picture
from medebench.metrics.metric import Undefined
from medebench.metrics.quality.natural_statistics import Plane, fit, grey, mscn, neighbours
from medebench.weights import Found, need_weights

#: The ranges of the features, as the package `brisque` and as medebench names the file.
RANGES = ("normalize.pickle", "brisque-ranges.pickle")
#: Below this the half has too few pixels for eighteen statistics.
LEAST = 32
_COUNT = 36


@dataclass(frozen=True)
class BrisqueParameters:
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    gamma: float
    rho: float
    weights: NDArray[np.float64]
    centres: NDArray[np.float64]


def read_brisque(model: Path, ranges: Path) -> BrisqueParameters:
    """`svm.txt` and `normalize.pickle` of the package `brisque`, under any names."""
    low, high = _read_ranges(ranges)
    head, weights, centres = _read_model(model)
    return BrisqueParameters(low, high, head["gamma"], head["rho"], weights, centres)


def find_brisque(which: str | None = None) -> tuple[Found, Path]:
    """The regression and the ranges; a user's own files must be in the same folder."""
    model = need_weights(which or "brisque")
    if which is not None and model.origin == "given path":
        beside = [model.path.with_name(one) for one in RANGES]
        if model.path.name == "brisque.txt":
            beside.reverse()
        return model, next((one for one in beside if one.is_file()), beside[0])
    return model, need_weights("brisque-ranges").path


def brisque(
    picture: Picture, data_range: int = 255, parameters: BrisqueParameters | None = None
) -> float:
    """The score; Undefined where the picture is too small or has no variation.

    Without `parameters` the weights called "brisque" and "brisque-ranges" are read, every time.
    """
    if parameters is None:
        model, ranges = find_brisque()
        parameters = read_brisque(model.path, ranges)
    p = parameters
    scaled = -1 + 2 * (features(grey(picture, data_range)) - p.low) / (p.high - p.low)
    distances = ((p.centres - scaled) ** 2).sum(axis=1)
    return float(p.weights @ np.exp(-p.gamma * distances) - p.rho)


def features(plane: Plane) -> NDArray[np.float64]:
    """18 statistics of the picture, and 18 of the picture at half its size."""
    import cv2

    height, width = plane.shape
    if min(height, width) < LEAST:
        raise Undefined(f"{width} x {height} pixels are too few; BRISQUE needs {LEAST} x {LEAST}")
    if plane.min() == plane.max():
        # Its rim would else stand out against the black that is assumed around it.
        raise Undefined("the picture is flat: its pixels do not vary")
    # Not smoothed before it is halved: so the regression was trained.
    half = cv2.resize(plane, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_CUBIC)
    return np.array(_statistics(plane) + _statistics(np.asarray(half, np.float64)))


def _statistics(plane: Plane) -> list[float]:
    coefficients = mscn(plane, repeat=False)
    fits = [fit(one) for one in (coefficients, *neighbours(coefficients, around=False))]
    values: list[float] = []
    for one in fits:
        if one is None:
            raise Undefined("the picture is flat: its pixels do not vary")
        if not values:
            values = [one.shape, (one.left**2 + one.right**2) / 2]
        else:
            values += [one.shape, one.mean, one.left**2, one.right**2]
    return values


class _PlainUnpickler(pickle.Unpickler):
    """Lists, numbers and words; never a class or a function."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"holds {module}.{name}, not only numbers")


def _read_ranges(path: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    try:
        with path.open("rb") as file:
            read = _PlainUnpickler(file).load()
        low, high = (np.asarray(read[name], np.float64) for name in ("min_", "max_"))
    except FileNotFoundError:
        raise InputError(
            f"{path}: no such file; it lies beside the model in the package brisque, and is called "
            f"{' or '.join(RANGES)}"
        ) from None
    except Exception as error:
        raise _unfit(path, error) from error
    if low.shape != (_COUNT,) or high.shape != (_COUNT,) or not np.all(high > low):
        raise _unfit(path, f"not {_COUNT} ranges")
    return low, high


def _read_model(
    path: Path,
) -> tuple[dict[str, float], NDArray[np.float64], NDArray[np.float64]]:
    """A model of libsvm: lines "name value", the line "SV", then "weight 1:x 2:x …" a centre."""
    try:
        top, _, rest = path.read_text("utf-8").partition("\nSV\n")
        named = dict(line.split(" ", 1) for line in top.splitlines())
        if (named["svm_type"], named["kernel_type"]) != ("epsilon_svr", "rbf"):
            raise ValueError(f"{named['svm_type']} with {named['kernel_type']}")
        head = {name: float(named[name]) for name in ("gamma", "rho")}
        rows = [line.split() for line in rest.splitlines() if line.strip()]
        if not rows or len(rows) != int(named["total_sv"]):
            raise ValueError(f"{len(rows)} of {named['total_sv']} lines are there")
        weights = np.array([float(row[0]) for row in rows])
        centres = np.zeros((len(rows), _COUNT))
        for number, row in enumerate(rows):
            for item in row[1:]:
                index, _, value = item.partition(":")
                if not 1 <= int(index) <= _COUNT:
                    raise ValueError(f"a feature {index}")
                centres[number, int(index) - 1] = float(value)
        finite = all(np.isfinite(one).all() for one in (weights, centres, [*head.values()]))
        if not finite:
            raise ValueError("numbers that are not finite")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except Exception as error:
        raise _unfit(path, error) from error
    return head, weights, centres


def _unfit(path: Path, why: object) -> InputError:
    said = why if isinstance(why, str) else f"{type(why).__name__}: {why}"
    return InputError(f"{path}: not the parameters of BRISQUE ({one_line(said, 120)})")
