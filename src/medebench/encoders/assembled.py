"""What the encoders have in common that are no plain models of transformers."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from medebench.device import TRANSFORMERS, missing_releases, no_device, release_memory
from medebench.encoders.base import Encoder
from medebench.errors import InputError, MedebenchError, NotReadyError
from medebench.files import sha256
from medebench.weights import Absent, Found, find_weights


class AssembledEncoder(Encoder):
    """Pictures and texts in one space, from weights on this machine; `_loaded` is its network."""

    texts: ClassVar[bool] = True
    #: The first word of its identity.
    kind: ClassVar[str]

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
        self._loaded: Any = None

    def problem(self) -> str | None:
        if lacking := self.lacking():
            return f"{self.name} {lacking}"
        try:
            self.facts()
        except MedebenchError as error:
            return str(error)
        return no_device(self.device)

    def lacking(self) -> str | None:
        """The packages that are not there, and how to get them."""
        return missing_releases(TRANSFORMERS, "metrics")

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """What its vectors depend on besides the weights; an error where something is not there."""

    @cached_property
    def weights(self) -> Found:
        found = find_weights(self.source)
        if isinstance(found, Absent):
            raise NotReadyError(found.problem)
        return found

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
