"""What can be set for a diffusion model, with the defaults of each published one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, create_model, field_validator
from pydantic_core import PydanticCustomError

from medebench.settings import Settings

Scheduler = Literal["shipped", "euler-ancestral", "euler", "ddim", "dpm++"]
Framing = Literal["aspect", "stretch"]
Offload = Literal["none", "model", "sequential"]


def without_effect(reasons: Mapping[str, str]) -> Any:
    """A validator that refuses settings of the family which a model would ignore, and says why."""

    def refuse(cls: type[Settings], value: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        if value != cls.model_fields[name].default:
            text = "has no effect, {why}; leave it out"
            raise PydanticCustomError("without_effect", text, {"why": reasons[name]})
        return value

    return field_validator(*reasons)(classmethod(refuse))


#: Settings that decide what is loaded; all others are told with each call.
LOADED_BY = frozenset(
    {
        *("model", "config", "lora", "scheduler", "device", "dtype", "offload", "slicing"),
        *("tiling", "safety_checker", "download"),
    }
)


class DiffusionSettings(Settings):
    runtime_only = frozenset({"batch", "offload", "download"})

    model: str = Field(min_length=1, description="folder, single file or hub id of the pipeline")
    steps: int = Field(50, ge=1, le=1000, description="denoising steps")
    guidance: float | None = Field(
        None, ge=0, description="weight of the text; none: the pipeline's own"
    )
    image_guidance: float | None = Field(
        None, ge=0, description="weight of the input picture; none: the pipeline's own"
    )
    true_cfg: float | None = Field(
        None, ge=0, description="second kind of text weight, where the pipeline has one"
    )
    negative_prompt: str = Field(default="", description="what to avoid")
    scheduler: Scheduler = Field("shipped", description="how steps are taken")
    size: int | None = Field(
        None,
        ge=16,
        le=4096,
        description="side of a square of the area worked on, in pixels; none: the model's own",
    )
    framing: Framing = Field(
        default="aspect", description="keep the aspect ratio, or stretch to a square as the paper"
    )
    lora: str = Field("", description="file, folder or hub id of a LoRA")
    demonstrations: int = Field(
        default=0, ge=0, le=8, description="other cases of the task to show first, before and after"
    )
    device: Literal["auto", "cuda", "mps", "cpu"] = Field(
        default="auto", description="what to compute on; auto: the first there is, in this order"
    )
    dtype: Literal["auto", "float32", "float16", "bfloat16"] = Field(
        default="auto", description="precision; auto: half on a GPU, float32 on a CPU"
    )
    batch: int = Field(default=1, ge=1, le=256, description="cases at a time")
    offload: Offload = Field(default="none", description="keep parts in main memory until used")
    slicing: bool = Field(
        default=False, description="attention and batches in slices: less memory, slower"
    )
    tiling: bool = Field(
        default=False, description="decode large pictures in tiles: less memory, small differences"
    )
    attention: bool = Field(default=True, description="record where the key concept is looked for")
    safety_checker: bool = Field(
        default=False, description="load the model's own; it blackens pictures of skin"
    )
    download: bool = Field(default=False, description="fetch missing weights from the hub")

    @field_validator("guidance", "image_guidance", "true_cfg", "size", mode="before")
    @classmethod
    def _none(cls, value: Any) -> Any:
        """`guidance=none` on a command line: back to the pipeline's own."""
        return None if isinstance(value, str) and value.lower() == "none" else value


def preset(base: type[DiffusionSettings] = DiffusionSettings, **defaults: Any) -> Any:
    """The settings of a published model: those of `base` with other defaults."""
    changed: dict[str, Any] = {}
    for name, default in defaults.items():
        info = base.model_fields[name]
        told = Field(description=info.description)
        changed[name] = (Annotated[(info.annotation, *info.metadata, told)], default)
    return create_model(f"{base.__name__}Preset", __base__=base, **changed)
