"""What can be set for a diffusion model, with the defaults of each published one."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from medebench.settings import Settings

#: Stand for the models that ship with the package, wherever that is installed.
BUILTIN = "builtin:phantom-editor"
CHEST_MODEL = "builtin:chest-model"

Scheduler = Literal["shipped", "euler-ancestral", "euler", "ddim", "dpm++"]
Framing = Literal["aspect", "stretch"]
Offload = Literal["none", "model", "sequential"]


def _model(default: Any = ...) -> Any:
    return Field(default, min_length=1, description="folder, single file or hub id of the pipeline")


def _steps(default: int) -> Any:
    return Field(default, ge=1, le=1000, description="denoising steps")


def _guidance(default: float | None) -> Any:
    return Field(default, ge=0, description="weight of the text; none: the pipeline's own")


def _image_guidance(default: float | None) -> Any:
    return Field(default, ge=0, description="weight of the input picture; none: the pipeline's own")


def _true_cfg(default: float | None) -> Any:
    what = "second kind of text weight, where the pipeline has one"
    return Field(default, ge=0, description=what)


def _scheduler(default: Scheduler) -> Any:
    return Field(default, description="how steps are taken")


def _size(default: int | None) -> Any:
    what = "side of a square of the area worked on, in pixels; none: the model's own"
    return Field(default, ge=16, le=4096, description=what)


def _lora(default: str) -> Any:
    return Field(default, description="file, folder or hub id of a LoRA")


#: Settings that decide what is loaded; all others are told with each call.
LOADED_BY = frozenset(
    {
        *("model", "config", "lora", "scheduler", "device", "dtype", "offload", "slicing"),
        *("tiling", "safety_checker", "download"),
    }
)


class DiffusionSettings(Settings):
    how: ClassVar[frozenset[str]] = frozenset({"batch", "offload", "download"})

    model: str = _model()
    steps: int = _steps(50)
    guidance: float | None = _guidance(None)
    image_guidance: float | None = _image_guidance(None)
    true_cfg: float | None = _true_cfg(None)
    negative_prompt: str = Field(default="", description="what to avoid")
    scheduler: Scheduler = _scheduler("shipped")
    size: int | None = _size(None)
    framing: Framing = Field(
        default="aspect", description="keep the aspect ratio, or stretch to a square as the paper"
    )
    lora: str = _lora("")
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


class InstructPix2PixSettings(DiffusionSettings):
    model: str = _model("timbrooks/instruct-pix2pix")
    guidance: float | None = _guidance(7.5)
    image_guidance: float | None = _image_guidance(1.6)
    scheduler: Scheduler = _scheduler("euler-ancestral")
    size: int | None = _size(512)


class PaintByInpaintSettings(DiffusionSettings):
    model: str = _model("paint-by-inpaint/general-base")
    guidance: float | None = _guidance(7.0)
    image_guidance: float | None = _image_guidance(1.7)
    scheduler: Scheduler = _scheduler("euler-ancestral")
    size: int | None = _size(512)


class InstructDiffusionSettings(DiffusionSettings):
    guidance: float | None = _guidance(5.0)
    image_guidance: float | None = _image_guidance(1.25)
    scheduler: Scheduler = _scheduler("euler-ancestral")
    size: int | None = _size(512)
    config: str = Field(
        default="timbrooks/instruct-pix2pix",
        description="folder or hub id with the configuration of a single file",
    )


class FluxKontextSettings(DiffusionSettings):
    model: str = _model("black-forest-labs/FLUX.1-Kontext-dev")
    steps: int = _steps(28)
    guidance: float | None = _guidance(2.5)
    size: int | None = _size(1024)


class QwenImageEditSettings(DiffusionSettings):
    model: str = _model("Qwen/Qwen-Image-Edit-2509")
    steps: int = _steps(40)
    true_cfg: float | None = _true_cfg(4.0)
    size: int | None = _size(1024)


#: Where the case's own words go in a text that says more.
INSTRUCTION = "{instruction}"


class ICEditSettings(DiffusionSettings):
    model: str = _model("black-forest-labs/FLUX.1-Fill-dev")
    steps: int = _steps(28)
    guidance: float | None = _guidance(50.0)
    size: int | None = _size(512)
    lora: str = _lora("RiverZ/normal-lora")
    wording: str = Field(
        default="A diptych of one picture. Left: the original. Right: the same picture after this "
        f"edit, all else unchanged: {INSTRUCTION}",
        description=f"what the model is told; {INSTRUCTION} stands for the case's own words",
    )

    @field_validator("wording")
    @classmethod
    def _once(cls, value: str) -> str:
        if value.count(INSTRUCTION) != 1:
            raise ValueError(f"must contain {INSTRUCTION} exactly once")
        return value


class PhantomEditorSettings(DiffusionSettings):
    model: str = _model(BUILTIN)
    steps: int = _steps(8)
    guidance: float | None = _guidance(1.0)
    image_guidance: float | None = _image_guidance(1.0)
    size: int | None = _size(256)
