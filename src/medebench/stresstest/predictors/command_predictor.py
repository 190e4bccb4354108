"""A user's own program as a predictor, in its own environment."""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from medebench.errors import ImageError, NotReadyError, one_line
from medebench.files import read_bytes
from medebench.images.picture import Picture, encode_png, read_mask
from medebench.settings import Settings, read_settings
from medebench.stresstest.predictors.predictor import Predictor, PredictorSpec
from medebench.stresstest.stress_outcome import Task
from medebench.workers.command_line import fingerprint, problems_of
from medebench.workers.line_protocol import VERSION, whole
from medebench.workers.worker_process import Ended, Gone, Worker

_LARGEST_MASK = 200_000_000


class CommandPredictorSettings(Settings):
    how: ClassVar[frozenset[str]] = frozenset({"timeout", "start_timeout"})

    timeout: float = Field(600.0, gt=0, description="seconds for one picture")
    start_timeout: float = Field(600.0, gt=0, description="seconds until it is ready")
    options: dict[str, Any] = Field({}, description="passed on with each picture as `settings`")


class CommandPredictor(Predictor):
    """Starts the command once and tells it a picture a line, as docs/workers.md has it."""

    #: Each answer is kept as it comes, and what goes wrong is this picture's.
    batch = 1
    stretched = True
    #: Weights that the program opens by itself are not seen from here.
    trusted = False

    def __init__(self, spec: PredictorSpec, task: Task, positive: str = "") -> None:
        self.name, self.threshold, self.task = spec.called, spec.threshold, task
        self.positive = positive
        where = f"predictor {self.name}"
        self.settings = read_settings(CommandPredictorSettings, spec.settings, where)
        self._words = list(spec.command)
        self._folder = Path(spec.folder or ".").expanduser()
        self._worker: Worker | None = None
        self._scratch: Path | None = None
        self._numbers = itertools.count(1)

    @cached_property
    def identity(self) -> str:
        said = [self._words, self.settings.options, self.positive]
        scripts = fingerprint(self._words, self._folder)
        return f"command 1 {scripts} {json.dumps(said, sort_keys=True)}"

    def problem(self) -> str | None:
        found = problems_of(self._words, self._folder)
        return f"predictor {self.name}: {found[0]}" if found else None

    def predict(self, pictures: Sequence[Picture]) -> list[Any]:
        return [self._one(picture) for picture in pictures]

    def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()
        scratch, self._scratch = self._scratch, None
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)

    def _one(self, picture: Picture) -> Any:
        worker = self._running()
        folder = self._new_folder()
        try:
            (folder / "input.png").write_bytes(encode_png(picture))
            answer = self._ask(worker, self._message(picture, folder))
            for refusal in ("refused", "error"):
                if refusal in answer:
                    said = answer[refusal]
                    reason = one_line(whole(said)) if isinstance(said, str) else ""
                    raise RuntimeError(reason or "it refused without giving a reason")
            return _mask(answer, folder) if self.task == "segmentation" else _number(answer)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _message(self, picture: Picture, folder: Path) -> dict[str, Any]:
        return {
            "medebench": VERSION,
            "id": folder.name,
            "k": 0,
            "task": self.task,
            "positive": self.positive,
            "image": str(folder / "input.png"),
            "output": str(folder / "output.png"),
            "range": 255 if picture.dtype == np.uint8 else 65535,
            "settings": dict(self.settings.options),
        }

    def _ask(self, worker: Worker, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return worker.ask(message, self.settings.timeout)
        except (Gone, Ended) as gone:
            self._worker = None
            raise RuntimeError(f"the worker failed: {gone}") from None
        except BaseException:
            # Interrupted: its answer would be taken for that of the next picture.
            self._worker = None
            worker.end(0)
            raise

    def _running(self) -> Worker:
        if self._worker is not None and self._worker.is_running:
            return self._worker
        if self._worker is not None:
            self._worker.end(0)
        self._worker = None
        try:
            worker = Worker(self._words, self._folder)
        except Gone as gone:
            raise NotReadyError(f"predictor {self.name}: {gone}") from None
        try:
            worker.wait_until_ready(self.settings.start_timeout)
        except Gone as gone:
            why = one_line(str(gone))
            raise NotReadyError(
                f"predictor {self.name}: the worker did not start: {why}; try running"
                f" `{one_line(' '.join(self._words), 100)}` by hand"
            ) from None
        except BaseException:
            worker.end(0)
            raise
        self._worker = worker
        return worker

    def _new_folder(self) -> Path:
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="medebench-predictor-")).resolve()
            weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)
        folder = self._scratch / str(next(self._numbers))
        folder.mkdir()
        return folder


def _number(answer: Mapping[str, Any]) -> Any:
    if "probability" not in answer:
        told = ", ".join(map(str, answer)) or "nothing"
        raise ValueError(f"the worker's answer has no field 'probability' (it has: {told})")
    if (said := answer["probability"]) is None:
        raise ValueError("the worker's probability is null or NaN")
    return said


def _mask(answer: Mapping[str, Any], folder: Path) -> Any:
    named = answer.get("mask", "output.png")
    if not isinstance(named, str) or "\0" in named:
        raise ValueError("the worker's answer gives no valid path for its mask")
    path = (folder / named).resolve()
    if not path.is_relative_to(folder):
        raise ValueError("the worker's mask lies outside the folder it was given")
    if not path.is_file():
        raise ValueError("the worker wrote no mask")
    if path.stat().st_size > _LARGEST_MASK:
        raise ValueError("the worker's mask file is too large to read")
    try:
        return read_mask(Path("the worker's mask"), read_bytes(path, _LARGEST_MASK)) > 127
    except ImageError as error:
        raise ValueError(str(error)) from None
