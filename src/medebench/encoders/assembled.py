"""What the encoders have in common that are no plain models of transformers."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from medebench.device import release_memory
from medebench.encoders.local import LocalEncoder
from medebench.files import sha256


class AssembledEncoder(LocalEncoder):
    """Pictures and texts in one space, from weights on this machine; `_loaded` is its network."""

    texts: ClassVar[bool] = True
    #: The first word of its identity.
    kind: ClassVar[str]
    _loaded: Any = None

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """What its vectors depend on besides the weights; an error where something is not there."""

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
