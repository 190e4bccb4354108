"""Bases of all encoders with local weights, whichever library their network comes from."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from medebench.device import (
    TRANSFORMERS,
    choose_device,
    exact,
    missing_releases,
    no_device,
    release_memory,
)
from medebench.encoders.encoder import Encoder, Features, scaled
from medebench.encoders.image_framing import MARKS, Framing, pointwise
from medebench.encoders.open_clip_folder import Look
from medebench.encoders.preprocess import Preprocess
from medebench.errors import InputError, MedebenchError, one_line
from medebench.files import sha256
from medebench.images.picture import Picture
from medebench.quiet import quiet
from medebench.weights import Found, need_weights
from medebench.weights.safetensors import read_json

if TYPE_CHECKING:
    from torch import Tensor


class LocalNetwork(ABC):
    """`source` is a known name, a hub id or a path; nothing is read before it must be."""

    #: The source where none is said.
    usual: ClassVar[str] = ""
    name: str
    #: auto, cpu, cuda or mps.
    device: str = "auto"
    #: Pictures or texts at once.
    batch: int = 16
    _network: Any = None

    def __init__(
        self,
        source: str | None = None,
        name: str | None = None,
        device: str = "auto",
        batch: int | None = None,
    ) -> None:
        self.source = source or self.usual
        self.name = name or self.source
        if batch is not None and batch < 1:
            raise InputError(f"{self.name}: batch={batch} must be at least 1")
        self.device = device
        if batch is not None:
            self.batch = batch

    def problem(self) -> str | None:
        """Why it cannot be used here, and what to do."""
        if lacking := self.lacking():
            return f"{self.name} {lacking}"
        try:
            _ = self.identity
        except MedebenchError as error:
            return str(error)
        return no_device(self.device)

    def lacking(self) -> str | None:
        """The packages that are not there, and how to get them."""
        return missing_releases(TRANSFORMERS, "metrics")

    @property
    @abstractmethod
    def identity(self) -> str:
        """Tells what comes out of it from what comes out of others. Cheap: no torch."""

    @cached_property
    def weights(self) -> Found:
        return need_weights(self.source)

    def network(self) -> Any:
        """The network on its device, read when it is first needed."""
        if self._network is None:
            self._network = self._load(choose_device(self.device))
        return self._network

    @abstractmethod
    def _load(self, device: str) -> Any:
        """Read it from the weights."""

    def close(self) -> None:
        self._network = None
        release_memory()


class LocalEncoder(LocalNetwork, Encoder):
    """An encoder of pictures with local weights."""


class FramedEncoder(LocalEncoder):
    """One whose files say how pictures are prepared; all framings follow from that."""

    framings = ("own", "whole", "published")

    @property
    @abstractmethod
    def look(self) -> Look | Preprocess:
        """How a picture is prepared."""

    def identified(self, framing: Framing) -> str:
        look = self.look
        same = framing == "own" or (framing == "whole" and look.whole == look)
        return self.identity if same else f"{self.identity} {MARKS[framing]}"

    def prepare(self, picture: Picture, data_range: int) -> NDArray[Any]:
        return self.look.prepare(picture, data_range)

    def framed(self, picture: Picture, data_range: int, framing: Framing) -> NDArray[Any]:
        if framing == "published":
            return pointwise(scaled(picture, data_range), *self.look.shape)
        look = self.look.whole if framing == "whole" else self.look
        return look.prepare(picture, data_range)


class AssembledEncoder(LocalEncoder):
    """Pictures and texts in one space, but not a plain model of transformers."""

    texts: ClassVar[bool] = True
    #: The first word of its identity.
    kind: ClassVar[str]

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """What its vectors depend on besides the weights; raises if something is missing."""

    @property
    def folder(self) -> Path:
        path = self.weights.path
        return path if path.is_dir() else path.parent

    @cached_property
    def identity(self) -> str:
        facts = json.dumps(self.facts(), sort_keys=True, default=str)
        return f"{self.kind} {self.weights.identity} {sha256(facts.encode())[:12]}"


#: Numbers beside the network that no vector depends on.
_BESIDE = re.compile(r"(^|\.)(logit_scale|logit_bias|position_ids)$")


class TransformersFolder(LocalNetwork):
    """A folder of transformers, given or in the hub's cache; code of strangers is never run."""

    #: The `model_type`s that are understood.
    kinds: ClassVar[frozenset[str]]

    @property
    def folder(self) -> Path:
        if not self.weights.path.is_dir():
            raise InputError(f"{self.name}: {self.weights.path} is a file; pass the model's folder")
        return self.weights.path

    @cached_property
    def config(self) -> dict[str, Any]:
        """What config.json says."""
        config = read_config(self.folder)
        if (kind := config.get("model_type")) not in self.kinds:
            known = ", ".join(sorted(self.kinds))
            raise InputError(
                f"{self.folder / 'config.json'}: model_type {kind!r} is not supported; "
                f"supported: {known}"
            )
        return config

    @property
    def kind(self) -> str:
        return str(self.config["model_type"])

    def _load(self, device: str) -> Any:
        """Always in float32."""
        import torch
        from transformers import AutoModel

        how = {"local_files_only": True, "trust_remote_code": False, "weights_only": True}
        how |= {"output_loading_info": True}
        try:
            with quiet("transformers"):
                network, told = AutoModel.from_pretrained(
                    str(self.folder), dtype=torch.float32, **how
                )
        except Exception as error:
            raise self.broken("does not load", error) from error
        # transformers only warns and fills what is missing with random numbers.
        missing = sorted(one for one in told["missing_keys"] if not self._spare(one))
        if missing:
            raise InputError(
                f"{self.name}: {self.folder} lacks {len(missing)} of its parts, such as"
                f" {missing[0]}; download the complete model"
            )
        return network.eval().to(device)

    def _spare(self, key: str) -> bool:
        """Whether the vectors are the same without it."""
        return _BESIDE.search(key) is not None

    def broken(self, what: str, error: Exception) -> InputError:
        why = f"{type(error).__name__}: {one_line(str(error), 200)}"
        return InputError(f"{self.name}: {self.folder} {what} ({why}); download the model again")


class PretrainedEncoder(TransformersFolder, FramedEncoder):
    """One that sees pictures."""

    @cached_property
    def look(self) -> Preprocess:
        return Preprocess.read(self.folder, self.kind)

    @cached_property
    def identity(self) -> str:
        return f"{self.kind} {self.weights.identity} pictures-1 {self.look.digest}"

    def encode(self, prepared: Sequence[NDArray[Any]]) -> Features:
        import torch

        network, device = self.network(), choose_device(self.device)
        pixels = torch.from_numpy(self.look.finish(np.stack(prepared))).to(device)
        with torch.inference_mode(), exact(device):
            return as_rows(self._see(network, pixels))

    @abstractmethod
    def _see(self, network: Any, pixels: Tensor) -> Tensor:
        """A row for each picture."""


def read_config(folder: Path) -> dict[str, Any]:
    """A model folder's config.json; InputError where there is none."""
    path = folder / "config.json"
    if not path.is_file():
        raise InputError(f"{folder}: has no config.json; pass a model's folder")
    return read_json(path)


def as_rows(vectors: Tensor) -> Features:
    rows: Features = vectors.float().cpu().numpy()
    return rows
