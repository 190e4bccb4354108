"""What encoders have in common whose weights lie on this machine, whoever wrote their network."""

from __future__ import annotations

from functools import cached_property

from medebench.device import TRANSFORMERS, missing_releases, no_device
from medebench.encoders.base import Encoder
from medebench.errors import InputError, MedebenchError, NotReadyError
from medebench.weights import Absent, Found, find_weights


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
        found = find_weights(self.source)
        if isinstance(found, Absent):
            raise NotReadyError(found.problem)
        return found
