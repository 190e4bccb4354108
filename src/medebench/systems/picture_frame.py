"""Whether a new picture shows the same frame as the input, so that both must have one shape."""

from __future__ import annotations

from typing import Any

from medebench.cases.medgen_names import OTHER_VIEW
from medebench.images.picture import Picture
from medebench.systems.request import Refused, Request
from medebench.systems.returned_output import fit_answer


def keeps_frame(request: Request) -> bool:
    return request.case.case.task not in OTHER_VIEW


def in_frame(picture: Picture, request: Request) -> tuple[Picture, dict[str, Any]]:
    """An answer as its task wants it, and what to note of it.

    An edit has the size of its input, or more pixels where a sharper image was asked for; one of
    another shape is refused. Another view stays as it came, and so does a picture of another shape
    beside a text, which would be lost with it: scores of size and shape tell of it.
    """
    height, width = request.case.previous.shape[:2]
    as_it_came: dict[str, Any] = {"returned": [picture.shape[1], picture.shape[0]]}
    if not keeps_frame(request):
        return picture, as_it_came
    try:
        fitted, sizes = fit_answer(picture, width, height)
    except Refused:
        if "text" in request.gives:
            return picture, as_it_came
        raise
    return (picture if request.case.case.grid == "reference" else fitted), sizes
