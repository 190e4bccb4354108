"""What a predictor is, whoever made it."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, redirect_stdout
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medebench.errors import InputError
from medebench.images.picture import Picture
from medebench.stresstest.sample import Task

#: The probability of the positive class, or the mask of the organ on the picture's grid.
Value: TypeAlias = float | NDArray[np.bool_]


class PredictorError(InputError):
    """A predictor that raises or answers nonsense; the text names predictor, picture and remedy."""


def printing_aside() -> AbstractContextManager[object]:
    """What others' code prints goes to standard error: standard output is for results alone."""
    return redirect_stdout(sys.stderr)


class Predictor(ABC):
    """Pictures in, a probability or a mask for each out. Used from one thread.

    Only `checked_answers.ask` checks what `predict` returns: adapters need not check it, and
    nothing else may use an unchecked answer.
    """

    name: str
    task: Task
    #: From which probability on the class is there, or a pixel belongs to the organ.
    threshold: float = 0.5
    #: Pictures in one call.
    batch: int = 16
    #: Whether 16-bit pictures of fewer significant bits are first brought to the whole range.
    stretched: ClassVar[bool] = False
    #: Whether `identity` tells all; if not, stored answers are tried against a fresh one.
    trusted: ClassVar[bool] = True

    @property
    @abstractmethod
    def identity(self) -> str:
        """Different where other predictions could come out: weights, code, settings."""

    def problem(self) -> str | None:
        """Why it cannot be used here, in one line; asked before any work."""
        return None

    @abstractmethod
    def predict(self, pictures: Sequence[Picture]) -> Any:
        """An answer for each picture, (height, width, 3) in 8 or 16 bits, in the same order."""

    def close(self) -> None:
        """Release memory, devices and processes."""
        return

    def wrong(self, what: str) -> InputError:
        """An error that names this predictor."""
        return InputError(f"predictor {self.name}: {what}")
