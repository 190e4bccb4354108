"""A classifier or segmenter of transformers: a folder, or a hub id in the hub's cache."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from medebench.device import (
    DEVICES,
    TRANSFORMERS,
    choose_device,
    exact,
    missing_releases,
    no_device,
    release_memory,
)
from medebench.encoders.encoder import scaled
from medebench.encoders.local_encoder import read_config
from medebench.errors import MedebenchError, NotReadyError, one_line
from medebench.images.picture import Picture
from medebench.quiet import quiet
from medebench.settings import Settings, read_settings
from medebench.stresstest.predictors.network_outputs import Output, masks_of, probabilities_of
from medebench.stresstest.predictors.predictor import Predictor, PredictorSpec, printing_aside
from medebench.stresstest.stress_outcome import Task
from medebench.weights import Absent, Found, find_weights

_CLASSES = {
    "classification": "AutoModelForImageClassification",
    "segmentation": "AutoModelForSemanticSegmentation",
}


class PretrainedSettings(Settings):
    how: ClassVar[frozenset[str]] = frozenset({"batch", "device"})

    label: str | list[str] = Field(
        "", description="the model's name for the positive class, or the parts of the organ"
    )
    batch: int = Field(8, ge=1, le=1024)
    device: str = "auto"


class PretrainedPredictor(Predictor):
    """Prepares pictures as the model's own processor says; code of strangers is never run."""

    stretched = True

    def __init__(self, spec: PredictorSpec, task: Task, positive: str = "") -> None:
        self.name, self.threshold, self.task = spec.called, spec.threshold, task
        self.source, self.positive = spec.model, positive
        self.settings = read_settings(PretrainedSettings, spec.settings, f"predictor {self.name}")
        if self.settings.device not in DEVICES:
            raise self.wrong(f"device: expected one of {', '.join(DEVICES)}")
        self.batch = self.settings.batch
        self._network: Any = None
        self._processor: Any = None
        self._device = "cpu"

    @cached_property
    def identity(self) -> str:
        said = {"label": self.settings.label, "positive": self.positive}
        return f"transformers 1 {self._weights.identity} {json.dumps(said, sort_keys=True)}"

    def problem(self) -> str | None:
        if lacking := missing_releases(TRANSFORMERS, "metrics"):
            return f"predictor {self.name} {lacking}"
        if without := no_device(self.settings.device):
            return str(self.wrong(without))
        try:
            self._load()
        except MedebenchError as error:
            return str(error)
        return None

    def predict(self, pictures: Sequence[Picture]) -> Any:
        self._load()
        out = self._run([scaled(one, 255 if one.dtype == np.uint8 else 65535) for one in pictures])
        if self.task == "classification":
            return probabilities_of(out, len(pictures), self._output, self._columns[0])
        shapes = [(one.shape[0], one.shape[1]) for one in pictures]
        return masks_of(out, shapes, self._output, self._columns, self.threshold)

    def close(self) -> None:
        self._network = self._processor = None
        release_memory()

    @cached_property
    def _weights(self) -> Found:
        found = find_weights(self.source)
        if isinstance(found, Absent):
            raise NotReadyError(f"predictor {found.problem}")
        if not found.path.is_dir():
            raise self.wrong(f"{found.path}: is a file; name the model's folder, or set 'kind'")
        return found

    @cached_property
    def _labels(self) -> list[str]:
        """The model's own names of its classes, in its order."""
        config = read_config(self._weights.path)
        names = config.get("id2label") or {}
        try:
            return [str(names[one]) for one in sorted(names, key=int)]
        except (TypeError, ValueError, KeyError):
            raise self.wrong(f"{self._weights.path / 'config.json'}: id2label is broken") from None

    @property
    def _output(self) -> Output:
        config = read_config(self._weights.path)
        many = config.get("problem_type") == "multi_label_classification"
        return "logit" if many or len(self._labels) == 1 else "logits"

    @cached_property
    def _columns(self) -> list[int]:
        """Which of the model's classes are meant."""
        named = self.settings.label or self.positive
        wanted = [named] if isinstance(named, str) else named
        if len(self._labels) <= 1:
            return [0]
        folded = [one.strip().casefold() for one in self._labels]
        for one in wanted:
            if one.strip().casefold() not in folded:
                there = one_line(", ".join(self._labels), 200)
                raise self.wrong(
                    f"settings.label: the model has no class {one!r}; there are: {there}"
                    if one
                    else f"settings.label: is missing; choose one of the model's classes: {there}"
                )
        if self.task == "classification" and len(wanted) != 1:
            raise self.wrong("settings.label: a classifier has one positive class")
        return [folded.index(one.strip().casefold()) for one in wanted]

    def _load(self) -> None:
        if self._network is not None:
            return
        _ = self._columns
        import torch
        import transformers

        folder = str(self._weights.path)
        local = {"local_files_only": True, "trust_remote_code": False}
        self._device = choose_device(self.settings.device)
        with printing_aside(), quiet("transformers"):
            try:
                processor = transformers.AutoImageProcessor.from_pretrained(
                    folder, backend="pil", **local
                )
                network, told = getattr(transformers, _CLASSES[self.task]).from_pretrained(
                    folder,
                    dtype=torch.float32,
                    weights_only=True,
                    output_loading_info=True,
                    **local,
                )
            except Exception as error:
                why = f"{type(error).__name__}: {one_line(str(error), 160)}"
                raise self.wrong(f"{folder}: is not a {self.task} model ({why})") from error
        # transformers only warns, and fills what is missing with random numbers.
        if missing := sorted(told["missing_keys"]):
            raise self.wrong(
                f"{folder}: lacks {len(missing)} weights, such as {missing[0]}; was it trained"
                f" for {self.task}?"
            )
        if self.task == "segmentation" and getattr(processor, "do_center_crop", False):
            raise self.wrong(
                f"{folder}: crops its input, so its masks cannot cover the whole picture"
            )
        self._processor, self._network = processor, network.eval().to(self._device)

    def _run(self, pictures: Sequence[NDArray[np.uint8]]) -> NDArray[Any]:
        import torch
        from PIL import Image

        # Pictures, not arrays: of an array 3 pixels high it would be guessed which axis is colour.
        images = [Image.fromarray(np.ascontiguousarray(one)) for one in pictures]
        with printing_aside(), quiet("transformers"):
            pixels = self._processor(images=images, return_tensors="pt")["pixel_values"]
        with printing_aside(), torch.inference_mode(), exact(self._device):
            logits = self._network(pixel_values=pixels.to(self._device)).logits
        found: NDArray[Any] = logits.float().cpu().numpy()
        return found
