"""What can be set for a multimodal model on this machine."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from medebench.settings import Settings
from medebench.systems.input_images import Several


class VlmSettings(Settings):
    runtime_only = frozenset({"batch", "download"})

    model: str = Field(min_length=1, description="folder or hub id of the model")
    max_new_tokens: int = Field(
        512, ge=1, le=32_768, description="longest answer, thoughts included; what is cut says so"
    )
    temperature: float = Field(
        0.0, ge=0, le=2, description="0: the likeliest words; above: drawn, by the run's seed"
    )
    images: Several = Field(
        "separate", description="several input images: each by itself, or on one numbered sheet"
    )
    image_size: int = Field(
        1024, ge=32, le=4096, description="longest side of a picture that is shown, in pixels"
    )
    device: Literal["auto", "cuda", "mps", "cpu"] = Field(
        "auto", description="what to compute on; auto: the first there is, in this order"
    )
    dtype: Literal["auto", "float32", "float16", "bfloat16"] = Field(
        "auto", description="precision; auto: bfloat16 on a GPU, float32 on a CPU"
    )
    batch: int = Field(1, ge=1, le=256, description="cases at a time, where nothing is drawn")
    download: bool = Field(False, description="get the weights from the hub if they are not here")
