"""The types of a call: question, answer, failure and estimated cost."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Image:
    """A picture as it goes over the wire: already encoded, without metadata."""

    data: bytes = field(repr=False)
    mime: str

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def size(self) -> tuple[int, int]:
        """(width, height), read from the header."""
        from PIL import Image as Pillow

        with Pillow.open(io.BytesIO(self.data)) as image:
            return image.size


@dataclass(frozen=True)
class Turn:
    """An earlier reply of the model, and our response to it."""

    said: str
    reply: str


@dataclass(frozen=True)
class Ask:
    """One question. Everything but `likely_tokens` decides whether a kept answer fits it."""

    system: str
    parts: tuple[str | Image, ...]
    schema: dict[str, Any] | None = None
    temperature: float | None = 0.0
    max_tokens: int = 1024
    seed: int | None = None
    turns: tuple[Turn, ...] = ()
    #: 0, 1, 2, ... for the same question asked again to see how much the answers differ.
    repeat: int = 0
    #: How long answers usually are, for the estimate; `max_tokens` where nobody knows.
    likely_tokens: int | None = None
    #: A picture is wanted back, made with these settings of the vendor's (size, quality, ...);
    #: None: words are. `max_tokens` then are those of the words beside it.
    picture: dict[str, str] | None = None


@dataclass(frozen=True)
class Answer:
    """What the model said or drew. `cost` is in US dollars, None where the price is not known."""

    text: str
    #: As the server reports it, often more exact than the name that was asked for.
    model: str
    tokens_in: int
    tokens_out: int
    cost: float | None
    seconds: float
    #: "stop", "length", "refusal", or the server's own word.
    finish: str
    #: Parameters the server would not take and that were therefore not sent.
    without: tuple[str, ...] = ()
    cached: bool = False
    images: tuple[Image, ...] = ()


@dataclass(frozen=True)
class Failure:
    """Why there is no answer; `kind` is for programs, `reason` for people."""

    reason: str
    kind: str
    attempts: int = 0
