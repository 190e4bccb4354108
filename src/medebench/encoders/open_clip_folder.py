"""A model folder in open_clip's layout, read without torch or open_clip."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.encoders.encoder import scaled
from medebench.encoders.image_framing import (
    CLIP_MEAN,
    CLIP_STD,
    in_proportion,
    middle,
    shorter_side,
)
from medebench.errors import InputError, NotReadyError
from medebench.images.picture import Picture
from medebench.weights import Found, find_weights
from medebench.weights.hub_cache import in_hub_cache
from medebench.weights.safetensors import read_json

CONFIG = "open_clip_config.json"
#: In the order in which open_clip looks for them.
WEIGHTS = (
    "open_clip_model.safetensors",
    "open_clip_pytorch_model.safetensors",
    "open_clip_pytorch_model.bin",
    "open_clip_pytorch_model.pth",
    "model.safetensors",
    "pytorch_model.bin",
)
_TOKENIZERS = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "spiece.model",
    "tokenizer.model",
    "sentencepiece.bpe.model",
)
#: The text towers of BiomedCLIP, by the two names it had: in all sizes as BERT comes, so that its
#: folder is enough.
_KNOWN_TEXTS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("open_clip_texts.json").read_text("utf-8")
)


@dataclass(frozen=True)
class Look:
    """What the image tower is to see of a picture."""

    height: int
    width: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    #: bicubic or bilinear
    interpolation: str
    #: shortest: the middle; longest: all of it, with `fill` around; squash: all of it, out of shape
    mode: str
    fill: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.height, self.width

    @property
    def whole(self) -> Look:
        """The same where nothing is cut off; else all of the picture, squashed into the frame."""
        return replace(self, mode="squash") if self.mode == "shortest" else self

    def prepare(self, picture: Picture, data_range: int) -> NDArray[np.uint8]:
        """(3, height, width), 8 bits."""
        image = Image.fromarray(np.ascontiguousarray(scaled(picture, data_range)))
        resample = Image.Resampling[self.interpolation.upper()]
        if self.mode == "squash":
            image = image.resize((self.width, self.height), resample)
        elif self.mode == "longest":
            image = in_proportion(image, self.height, self.width, resample, inside=True)
        elif self.height == self.width:
            image = shorter_side(image, self.height, resample)
        else:
            # open_clip has only this one interpolation here.
            bicubic = Image.Resampling.BICUBIC
            image = in_proportion(image, self.height, self.width, bicubic, inside=False)
        return np.asarray(middle(image, self.height, self.width, self.fill)).transpose(2, 0, 1)

    def finish(self, prepared: NDArray[Any]) -> NDArray[np.float32]:
        """(pictures, 3, height, width), normalised; `prepared` is a stack of pictures."""
        mean, std = (np.array(one, np.float32)[:, None, None] for one in (self.mean, self.std))
        return np.asarray((prepared.astype(np.float32) / 255 - mean) / std, np.float32)


@dataclass(frozen=True)
class OpenClipFolder:
    """`path` is the folder, or a file of weights in it."""

    path: Path

    @property
    def folder(self) -> Path:
        return self.path if self.path.is_dir() else self.path.parent

    @cached_property
    def weights(self) -> Path:
        if self.path.is_file():
            return self.path
        for name in WEIGHTS:
            if (self.path / name).is_file():
                return self.path / name
        raise NotReadyError(
            f"{self.path}: has no weights of open_clip ({WEIGHTS[0]} or {WEIGHTS[2]}); "
            "download the complete model"
        )

    @cached_property
    def config(self) -> dict[str, Any]:
        """`model_cfg` and `preprocess_cfg`; old files hold nothing but the former."""
        config = _read(self.folder / CONFIG)
        model = config.get("model_cfg", config)
        look = config.get("preprocess_cfg") or {}
        parts = (model, look, *(model.get(one) for one in ("vision_cfg", "text_cfg")))
        if not all(isinstance(one, dict) for one in parts):
            raise InputError(f"{self.folder / CONFIG}: has no vision_cfg and text_cfg")
        return {"model_cfg": model, "preprocess_cfg": look}

    @property
    def text(self) -> dict[str, Any]:
        return dict(self.config["model_cfg"]["text_cfg"])

    @property
    def context(self) -> int:
        """Tokens it reads of a text, ends included."""
        return int(self.text.get("context_length", 77))

    @cached_property
    def look(self) -> Look:
        said = {key: one for key, one in self.config["preprocess_cfg"].items() if one is not None}
        # The tower's own size goes before the one that is written down for pictures.
        size = self.config["model_cfg"]["vision_cfg"].get("image_size", 224)
        try:
            height, width = (size, size) if isinstance(size, int) else size
            look = Look(
                int(height),
                int(width),
                _three(said.get("mean") or CLIP_MEAN),
                _three(said.get("std") or CLIP_STD),
                "bilinear" if said.get("interpolation") == "bilinear" else "bicubic",
                str(said.get("resize_mode") or "shortest"),
                int(said.get("fill_color", 0)),
            )
            if look.mode not in ("shortest", "longest", "squash"):
                raise ValueError(f"resize_mode {look.mode}")
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{self.folder / CONFIG}: preprocess_cfg is invalid ({error})"
            ) from error
        return look

    @cached_property
    def text_config(self) -> dict[str, Any] | None:
        """The settings of a text tower of transformers; None where it is open_clip's own."""
        name = self.text.get("hf_model_name")
        if not name:
            return None
        places = [self.folder / "config.json"]
        if (snapshot := _elsewhere(name)) is not None:
            places.append(snapshot / "config.json")
        for place in places:
            # Beside open_clip's files may lie those of the same model for transformers.
            if place.is_file() and not (found := _read(place)).keys() & {"vision_config"}:
                # The network is float32, whatever its file was.
                return {k: one for k, one in found.items() if k not in ("dtype", "torch_dtype")}
        if name in _KNOWN_TEXTS:
            return _KNOWN_TEXTS[name]
        raise NotReadyError(
            f"{self.folder}: its text tower is {name}, whose config.json is not on this machine; "
            f"get it with 'medebench weights get {name}', or put it into that folder"
        )

    @cached_property
    def tokenizer(self) -> Path | None:
        """The folder of a tokenizer of transformers; None where it is open_clip's own."""
        name = self.text.get("hf_tokenizer_name")
        if not name:
            return None
        for place in (self.folder, _elsewhere(name)):
            if place is not None and any((place / one).is_file() for one in _TOKENIZERS):
                return place
        raise NotReadyError(
            f"{self.folder}: reads texts with the tokenizer of {name}, which is not on this "
            f"machine; get it with 'medebench weights get {name}', or put its files there"
        )

    @property
    def tokenizer_files(self) -> list[Path]:
        if self.tokenizer is None:
            return []
        every = (self.tokenizer / one for one in (*_TOKENIZERS, "tokenizer_config.json"))
        return [one for one in every if one.is_file()]


def _elsewhere(name: str) -> Path | None:
    """The local folder of another model, with or without its weights."""
    if Path(name).is_dir():
        return Path(name)
    found = find_weights(name)
    return found.path if isinstance(found, Found) else in_hub_cache(name)


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise NotReadyError(f"{path.parent}: has no {path.name}; download the complete model")
    return read_json(path)


def _three(value: Any) -> tuple[float, ...]:
    three = [value] * 3 if isinstance(value, int | float) else value
    red, green, blue = (float(one) for one in three)
    return red, green, blue
