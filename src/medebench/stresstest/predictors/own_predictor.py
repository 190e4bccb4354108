"""`file.py:Name`: a class with `predict`, or a function, of the user's own."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from medebench.device import release_memory
from medebench.errors import MedebenchError, one_line
from medebench.images.picture import Picture
from medebench.registry import Registry
from medebench.stresstest.predictors.predictor import Predictor, PredictorSpec, printing_aside
from medebench.stresstest.stress_outcome import Task
from medebench.weights.identity_hash import content_identity

PREDICTORS = Registry("predictor", "medebench.predictors", {})


class OwnPredictor(Predictor):
    """A class is made once, with the plan's settings; a function gets them with each call.

    Where it has them, `batch` (pictures in a call) and `identity` (of its weights) are respected.
    """

    #: It may open weights, or import code, that nobody here knows of.
    trusted = False

    def __init__(self, spec: PredictorSpec, task: Task, positive: str = "") -> None:
        self.spec, self.task = spec, task
        self.name, self.threshold = spec.called, spec.threshold

    @cached_property
    def identity(self) -> str:
        file, _, attribute = self.spec.model.rpartition(":")
        if file and not Path(file).expanduser().is_file():
            raise self.wrong(f"{file}: no such file")
        _ = self._predict  # which also finds out whether there is such a name at all
        given = json.dumps(self.spec.settings, sort_keys=True, default=str)
        origin = PREDICTORS.origin(self.spec.model)
        with printing_aside():
            own = getattr(self._made, "identity", "")
        said = f"python {origin} {attribute} {given} {own}"
        return " ".join([said, *self._files(Path(file).expanduser().parent)])

    def problem(self) -> str | None:
        try:
            _ = self.identity
        except MedebenchError as error:
            return str(error)
        return None

    def predict(self, pictures: Sequence[Picture]) -> Any:
        # Copies: what a predictor does to its pictures must not reach the next one.
        with printing_aside():
            said = self._predict([one.copy() for one in pictures])
            # Here, since what a generator raises or prints is the predictor's doing as well.
            return list(said) if inspect.isgenerator(said) else said

    def _files(self, beside: Path) -> Iterator[str]:
        """The content of each file that a setting names, from wherever it may be read."""
        # A class may look from where medebench was started, the plan's folder or its own.
        places = dict.fromkeys(
            one.absolute() for one in (Path(), Path(self.spec.folder).expanduser(), beside)
        )
        for name, value in _texts(self.spec.settings):
            found = dict.fromkeys(_file(place, value) for place in places)
            yield from (f"{name} {content_identity(one)}" for one in found if one is not None)

    @cached_property
    def _found(self) -> Any:
        with printing_aside():
            return PREDICTORS.find(self.spec.model)

    @cached_property
    def _made(self) -> Any:
        found = self._found
        if not inspect.isclass(found):
            return found
        try:
            with printing_aside():
                return found(**self.spec.settings)
        except MedebenchError:
            raise
        except (Exception, SystemExit) as error:
            why = f"{type(error).__name__}: {one_line(str(error), 300)}"
            given = ", ".join(self.spec.settings) or "no settings"
            raise self.wrong(
                f"cannot be created with {given} ({why}); fix"
                f" {self.spec.model} or the plan's settings"
            ) from error

    @cached_property
    def _predict(self) -> Callable[[list[Picture]], Any]:
        made = self._made
        batch = getattr(made, "batch", None)
        if isinstance(batch, int) and batch > 0:
            self.batch = batch
        if callable(method := getattr(made, "predict", None)):
            return method  # type: ignore[no-any-return]
        if callable(made):
            is_class = inspect.isclass(self._found)
            return made if is_class else partial(made, **self.spec.settings)
        raise self.wrong(
            f"{self.spec.model} is neither a class with predict(pictures)"
            " nor a function of pictures"
        )

    def close(self) -> None:
        made = self.__dict__.pop("_made", None)
        self.__dict__.pop("_predict", None)
        if callable(end := getattr(made, "close", None)):
            with printing_aside():
                end()
        release_memory()


def _texts(value: Any, name: str = "settings") -> Iterator[tuple[str, str]]:
    """Every text in the settings, with where it stands."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _texts(one, f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for place, one in enumerate(value):
            yield from _texts(one, f"{name}.{place}")
    elif isinstance(value, str | Path):
        yield name, str(value)


def _file(folder: Path, named: str) -> Path | None:
    try:
        path = (folder / Path(named).expanduser()).resolve()
        readable = path.is_file() and os.access(path, os.R_OK)
    except (OSError, ValueError, RuntimeError):  # a text that is no path at all
        return None
    return path if readable else None
