"""Networks given as a file alone: the plan describes their inputs and outputs."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import BeforeValidator, Field

from medebench.device import DEVICES, no_device
from medebench.encoders.image_framing import middle, shorter_side
from medebench.errors import InputError, MedebenchError
from medebench.images.picture import Picture
from medebench.settings import Settings, read_settings
from medebench.stresstest.predictors.network_outputs import Output, masks_of, probabilities_of
from medebench.stresstest.predictors.predictor import Predictor, PredictorError, PredictorSpec
from medebench.stresstest.stress_outcome import Task
from medebench.weights.identity_hash import content_identity

#: How bright red, green and blue are, as in Pillow's "L".
_LUMA = (0.299, 0.587, 0.114)
#: Part of the identity: other numbers come out where preparing or reading changes.
_VERSION = 1


def _number(value: Any) -> Any:
    """`net.pt:channels=1` says it as a text."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


class NetworkSettings(Settings):
    """What a file does not say about itself."""

    how: ClassVar[frozenset[str]] = frozenset({"batch", "device"})

    output: Output = Field(
        description="logit (sigmoid), logits (softmax over the classes) or probability"
    )
    index: int | list[int] | None = Field(
        None, description="which of several classes, counted from 0; a mask may join several"
    )
    size: int | tuple[int, int] | None = Field(
        None, description="side, or [height, width]; none: the picture's own"
    )
    fit: Literal["stretch", "crop"] = Field(
        "stretch", description="resize to the size, or the shorter side and cut out the middle"
    )
    resample: Literal["nearest", "bilinear", "bicubic", "lanczos"] = "bilinear"
    channels: Annotated[Literal[1, 3], BeforeValidator(_number)] = 3
    scale: tuple[float, float] = Field((0.0, 1.0), description="what black and white become")
    mean: float | list[float] = Field(0.0, description="subtracted after scaling")
    std: float | list[float] = Field(1.0, description="divided by then")
    batch: int = Field(16, ge=1, le=1024)
    device: str = "auto"


class NetworkPredictor(Predictor):
    """Prepares pictures, runs the network (which subclasses know how to), reads what comes out."""

    stretched = True

    def __init__(self, spec: PredictorSpec, task: Task, positive: str = "") -> None:
        self.name, self.threshold, self.task = spec.called, spec.threshold, task
        self.path = Path(spec.model).expanduser()
        where = f"predictor {self.name}"
        self.settings = read_settings(NetworkSettings, _lists(spec.settings), where)
        self.batch = self.settings.batch
        self._check_settings()

    @cached_property
    def identity(self) -> str:
        said = self.settings.model_dump(mode="json", exclude=set(NetworkSettings.how))
        weights = " ".join(content_identity(one) for one in self.files)
        return f"network {_VERSION} {weights} {json.dumps(said, sort_keys=True)}"

    def problem(self) -> str | None:
        if lacking := self.lacking():
            return f"predictor {self.name} {lacking}"
        if not self.path.is_file():
            return str(self.wrong(f"{self.path}: no such file"))
        if without := no_device(self.settings.device):
            return str(self.wrong(without))
        try:
            self.load()
        except MedebenchError as error:
            return str(error)
        return None

    def predict(self, pictures: Sequence[Picture]) -> Any:
        self.load()
        inputs = [self._prepared(one) for one in pictures]
        answers: dict[int, Any] = {}
        # Pictures that keep their own size go in together with those of the same size.
        for shape in dict.fromkeys(one.shape for one in inputs):
            these = [i for i, one in enumerate(inputs) if one.shape == shape]
            out = first_array(self.run(np.stack([inputs[i] for i in these])))
            try:
                read = self._read(out, [pictures[i] for i in these])
            except InputError as error:
                raise PredictorError(f"predictor {self.name}: {error}") from None
            answers.update(zip(these, read, strict=True))
        return [answers[i] for i in range(len(pictures))]

    @property
    def files(self) -> list[Path]:
        """All that the weights are in."""
        return [self.path]

    @property
    def size(self) -> tuple[int, int] | None:
        """(height, width) the network wants."""
        given = self.settings.size
        return (given, given) if isinstance(given, int) else given

    @abstractmethod
    def lacking(self) -> str | None:
        """The package that is not there, and how to get it."""

    @abstractmethod
    def load(self) -> None:
        """Make the network ready, once; InputError where the file is no such network."""

    @abstractmethod
    def run(self, batch: NDArray[np.float32]) -> Any:
        """What the network says of (count, channels, height, width)."""

    def _read(self, out: NDArray[Any], pictures: Sequence[Picture]) -> Any:
        index, output = self.settings.index, self.settings.output
        if self.task == "classification":
            assert not isinstance(index, list)
            return probabilities_of(out, len(pictures), output, index)
        chosen = index if isinstance(index, list) else None if index is None else [index]
        shapes = [(one.shape[0], one.shape[1]) for one in pictures]
        return masks_of(out, shapes, output, chosen, self.threshold)

    def _prepared(self, picture: Picture) -> NDArray[np.float32]:
        said = self.settings
        top = 255 if picture.dtype == np.uint8 else 65535
        grey = (picture == picture[..., :1]).all()
        planes = [self._framed(_plane(picture, c)) for c in range(1 if grey else 3)]
        if said.channels == 1 and len(planes) == 3:
            planes = [np.tensordot(_LUMA, np.stack(planes), 1)]
        elif said.channels == 3 and len(planes) == 1:
            planes = planes * 3
        low, high = said.scale
        pixels = np.stack(planes).astype(np.float64) / top * (high - low) + low
        mean, std = (np.reshape(one, (-1, 1, 1)) for one in (said.mean, said.std))
        return np.asarray((pixels - mean) / std, np.float32)

    def _framed(self, plane: Image.Image) -> NDArray[Any]:
        resample = Image.Resampling[self.settings.resample.upper()]
        if self.size is not None:
            height, width = self.size
            if self.settings.fit == "crop":
                # As long as the longer side of the frame, so that no frame is larger than it.
                plane = middle(shorter_side(plane, max(height, width), resample), height, width)
            else:
                plane = plane.resize((width, height), resample)
        return np.asarray(plane)

    def _check_settings(self) -> None:
        said = self.settings
        for name, value in (("mean", said.mean), ("std", said.std)):
            numbers = value if isinstance(value, list) else [value]
            if len(numbers) not in (1, said.channels) or not np.isfinite(numbers).all():
                raise self.wrong(f"{name}: expected one number per channel")
            if name == "std" and 0 in numbers:
                raise self.wrong("std: must not contain 0")
        sides = () if self.size is None else self.size
        if any(not 0 < side <= 8192 for side in sides):
            raise self.wrong("size: expected pixels, such as 224")
        if not np.isfinite(said.scale).all() or said.scale[0] == said.scale[1]:
            raise self.wrong("scale: expected two numbers, such as [0, 1]")
        indices = said.index if isinstance(said.index, list) else [said.index or 0]
        if not indices or min(indices) < 0:
            raise self.wrong("index: must be 0 or more")
        if said.device not in DEVICES:
            raise self.wrong(f"device: expected one of {', '.join(DEVICES)}")
        if self.task == "segmentation" and said.fit == "crop":
            raise self.wrong("fit: a mask must cover the whole picture; use stretch")
        if self.task == "classification" and isinstance(said.index, list):
            raise self.wrong("index: a classifier has one positive class")


def first_array(out: Any) -> NDArray[Any]:
    """The main output, of a network that returns several."""
    if isinstance(out, Mapping):
        named = [out[name] for name in ("logits", "out") if name in out]
        out = (named or list(out.values()))[0]
    elif isinstance(out, list | tuple):
        out = out[0]
    if hasattr(out, "detach"):
        out = out.detach().float().cpu().numpy()
    return np.asarray(out)


def _plane(picture: Picture, channel: int) -> Image.Image:
    """Floats, so that resizing rounds nothing in 8 or 16 bits."""
    return Image.fromarray(picture[..., channel].astype(np.float32))


def _lists(settings: Mapping[str, Any]) -> dict[str, Any]:
    """`mean=0.4 0.4 0.4` in the short form is a list; one number or word stays as it is."""
    return {
        name: value.split() if isinstance(value, str) and " " in value.strip() else value
        for name, value in settings.items()
    }
