"""What can be set for Imagic, with the paper's settings."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from medebench.systems.diffusion.diffusion_settings import DiffusionSettings, without_effect


class ImagicSettings(DiffusionSettings):
    runtime_only = DiffusionSettings.runtime_only | {"checkpointing"}

    model: str = Field(
        default="CompVis/stable-diffusion-v1-4",
        min_length=1,
        description="folder or hub id of a text-to-image pipeline with a U-Net, or of "
        "InstructPix2Pix's kind",
    )
    guidance: float | None = Field(
        default=7.5, ge=0, description="weight of the text; none: the pipeline's own"
    )
    alpha: float = Field(
        default=1.3,
        ge=-10,
        le=10,
        description="how far to go: 0 is the text learned from the picture, 1 the instruction",
    )
    embedding_steps: int = Field(
        default=500, ge=0, le=100_000, description="steps of learning the picture's text"
    )
    embedding_rate: float = Field(
        default=1e-3,
        gt=0,
        le=10,
        description="learning rate of the picture's text; 0.03 for the built-in model",
    )
    network_steps: int = Field(
        default=1000,
        ge=0,
        le=100_000,
        description="steps of tuning the network; 0: it stays as it is, in less memory",
    )
    network_rate: float = Field(
        default=2e-6, gt=0, le=10, description="learning rate of the network"
    )
    checkpointing: bool = Field(
        default=False, description="compute twice while learning: less memory, slower"
    )
    dtype: Literal["auto", "float32", "float16", "bfloat16"] = Field(
        default="float32", description="precision; auto is float32: learning in half may fail"
    )

    @field_validator("dtype", mode="before")
    @classmethod
    def _learns_in_float32(cls, value: Any) -> Any:
        return "float32" if value == "auto" else value

    _refused = without_effect(
        {
            "lora": "the network itself is tuned",
            "batch": "each picture is learned by itself",
            "offload": "the network stays where it learns",
        }
    )
