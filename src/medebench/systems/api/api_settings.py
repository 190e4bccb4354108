"""What can be set for a system behind an API."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from medebench.settings import Settings
from medebench.systems.input_images import Several
from medebench.systems.setting_types import PLACE, Address, Wording

WORDING = (
    "You edit pictures. Carry out the order below on the picture you are given and answer with "
    "one picture: the same one after the edit, in the same size, with the same framing and "
    "orientation. Whatever the order does not speak of stays exactly as it is. Write nothing into "
    "the picture and put no border around it.\n\n"
    f"{PLACE}"
)


#: Where the model is shown no picture.
PAINTING = (
    "You paint pictures. Paint one picture as the text below says, and answer with it alone. "
    "Write nothing into the picture and put no border around it.\n\n"
    f"{PLACE}"
)


class CallSettings(Settings):
    """What all systems behind APIs can be told."""

    runtime_only = frozenset({"max_cost", "timeout", "at_once", "deadline", "fresh"})

    model: str = Field(min_length=1, description="the vendor's name of the model")
    base_url: Address = Field(
        None, repr=False, description="another server that speaks the protocol; none: the vendor's"
    )
    image_size: int = Field(
        1024, ge=64, le=4096, description="longest side of a picture that is sent, in pixels"
    )
    tries: int = Field(
        2, ge=1, le=10, description="how often to ask before an answer that is of no use counts"
    )
    max_cost: float | None = Field(
        None, ge=0, description="US dollars for the run; no call is sent that could exceed it"
    )
    timeout: float = Field(300.0, gt=0, description="seconds for one call")
    deadline: float | None = Field(None, gt=0, description="seconds for all calls together")
    at_once: int = Field(8, ge=1, le=64, description="calls under way at the same time, at most")
    fresh: bool = Field(False, description="ask again where an answer is kept already")


class ChatSettings(CallSettings):
    images: Several = Field(
        "separate", description="several input images: each by itself, or on one numbered sheet"
    )
    max_tokens: int = Field(
        2048, ge=1, le=200_000, description="longest answer, thoughts included; what is cut says so"
    )
    temperature: float | None = Field(
        0.0, ge=0, le=2, description="how much answers vary; none: the model's own"
    )


class ApiSettings(CallSettings):
    later = frozenset({"input"})

    wording: Wording = Field(
        WORDING, description=f"what the model is told; {PLACE} stands for the case's"
    )
    input: Literal["shown", "none"] = Field(
        "shown", description="none: it paints from the words alone, and every table says so"
    )

    @property
    def order(self) -> str:
        """What the model is told; painting has other words unless they are the user's own."""
        return PAINTING if self.input == "none" and self.wording == WORDING else self.wording


class GeminiSettings(ApiSettings):
    later = ApiSettings.later | {"gives", "images", "max_tokens"}

    demonstrations: int = Field(
        0, ge=0, le=8, description="cases of the same task that the model is shown first"
    )
    temperature: float | None = Field(
        None, ge=0, le=2, description="how much answers vary; none: the model's own"
    )
    resolution: Literal["512", "1K", "2K", "4K"] | None = Field(
        None, description="of the picture that is drawn; none: the model's own"
    )
    aspect_ratio: Literal["auto", "none"] = Field(
        "auto", description="auto: the nearest it draws in, padded to that; none: the model's own"
    )
    gives: Literal["auto", "text", "image", "both"] = Field(
        "auto", description="what it answers with; auto: both, if it is not known to be for words"
    )
    images: Several = Field(
        "separate", description="several input images: each by itself, or on one numbered sheet"
    )
    max_tokens: int = Field(
        2048, ge=1, le=200_000, description="longest answer in words; what is cut says so"
    )


class OpenAIImageSettings(ApiSettings):
    #: The endpoint takes sixteen pictures: two for each, and the one to edit.
    demonstrations: int = Field(
        0, ge=0, le=7, description="cases of the same task that the model is shown first"
    )
    size: str = Field(
        "auto", description="WIDTHxHEIGHT to draw in; auto: that of the three usual ones that fits"
    )
    quality: Literal["auto", "low", "medium", "high"] = Field(
        "auto", description="of the picture that is drawn; decides what it costs"
    )
    input_fidelity: Literal["low", "high"] | None = Field(
        None, description="how closely to keep to the input, where the model can be told"
    )

    @field_validator("size")
    @classmethod
    def _is_size(cls, value: str) -> str:
        if value != "auto" and not re.fullmatch(r"[1-9]\d{1,4}x[1-9]\d{1,4}", value):
            raise ValueError("expected auto or something like 1536x1024")
        return value
