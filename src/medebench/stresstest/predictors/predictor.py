"""What a predictor is, whoever made it."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, redirect_stdout
from pathlib import Path, PurePath
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from medebench.errors import InputError
from medebench.images.picture import Picture
from medebench.settings import split_call
from medebench.stresstest.stress_outcome import Task
from medebench.workers.command_line import SCRIPTS, words_of

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


Kind = Literal["python", "torchscript", "onnx", "transformers", "command"]

_TORCHSCRIPT = (".pt", ".pth", ".ts", ".jit", ".torchscript")
SUFFIXES: dict[str, Kind] = {**dict.fromkeys(_TORCHSCRIPT, "torchscript"), ".onnx": "onnx"}


class PredictorSpec(BaseModel):
    """`mine.py:Classifier`, `theirs.onnx:size=224,output=logit`, or a mapping of these fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    #: A file, a folder or hub id of transformers, `file.py:Name`, or the name of a plugin.
    model: str = ""
    #: A program that predicts, instead of a model; a list of words, or one text.
    command: tuple[str, ...] = ()
    #: Only where the model's name does not tell.
    kind: Kind | None = None
    name: str = ""
    threshold: float = Field(0.5, gt=0, lt=1)
    settings: dict[str, Any] = {}
    #: Where a command is started; in a plan, its own folder.
    folder: str = ""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        if isinstance(given, str):
            model, settings = split_call(given)
            return {"model": model, "settings": settings}
        if isinstance(given, dict) and isinstance(given.get("command"), str):
            return {**given, "command": tuple(words_of(given["command"]))}
        return given

    @model_validator(mode="after")
    def _one_of_both(self) -> PredictorSpec:
        if bool(self.model.strip()) == bool(self.command):
            raise ValueError("give exactly one of 'model' or 'command'")
        if self.kind == "command" and not self.command:
            raise ValueError("kind: command needs the field command")
        return self

    @property
    def what(self) -> Kind:
        """The kind that was given, or the one its name tells."""
        if self.command:
            return "command"
        if self.kind is not None:
            return self.kind
        if self._file:
            return "python"
        if known := SUFFIXES.get(PurePath(self.model).suffix.lower()):
            return known
        plugin = not (set(self.model) & {"/", os.sep} or Path(self.model).is_dir())
        return "python" if plugin else "transformers"

    @property
    def called(self) -> str:
        """The name that tables and pages show."""
        if self.name:
            return self.name
        if self.command:
            script = next((w for w in self.command if w.lower().endswith(SCRIPTS)), None)
            return PurePath(script or self.command[0]).stem
        if self.what == "python":
            return self.model.rpartition(":")[2]
        path = PurePath(self.model)
        return path.stem if path.suffix.lower() in SUFFIXES else path.name

    def seen_from(self, folder: Path) -> PredictorSpec:
        """The same with paths that no longer depend on where they are read."""
        started = str(folder / Path(self.folder).expanduser())
        return self.model_copy(update={"model": self._path(folder), "folder": started})

    @property
    def _file(self) -> str:
        """The file of `file.py:Name`."""
        file = self.model if self.model.endswith(".py") else self.model.rpartition(":")[0]
        return file if file.endswith(".py") else ""

    def _path(self, folder: Path) -> str:
        if not self.model:
            return ""
        if file := self._file:
            return f"{folder / Path(file).expanduser()}{self.model[len(file) :]}"
        path = folder / Path(self.model).expanduser()
        certain = self.what in ("torchscript", "onnx")
        return str(path) if certain or path.exists() else self.model
