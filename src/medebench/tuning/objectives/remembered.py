"""What the frozen parts of a pipeline made of a picture or a text, kept for the next time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from medebench.files import sha256

Made = TypeVar("Made")
#: Latents that are kept; pictures that are cropped at random hardly ever come again.
MOST = 1024


class Remembered:
    """Each thing is made alone: a result must not depend on what else was in its batch."""

    def __init__(self) -> None:
        self._kept: dict[Any, Any] = {}

    def picture(self, pixels: Any, make: Callable[[Any], Made]) -> Made:
        content = np.ascontiguousarray(pixels)
        return self._once(("picture", content.shape, sha256(content.tobytes())), pixels, make)

    def text(self, text: str, make: Callable[[str], Made]) -> Made:
        return self._once(("text", text), text, make)

    def _once(self, key: Any, given: Any, make: Callable[[Any], Made]) -> Made:
        if key not in self._kept:
            if len(self._kept) >= MOST:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = make(given)
        found: Made = self._kept[key]
        return found
