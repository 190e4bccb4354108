"""Base of all encoders with local weights, whichever library their network comes from."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from medebench.device import TRANSFORMERS, missing_releases, no_device, release_memory
from medebench.encoders.encoder import Encoder
from medebench.errors import InputError, MedebenchError
from medebench.files import sha256
from medebench.weights import Found, need_weights


class LocalEncoder(Encoder):
    """`source` is a known name, a hub id or a path; nothing is read before it must be."""

    def __init__(
        self,
        source: str,
        name: str | None = None,
        device: str = "auto",
        batch: int | None = None,
    ) -> None:
        self.source = source
        self.name = name or source
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


class AssembledEncoder(LocalEncoder):
    """Pictures and texts in one space, but not a plain model of transformers.

    `_loaded` is its network.
    """

    texts: ClassVar[bool] = True
    #: The first word of its identity.
    kind: ClassVar[str]
    _loaded: Any = None

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

    def close(self) -> None:
        self._loaded = None
        release_memory()
