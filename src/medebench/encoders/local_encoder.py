"""Base of all encoders with local weights, whichever library their network comes from."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from medebench.device import (
    TRANSFORMERS,
    choose_device,
    missing_releases,
    no_device,
    release_memory,
)
from medebench.encoders.encoder import Encoder, scaled
from medebench.encoders.image_framing import MARKS, Framing, pointwise
from medebench.encoders.open_clip_folder import Look
from medebench.encoders.preprocess import Preprocess
from medebench.errors import InputError, MedebenchError
from medebench.files import sha256
from medebench.images.picture import Picture
from medebench.weights import Found, need_weights


class LocalEncoder(Encoder):
    """`source` is a known name, a hub id or a path; nothing is read before it must be."""

    #: The source where none is said.
    usual: ClassVar[str] = ""
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
