"""What can be set for RadEdit, with the paper's settings."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from medebench.systems.diffusion.diffusion_settings import (
    DiffusionSettings,
    Offload,
    without_effect,
)

#: The base prompt is then the case's own caption.
CAPTION = "caption"

Masks = Literal["both", "edit", "complement", "none"]


class RadEditSettings(DiffusionSettings):
    model: str = Field(
        min_length=1,
        description="folder or hub id of a text-to-image pipeline over latents, or "
        "microsoft/radedit",
    )
    steps: int = Field(default=50, ge=1, le=1000, description="steps of the whole path")
    skip: float = Field(
        default=0.0, ge=0, lt=1, description="share of the steps, the noisiest, to leave out"
    )
    guidance: float = Field(
        default=15.0, ge=0, description="weight of the text; 1: the text alone, 0: reconstruction"
    )
    base: str = Field(
        default="",
        description="prompt of the inversion and outside the edit mask; caption: the case's own",
    )
    masks: Masks = Field(
        default="both",
        description="edit and keep mask; edit: nothing is kept; complement: all outside the edit "
        "mask is kept (DiffEdit); none: no masks (LANCE)",
    )
    edit_masks: str = Field(default="", description="folder of edit masks, <id>.png; else the ROI")
    keep_masks: str = Field(
        default="", description="folder of keep masks, <id>.png; else the case's own"
    )
    segmenter: str = Field(
        default="",
        description="file.py:Name that makes (edit, keep) of a picture; comes before the others",
    )
    paste: bool = Field(
        default=False, description="put the input's own pixels back under the keep mask at the end"
    )
    attention: bool = Field(default=False, description="record where the key concept is looked for")
    offload: Offload = Field(
        default="none", description="keep parts in main memory until used: none or model"
    )

    @field_validator("offload")
    @classmethod
    def _whole_parts(cls, value: Offload) -> Offload:
        if value == "sequential":
            raise PydanticCustomError("offload", "parts are moved as a whole; use offload=model")
        return value

    _refused = without_effect(
        {
            "image_guidance": "the picture is inverted, not shown",
            "true_cfg": "guidance is the only weight",
            "negative_prompt": "base is what guidance leads away from",
            "scheduler": "steps are taken by RadEdit itself",
            "demonstrations": "one picture is edited at a time",
            "safety_checker": "the pipeline's own call is not used",
        }
    )
