"""Imagic (Kawar et al., 2023) on the parts of a text-to-image pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from PIL import Image
from pydantic import Field, field_validator

from medebench.device import choose_device, out_of_memory
from medebench.errors import InputError
from medebench.outputs import Output
from medebench.quiet import quiet
from medebench.systems.diffusion.diffusion_device import BYTES, ROOM, SMALL, lack_of_memory
from medebench.systems.diffusion.diffusion_editor import DiffusionEditor
from medebench.systems.diffusion.diffusion_settings import DiffusionSettings, without_effect
from medebench.systems.diffusion.model_frame import Frame
from medebench.systems.diffusion.pipeline_weights import Weights
from medebench.systems.request import Refused, Request

if TYPE_CHECKING:
    from torch import Tensor

    from medebench.systems.imagic.pipeline_parts import Parts


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


@dataclass(frozen=True)
class Learned:
    """The instruction and the text learned from the picture, as the network reads them."""

    target: Tensor
    own: Tensor
    #: Before learning, with the text learned, with the network tuned.
    losses: tuple[float, float, float]

    def text(self, alpha: float) -> Tensor:
        return alpha * self.target + (1 - alpha) * self.own

    def facts(self, alpha: float) -> dict[str, Any]:
        losses = {"embedding_loss": self.losses[:2], "network_loss": self.losses[1:]}
        return {"alpha": alpha, **{name: list(pair) for name, pair in losses.items()}}


class Imagic(DiffusionEditor):
    """Learns a text for the input picture, tunes the network to it, moves towards the instruction.

    One case at a time; after each the network is what it was.
    """

    summary = "Imagic with the paper's settings: learns each picture before it edits"
    Settings = ImagicSettings
    _accept = ("prompt", "prompt_embeds")
    _held = (*DiffusionEditor._held, "_parts")
    needs = "weights; a GPU of 24 GB, minutes a case"
    example = "imagic:alpha=1.35,guidance=7.6"

    settings: ImagicSettings

    def prepare(self) -> None:
        super().prepare()
        with self._lock:
            _ = self._parts

    def _memory_problem(self, weights: Weights) -> str | None:
        settings = self.settings
        parts = weights.bytes_by_part(BYTES[settings.dtype])
        whole = sum(parts.values())
        if whole < SMALL:
            return None
        place = choose_device(settings.device)
        network = parts.get("unet", 0) if settings.network_steps else 0
        # Gradients and Adam's two averages; what the network was is kept in main memory.
        needed = {place: whole * ROOM + 3 * network}
        needed["cpu"] = needed.get("cpu", 0.0) + network
        hint = "try network_steps=0" if network else "use a machine with more"
        return lack_of_memory(weights, needed, f"to learn in {settings.dtype}", lambda _: hint)

    @cached_property
    def _parts(self) -> Parts:
        from medebench.systems.imagic.pipeline_parts import parts_of

        parts = parts_of(self._loaded)
        weight = self.settings.guidance
        weight = self._loaded.known["guidance_scale"] if weight is None else weight
        if self.settings.negative_prompt and weight <= 1:
            raise InputError("negative_prompt: has no effect without guidance above 1")
        return parts

    def _run(self, requests: list[Request], frames: list[Frame]) -> list[Output | Refused]:
        pairs = zip(requests, frames, strict=True)
        return [self._edited(*one, [self.settings.alpha])[0] for one in pairs]

    def _edited(
        self, request: Request, frame: Frame, alphas: Sequence[float]
    ) -> list[Output | Refused]:
        import torch

        from medebench.systems.imagic.imagic_fit import Diverged, left_as_it_was

        parts, settings = self._parts, self.settings
        picture = frame.to_model(request.case.previous, request.case.data_range)
        try:
            with (
                quiet("diffusers", "transformers"),
                torch.inference_mode(False),
                left_as_it_was(parts.unet, settings.network_steps > 0, settings.checkpointing),
            ):
                learned = self._learn(request, picture)
                return [self._sample(request, frame, picture, learned, one) for one in alphas]
        except Diverged as error:
            reason = str(error)
        except Exception as error:
            if not out_of_memory(error):
                raise
            reason = "out of memory; lower size, or use checkpointing=true or network_steps=0"
        # Made outside the handler: the error holds on to all that was being learned.
        return [Refused(reason) for _ in alphas]

    def _learn(self, request: Request, picture: Image.Image) -> Learned:
        from medebench.systems.imagic.imagic_fit import Denoising, Diverged, Draws, learn, probe

        settings, parts = self.settings, self._parts
        target = parts.encode_text(request.instruction)
        task = Denoising(parts.unet, parts.kept, parts.prediction, *parts.encode_picture(picture))
        draws = Draws(task, request.generator())
        parts.unet.requires_grad_(False)
        own = target.clone().requires_grad_(True)
        stage = "embedding"
        try:
            first = probe(task, own, draws, "the start")
            learn(task, own, [own], settings.embedding_rate, settings.embedding_steps, draws)
            own.requires_grad_(False)
            stage, between = "network", probe(task, own, draws)
            last = between
            if settings.network_steps:
                parts.unet.requires_grad_(True)
                weights = list(parts.unet.parameters())
                learn(task, own, weights, settings.network_rate, settings.network_steps, draws)
                parts.unet.requires_grad_(False)
                last = probe(task, own, draws)
        except Diverged as error:
            remedy = "" if self._loaded.dtype == "float32" else ", or use dtype=float32"
            raise Diverged(
                f"the loss became infinite or NaN at {error} of the {stage}; "
                f"lower {stage}_rate{remedy}"
            ) from None
        return Learned(target, own, (first, between, last))

    def _sample(
        self, request: Request, frame: Frame, picture: Image.Image, learned: Learned, alpha: float
    ) -> Output | Refused:
        """The pipeline's own call, which is given the text between the two."""
        import torch

        from medebench.systems.diffusion.pipeline_call import call_arguments

        parts, settings = self._parts, self.settings
        arguments = call_arguments(
            self._loaded, settings, [picture], [request.instruction], [request.seed]
        )
        for name in ("prompt", "negative_prompt", *(() if parts.shown else ("image",))):
            arguments.pop(name, None)
        texts = {
            "prompt_embeds": learned.text(alpha),
            "negative_prompt_embeds": parts.encode_text(settings.negative_prompt),
        }
        arguments |= {name: text.to(parts.unet.dtype) for name, text in texts.items()}
        width, height = frame.canvas
        with torch.inference_mode(), self._looking.at([request]) as seen:
            result = self._loaded.pipe(**arguments)
        (looked,) = seen.maps(width, height)
        (blackened,) = getattr(result, "nsfw_content_detected", None) or [False]
        facts = {"imagic": learned.facts(alpha)}
        return self._made(result.images[0], frame, looked, bool(blackened), facts)


def edit_at(imagic: Imagic, request: Request, alphas: Sequence[float]) -> list[Output | Refused]:
    """The same edit for each alpha; the picture is learned once."""
    with imagic._lock:
        return imagic._edited(request, imagic._frame(request), alphas)
