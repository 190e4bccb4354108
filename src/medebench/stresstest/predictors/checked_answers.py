"""The only place that takes a predictor's answers: nothing unchecked gets past it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.errors import MedebenchError, one_line
from medebench.images.picture import Picture
from medebench.page.number import counted
from medebench.stresstest.predictors.predictor import Predictor, PredictorError, Value

_NUMBERS = "return a list with one probability from 0 to 1 for each picture"
_MASKS = "return a list with one mask for each picture, of the picture's height and width"

#: A softmax in 32 bits may give a little more than 1.
_ROUNDING = 1e-6


class _Wrong(Exception):
    """What a predictor did, and what it should do."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


def ask(
    predictor: Predictor,
    ids: Sequence[str],
    pictures: Sequence[Picture],
    bits: Sequence[int | None] | None = None,
) -> list[Value]:
    """A checked answer for each picture; PredictorError names the one that cannot be had.

    A batch that fails is asked again one by one, so that the right picture is named. If each alone
    succeeds, the predictor cannot take several at a time, and gets one at a time from then on.
    """
    if predictor.stretched and bits is not None:
        pictures = [_stretch(one, of) for one, of in zip(pictures, bits, strict=True)]
    if len(pictures) > 1:
        try:
            return _ask(predictor, pictures)
        except _Wrong:
            alone = [_alone(predictor, *one) for one in zip(ids, pictures, strict=True)]
            predictor.batch = 1
            return alone
    return [_alone(predictor, *one) for one in zip(ids, pictures, strict=True)]


def _alone(predictor: Predictor, name: str, picture: Picture) -> Value:
    try:
        return _ask(predictor, [picture])[0]
    except _Wrong as wrong:
        raise PredictorError(
            f"predictor {predictor.name}: picture {name}: {wrong}; {wrong.remedy}"
        ) from wrong.__cause__


def _ask(predictor: Predictor, pictures: Sequence[Picture]) -> list[Value]:
    masks = predictor.task == "segmentation"
    try:
        answers = predictor.predict(pictures)
    except MedebenchError:
        raise
    except (Exception, SystemExit) as error:
        # Networks put the code first, and what is wrong with it last.
        said = one_line(str(error).strip().rpartition("\n")[2], 300)
        what = f"raised {type(error).__name__}{f': {said}' if said else ''}"
        remedy = "fix the predictor or its settings, or remove the picture"
        raise _Wrong(what, remedy) from error
    remedy = _MASKS if masks else _NUMBERS
    try:
        found = list(_one_by_one(answers))
    except TypeError:
        raise _Wrong(f"returned {_kind(answers)}", remedy) from None
    if len(found) != len(pictures):
        what = f"returned {len(found)} answers for {counted(len(pictures), 'picture')}"
        raise _Wrong(what, remedy)
    if masks:
        both = zip(found, pictures, strict=True)
        return [_mask(one, picture.shape[:2], predictor.threshold) for one, picture in both]
    return [_probability(one) for one in found]


def _one_by_one(answers: Any) -> Iterator[Any]:
    if answers is None or isinstance(answers, str | bytes | Mapping):
        raise TypeError
    return iter(_array(answers) if hasattr(answers, "detach") else answers)


def _probability(answer: Any) -> float:
    numbers = _numbers(answer, _NUMBERS)
    if numbers.size != 1:
        remedy = "return the probability of the positive class alone"
        raise _Wrong(f"returned {numbers.size} numbers for one picture", remedy)
    value = float(numbers.reshape(-1)[0])
    if not math.isfinite(value):
        spelt = "NaN" if math.isnan(value) else "an infinite number"
        raise _Wrong(f"returned {spelt}", _NUMBERS)
    if not -_ROUNDING <= value <= 1 + _ROUNDING:
        remedy = "return probabilities (apply a sigmoid to logits)"
        raise _Wrong(f"returned {value:.6g}, which is not a probability between 0 and 1", remedy)
    return min(max(value, 0.0), 1.0)


def _mask(answer: Any, shape: tuple[int, int], threshold: float) -> NDArray[np.bool_]:
    values = _numbers(answer, _MASKS)
    if values.ndim == 3 and 1 in (values.shape[0], values.shape[2]):
        values = values[0] if values.shape[0] == 1 else values[..., 0]
    if values.shape != shape:
        found = " x ".join(map(str, values.shape)) or "a single number"
        what = f"returned a mask of {found} for a picture of {shape[0]} x {shape[1]}"
        raise _Wrong(what, _MASKS)
    if values.dtype == np.bool_:
        return values.copy()
    if not np.isfinite(values).all():
        raise _Wrong("returned a mask with NaN or infinity", _MASKS)
    low, high = float(values.min()), float(values.max())
    if low >= -_ROUNDING and high <= 1 + _ROUNDING:
        return np.asarray(values >= threshold)
    if ((values == 0) | (values == 255)).all():
        return np.asarray(values > 0)
    what = f"returned a mask with values from {low:.6g} to {high:.6g}"
    raise _Wrong(what, "return True and False, 0 and 1, 0 and 255, or probabilities")


def _numbers(answer: Any, remedy: str) -> NDArray[Any]:
    try:
        values = _array(answer)
    except Exception:
        raise _Wrong(f"returned {_kind(answer)}", remedy) from None
    if values.dtype.kind not in "biuf":
        raise _Wrong(f"returned {_kind(answer)}", remedy)
    return values


def _array(answer: Any) -> NDArray[Any]:
    if hasattr(answer, "detach"):  # a tensor, which may have gradients or lie on a device
        answer = answer.detach().cpu()
        answer = answer.float() if answer.is_floating_point() else answer
    return np.asarray(answer)


def _kind(answer: Any) -> str:
    if answer is None:
        return "nothing"
    if isinstance(answer, str | bytes):
        return one_line(repr(answer), 40)
    return f"an object of type {type(answer).__name__}"


def _stretch(picture: Picture, bits: int | None) -> Picture:
    if bits is None or bits == 16 or picture.dtype != np.uint16:
        return picture
    top = (1 << bits) - 1
    whole = np.rint(picture.astype(np.float64) * (65535 / top))
    return whole.clip(0, 65535).astype(np.uint16)
