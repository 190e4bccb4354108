"""The input images of a case as a model is shown them: one by one, or on one numbered sheet."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from medebench.cases.open_case import OpenCase
from medebench.images.outline import on_screen
from medebench.images.picture import Picture, resize
from medebench.models.prompt_text import put
from medebench.systems.answer_prompts import ANSWER

#: Models take several images, or one only.
Several = Literal["separate", "sheet"]


def input_images(case: OpenCase, several: Several = "separate") -> list[Picture]:
    """All images a system is given, in their order; with `sheet` never more than one."""
    roles = list(case.case.inputs())
    if several == "separate" or len(roles) < 2:
        return [case.image(role) for role in roles]
    return [case.sheet]


def screen_images(case: OpenCase, several: Several, most: int) -> list[NDArray[np.uint8]]:
    """The same in eight bits, no side longer than `most` pixels, none enlarged."""
    found = []
    for one in input_images(case, several):
        seen = on_screen(one, case.data_range)
        height, width = seen.shape[:2]
        if (scale := most / max(height, width)) < 1:
            seen = resize(seen, max(1, round(width * scale)), max(1, round(height * scale)))
        found.append(np.ascontiguousarray(seen))
    return found


def image_labels(case: OpenCase, several: Several = "separate") -> list[str]:
    """What stands before each image that is shown; nothing before a single one."""
    count = len(case.case.inputs())
    if count < 2:
        return [""] * count
    if several == "sheet":
        return [put(ANSWER.sheet_label, count=str(count))]
    return [put(ANSWER.image_label, number=str(number)) for number in range(1, count + 1)]


def image_facts(case: OpenCase, several: Several) -> dict[str, object]:
    """What the ledger keeps of it."""
    count = len(case.case.inputs())
    return {"images": count, "images_as": several} if count > 1 else {}
