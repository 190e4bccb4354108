"""How an editor is trained: what can be set, with the defaults of the paper where it has one."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from medebench.settings import Settings

Method = Literal["lora", "full"]


class TrainSettings(Settings):
    """Everything that decides the weights that come out, besides pairs, steps and seed."""

    #: How the device is used; the weights that come out are meant to be the same.
    runtime_only: ClassVar[frozenset[str]] = frozenset({"checkpointing", "every"})

    method: Method = Field(
        default="lora", description="lora: a small adapter; full: the whole denoiser"
    )
    rank: int = Field(default=16, ge=1, le=1024, description="of the LoRA's matrices")
    alpha: float | None = Field(
        default=None,
        gt=0,
        description="scale of the LoRA is alpha / rank; none: the rank, a scale of 1",
    )
    rate: float = Field(default=1e-4, gt=0, le=1, description="highest learning rate")
    schedule: Literal["constant", "linear", "cosine"] = Field(
        default="constant", description="how the learning rate goes on after the warm-up"
    )
    warm_up: int = Field(default=0, ge=0, description="steps over which the learning rate rises")
    decay: float = Field(default=0.01, ge=0, description="weight decay of AdamW")
    clip: float = Field(default=1.0, gt=0, description="largest norm of a gradient")
    batch: int = Field(
        default=1, ge=1, le=1024, description="pairs in a step on the device at once"
    )
    accumulate: int = Field(
        default=1, ge=1, le=1024, description="batches whose gradients make one step"
    )
    precision: Literal["auto", "no", "fp16", "bf16"] = Field(
        default="auto", description="mixed precision; auto: bf16 where the device computes in it"
    )
    checkpointing: bool = Field(
        default=False, description="compute activations twice instead of keeping them: less memory"
    )
    ema: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="decay of averaged weights, which are then saved; 0: none",
    )
    no_text: float = Field(
        default=0.05, ge=0, le=0.5, description="share of samples without text, for text guidance"
    )
    no_image: float = Field(
        default=0.05, ge=0, le=0.5, description="share without the input image, for image guidance"
    )
    no_both: float = Field(default=0.05, ge=0, le=0.5, description="share without either")
    roi_weight: float = Field(
        default=1.0,
        ge=1,
        le=1000,
        description="weight of the loss inside the ROI; 1: as everywhere",
    )
    augment: Literal["none", "flip", "crop", "flip+crop"] = Field(
        default="none", description="random mirroring or cropping, of both images of a pair alike"
    )
    every: int = Field(default=50, ge=1, description="steps between checkpoints")
