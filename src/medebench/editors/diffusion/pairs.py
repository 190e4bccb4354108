"""Demonstrations as a pipeline is given them: before and after of each, as the model takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from PIL import Image

from medebench.cases.opened import OpenCase
from medebench.editors.base import Refused
from medebench.editors.diffusion.frame import Frame
from medebench.errors import InputError


def shown_pictures(
    given: Sequence[OpenCase], wanted: int, frame_of: Callable[[OpenCase], Frame]
) -> list[Image.Image]:
    """In the order of `editors.showing`; each pair has a canvas of its own."""
    if len(given) != wanted:
        raise Refused(f"{len(given)} demonstrations were given, {wanted} are wanted")
    return [picture for case in given for picture in _pair(case, frame_of)]


def _pair(case: OpenCase, frame_of: Callable[[OpenCase], Frame]) -> Iterator[Image.Image]:
    try:
        frame = frame_of(case)
        for picture in (case.previous, case.reference):
            yield frame.to_model(picture, case.data_range)
    except (Refused, InputError) as error:
        raise Refused(f"demonstration {case.case.id}: {error}") from error
