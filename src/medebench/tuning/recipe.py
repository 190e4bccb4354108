"""What the recipes of the built-in models must say, so that they are made by the same code."""

from __future__ import annotations

from typing import Protocol


class Compressed(Protocol):
    """How pictures become latents."""

    @property
    def size(self) -> int: ...
    @property
    def channels(self) -> int: ...
    @property
    def cell(self) -> int: ...
    @property
    def whitening(self) -> float: ...
    @property
    def spread(self) -> float: ...
    @property
    def slack(self) -> float: ...


class Read(Protocol):
    """How texts become vectors."""

    @property
    def tokens(self) -> int: ...
    @property
    def vocabulary(self) -> int: ...
    @property
    def text_width(self) -> int: ...
    @property
    def text_layers(self) -> int: ...
    @property
    def heads(self) -> int: ...


class Paced(Protocol):
    """How fast a recipe lets networks learn."""

    @property
    def steps(self) -> int: ...
    @property
    def rate(self) -> float: ...
    @property
    def warm_up(self) -> int: ...
    @property
    def average(self) -> float: ...
