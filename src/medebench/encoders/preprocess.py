"""How a published model wants its pictures: read from its folder, applied with Pillow and NumPy.

The numbers are those of transformers' own processors in their Pillow form. They are not used
themselves: they want torchvision or torch, and pictures are prepared before either is there.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.encoders.encoder import scaled
from medebench.encoders.image_framing import shorter_side
from medebench.errors import InputError
from medebench.files import sha256
from medebench.images.picture import Picture
from medebench.weights.safetensors import read_json

Size: TypeAlias = tuple[int, int]
Colour: TypeAlias = tuple[float, float, float]

FILES = ("processor_config.json", "preprocessor_config.json")

_SAID = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
_COMMON: dict[str, Any] = _SAID["common"]
#: What a processor does where its file does not say, by the name of its class.
KINDS: dict[str, dict[str, Any]] = _SAID["kinds"]
#: Old files name no class; then the model tells.
BY_MODEL: dict[str, str] = _SAID["by_model"]
#: Settings that change the picture in ways that are not done here.
_REFUSED = ("do_pad", "use_square_size")


@dataclass(frozen=True)
class Preprocess:
    """Resize, cut out the middle, scale, subtract the mean, divide by the deviation."""

    #: (height, width), or the length of the shorter side.
    resize: Size | int | None
    resample: int
    crop: Size | None
    #: What 0 to 255 is multiplied by, and what is added then.
    factor: float
    offset: float
    mean: Colour | None
    std: Colour | None
    #: EfficientNet divides by the deviation twice.
    twice: Colour | None = None

    @classmethod
    def read(cls, folder: Path, model_type: str = "") -> Preprocess:
        """From a model's folder, however old the file; `model_type` is that of its config."""
        path, found = _find(folder)
        kind = str(found.get("image_processor_type") or found.get("feature_extractor_type") or "")
        kind = kind.removesuffix("Fast").removesuffix("Pil")
        kind = kind.removesuffix("ImageProcessor").removesuffix("FeatureExtractor")
        kind = kind or BY_MODEL.get(model_type, "")
        if kind not in KINDS:
            known = ", ".join(KINDS)
            raise InputError(
                f"{path}: unknown kind of image processor"
                f" ({kind or 'no image_processor_type'}); supported: {known}"
            )
        for name in _REFUSED:
            if found.get(name):
                raise InputError(f"{path}: '{name}' is not supported; use another encoder")
        try:
            # What the file says to be nothing is nothing, and not what the class would say.
            return cls._of({**_COMMON, **KINDS[kind], **found})
        except (TypeError, ValueError) as error:
            raise InputError(f"{path}: is invalid ({error}); download the file again") from error

    @classmethod
    def _of(cls, said: Mapping[str, Any]) -> Preprocess:
        crop = _pair(said.get("crop_size"), "crop_size") if said["do_center_crop"] else None
        resize: Size | int | None = None
        if said["do_resize"]:
            resize = _resize(said["size"], bool(said["default_to_square"]))
        if crop is None and not isinstance(resize, tuple):
            raise ValueError("images keep different shapes: neither a crop nor a height and width")
        resample = said["resample"]
        if resample not in range(6):
            raise ValueError(f"resample {resample!r} is not a number from 0 to 5")
        normal = bool(said["do_normalize"])
        top = bool(said.get("include_top"))
        std = _colour(said["image_std"], "image_std") if normal or top else None
        return cls(
            resize=resize,
            resample=int(resample),
            crop=crop,
            factor=_finite(said["rescale_factor"]) if said["do_rescale"] else 1.0,
            offset=-1.0 if said["do_rescale"] and said.get("rescale_offset") else 0.0,
            mean=_colour(said["image_mean"], "image_mean") if normal else None,
            std=std if normal else None,
            twice=std if top else None,
        )

    @property
    def shape(self) -> Size:
        """(height, width) of what the network sees."""
        if self.crop is not None:
            return self.crop
        assert isinstance(self.resize, tuple)
        return self.resize

    @cached_property
    def whole(self) -> Preprocess:
        """The same where nothing is cut off; else all of the picture, squashed into the frame."""
        if self.crop is None:
            return self
        if isinstance(self.resize, tuple) and all(map(operator.le, self.resize, self.crop)):
            return self
        return replace(self, resize=self.crop, crop=None)

    @cached_property
    def digest(self) -> str:
        """Different where other pictures come out."""
        return sha256(json.dumps(asdict(self), sort_keys=True).encode())[:12]

    def prepare(self, picture: Picture, data_range: int) -> NDArray[np.uint8]:
        """(3, height, width), 8 bits: a quarter of what the network gets in the end."""
        image = Image.fromarray(np.ascontiguousarray(scaled(picture, data_range)))
        resample = Image.Resampling(self.resample)
        if isinstance(self.resize, tuple):
            height, width = self.resize
            image = image.resize((width, height), resample)
        elif self.resize is not None:
            image = shorter_side(image, self.resize, resample)
        pixels = np.asarray(image)
        if self.crop is not None:
            pixels = _middle(pixels, self.crop)
        return np.ascontiguousarray(pixels.transpose(2, 0, 1))

    def finish(self, prepared: NDArray[Any]) -> NDArray[np.float32]:
        """What the network gets; `prepared` is one picture or a stack of them, 0 ... 255."""
        if prepared.dtype == np.uint8:
            channels = [self._table[c][prepared[..., c, :, :]] for c in range(3)]
            return np.stack(channels, axis=-3)
        values = np.moveaxis(prepared, -3, 0)
        finished = self._finished(values.reshape(3, -1)).reshape(values.shape)
        return np.ascontiguousarray(np.moveaxis(finished, 0, -3))

    @cached_property
    def _table(self) -> NDArray[np.float32]:
        """What becomes of each of the 256 values in each channel.

        In the order and with the roundings of the published code, so that nothing differs.
        """
        return self._finished(np.repeat(np.arange(256)[None], 3, axis=0))

    def _finished(self, channels: NDArray[Any]) -> NDArray[np.float32]:
        """(3, values) in 0 ... 255 -> scaled and normalised."""
        values = (channels.astype(np.float64) * self.factor).astype(np.float32)
        values = values + np.float32(self.offset)
        if self.mean is not None and self.std is not None:
            values = (values - _column(self.mean)) / _column(self.std)
        if self.twice is not None:
            values = values / _column(self.twice)
        return values


def _find(folder: Path) -> tuple[Path, dict[str, Any]]:
    """The settings, and the file they come from: one for the whole processor goes first."""
    for name in FILES:
        path = folder / name
        if not path.is_file():
            continue
        found: Any = read_json(path)
        if name == "processor_config.json":
            found = found.get("image_processor")
        if found is None:
            continue
        if not isinstance(found, dict):
            raise InputError(f"{path}: contains no settings; download the file again")
        return path, found
    raise InputError(f"{folder}: has no preprocessor_config.json; download the complete model")


def _middle(pixels: NDArray[np.uint8], size: Size) -> NDArray[np.uint8]:
    """The middle, black where the picture is smaller; odd rests go as in the published code."""
    for axis, wanted in enumerate(size):
        length = pixels.shape[axis]
        if length >= wanted:
            start = (length - wanted) // 2
            kept = slice(start, start + wanted)
            pixels = pixels[kept] if axis == 0 else pixels[:, kept]
        else:
            before = math.ceil((wanted - length) / 2)
            room = [(0, 0)] * pixels.ndim
            room[axis] = (before, wanted - length - before)
            pixels = np.pad(pixels, room)
    return pixels


def _resize(size: Any, square: bool) -> Size | int:
    if isinstance(size, Mapping) and set(size) == {"shortest_edge"}:
        return _length(size["shortest_edge"], "size")
    if isinstance(size, int) and not square:
        return _length(size, "size")
    return _pair(size, "size")


def _pair(size: Any, name: str) -> Size:
    if isinstance(size, Mapping):
        if set(size) != {"height", "width"}:
            raise ValueError(f"{name} names {', '.join(size)}, not height and width")
        size = (size["height"], size["width"])
    if isinstance(size, list | tuple):
        height, width = size
        return _length(height, name), _length(width, name)
    return (_length(size, name),) * 2


def _length(value: Any, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= 4096:
        raise ValueError(f"{name} {value!r} is not a length in pixels")
    return value


def _colour(value: Any, name: str) -> Colour:
    three = [value] * 3 if isinstance(value, int | float) else value
    if not isinstance(three, list) or len(three) != 3:
        raise ValueError(f"{name} is not one number for each of three channels")
    red, green, blue = (_finite(one) for one in three)
    if name == "image_std" and 0 in (red, green, blue):
        raise ValueError("image_std has a zero")
    return red, green, blue


def _finite(value: Any) -> float:
    if not math.isfinite(number := float(value)):
        raise ValueError(f"{value!r} is not a number")
    return number


def _column(colour: Colour) -> NDArray[np.float32]:
    return np.array(colour, np.float32)[:, None]
