"""Size and shape of an output as it came, beside what the case asks for.

Every other metric of images sees the output after it was brought to the grid of its case: there,
one that had to be stretched looks like one that had not.
"""

from __future__ import annotations

from functools import partial

from medebench.cases.open_case import OpenCase
from medebench.images.picture import Picture
from medebench.metrics.metric import Measured, Undefined, metric
from medebench.reason import Reason

_size = partial(metric, better="neither", high=float("inf"), of="came")


def aspect_ratio(output: tuple[int, int], wanted: tuple[int, int]) -> float:
    """How much wider in shape the output is than what was wanted; 1 where nothing is stretched.

    Sizes are (height, width).

    >>> aspect_ratio((1536, 1024), (512, 512)) < 1
    True
    """
    return (output[1] * wanted[0]) / (output[0] * wanted[1])


def size_ratio(output: tuple[int, int], wanted: tuple[int, int]) -> float:
    """How long its sides are beside those wanted, on (geometric) average.

    >>> size_ratio((256, 256), (512, 512))
    0.5
    """
    return float((output[0] * output[1] / (wanted[0] * wanted[1])) ** 0.5)


@_size(
    "output_aspect_ratio",
    "width to height of the output as it came, beside what is asked for; 1: not stretched",
    label="Aspect",
    definition="(width / height of the output as it came) / (the same of the image on whose grid "
    "it is compared).",
)
def OUTPUT_ASPECT_RATIO(case: OpenCase, came: Picture) -> Measured:
    size, wanted = _sizes(case, came)
    return Measured(aspect_ratio(size, wanted), _detail(size, wanted))


@_size(
    "output_size_ratio",
    "length of the sides of the output as it came, beside what is asked for",
    label="Size",
    definition="Root of the pixels of the output as it came / the pixels of the image on whose "
    "grid it is compared.",
)
def OUTPUT_SIZE_RATIO(case: OpenCase, came: Picture) -> Measured:
    size, wanted = _sizes(case, came)
    return Measured(size_ratio(size, wanted), _detail(size, wanted))


def _sizes(case: OpenCase, came: Picture | None) -> tuple[tuple[int, int], tuple[int, int]]:
    if came is None:
        raise Undefined(Reason("no-part", "the output has no image"))
    if case.grid is None:
        raise Undefined("the case asks for no size: it has neither an input nor a reference image")
    (height, width), (rows, columns) = came.shape[:2], case.grid.shape[:2]
    return (height, width), (rows, columns)


def _detail(size: tuple[int, int], wanted: tuple[int, int]) -> dict[str, str]:
    return {"came": f"{size[1]} x {size[0]}", "asked for": f"{wanted[1]} x {wanted[0]}"}
