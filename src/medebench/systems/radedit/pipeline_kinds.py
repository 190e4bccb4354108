"""The kinds of pipelines that can be edited with, and which kind one is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from medebench.errors import InputError
from medebench.systems.diffusion.pipeline_loader import Loaded
from medebench.systems.radedit.latent_network import Network, Text
from medebench.systems.radedit.noise_path import Path, Prediction, flow_path

if TYPE_CHECKING:
    from torch import Tensor

PREDICTIONS: tuple[Prediction, ...] = ("epsilon", "v_prediction", "sample")


class StableNetwork(Network):
    """A U-Net that is told one text: Stable Diffusion 1 and 2, RadEdit, the built-in models."""

    part = "unet"

    def read(self, texts: Sequence[str]) -> Text:
        states, _ = self.pipe.encode_prompt(list(texts), self.device, 1, False)
        return Text(states)

    def _predict(self, latents: Tensor, timestep: float, text: Text) -> Tensor:
        made: Tensor = self.denoiser(
            latents,
            int(timestep),
            encoder_hidden_states=text.states,
            return_dict=False,
            **self._told(latents, text),
        )[0]
        return made

    def _told(self, latents: Tensor, text: Text) -> dict[str, Any]:
        return {}


class XlNetwork(StableNetwork):
    """SDXL: two encoders, and a U-Net that is told the pooled text and the picture's size."""

    def read(self, texts: Sequence[str]) -> Text:
        import torch

        states, _, pooled, _ = self.pipe.encode_prompt(
            list(texts), device=self.device, do_classifier_free_guidance=False
        )
        if self.pipe.config.get("force_zeros_for_empty_prompt", False):
            # What the model was trained to take for no text at all.
            said = torch.tensor([bool(one) for one in texts], device=states.device)
            states, pooled = states * said[:, None, None], pooled * said[:, None]
        return Text(states, {"text_embeds": pooled})

    def _told(self, latents: Tensor, text: Text) -> dict[str, Any]:
        import torch

        cell = self.pipe.vae_scale_factor
        size = [one * cell for one in latents.shape[-2:]]
        ids = torch.tensor([[*size, 0, 0, *size]], dtype=text.states.dtype, device=latents.device)
        return {"added_cond_kwargs": {**text.more, "time_ids": ids.repeat(len(latents), 1)}}


class FlowNetwork(Network):
    """Stable Diffusion 3: a transformer over latents, trained by flow matching."""

    part = "transformer"

    @property
    def prediction(self) -> Prediction:
        return "flow"

    def path(self, steps: int, width: int, height: int) -> Path:
        """The scheduler's own levels, which lean to the noisy side as the model was trained."""
        ours = type(self.pipe.scheduler).from_config(self.pipe.scheduler.config)
        config, more = ours.config, {}
        if config.get("use_dynamic_shifting"):
            cells = (width * height) / (self.pipe.vae_scale_factor * self.pipe.patch_size) ** 2
            low, high = config.base_image_seq_len, config.max_image_seq_len
            slope = (config.max_shift - config.base_shift) / (high - low)
            more = {"mu": config.base_shift + slope * (cells - low)}
        ours.set_timesteps(steps, **more)
        return flow_path(ours.timesteps.tolist(), ours.sigmas[:-1].double().tolist())

    def read(self, texts: Sequence[str]) -> Text:
        states, _, pooled, _ = self.pipe.encode_prompt(
            list(texts), None, None, device=self.device, do_classifier_free_guidance=False
        )
        return Text(states, {"pooled_projections": pooled})

    def _predict(self, latents: Tensor, timestep: float, text: Text) -> Tensor:
        import torch

        times = torch.full((len(latents),), timestep, device=latents.device)
        made: Tensor = self.denoiser(
            hidden_states=latents,
            timestep=times,
            encoder_hidden_states=text.states,
            return_dict=False,
            **text.more,
        )[0]
        return made


class PixArtNetwork(Network):
    """PixArt: a transformer that predicts noise, told which tokens of the text count."""

    part = "transformer"

    def read(self, texts: Sequence[str]) -> Text:
        states, mask, *_ = self.pipe.encode_prompt(list(texts), False, device=self.device)
        return Text(states, {"encoder_attention_mask": mask})

    def _predict(self, latents: Tensor, timestep: float, text: Text) -> Tensor:
        import torch

        count = len(latents)
        size: dict[str, Any] = {"resolution": None, "aspect_ratio": None}
        if self.denoiser.use_additional_conditions:
            height, width = (one * self.pipe.vae_scale_factor for one in latents.shape[-2:])
            facts = {"resolution": [height, width], "aspect_ratio": [height / width]}
            size = {key: latents.new_tensor([one]).repeat(count, 1) for key, one in facts.items()}
        made: Tensor = self.denoiser(
            latents,
            encoder_hidden_states=text.states,
            timestep=torch.full((count,), int(timestep), device=latents.device),
            added_cond_kwargs=size,
            return_dict=False,
            **text.more,
        )[0]
        # Some also predict a spread, in further channels.
        return made[:, : latents.shape[1]]


_TRANSFORMERS: dict[str, type[Network]] = {
    "StableDiffusion3Pipeline": FlowNetwork,
    "PixArtAlphaPipeline": PixArtNetwork,
    "PixArtSigmaPipeline": PixArtNetwork,
}


def network_of(loaded: Loaded) -> Network:
    """The network of a pipeline; InputError, in one line, where it is of another kind."""
    pipe = loaded.pipe
    kind = _TRANSFORMERS.get(loaded.kind)
    unet = getattr(pipe, "unet", None)
    problem = None
    if "image" in loaded.known:
        problem = "begins with a picture"
    elif getattr(pipe, "vae", None) is None or not hasattr(pipe, "encode_prompt"):
        problem = "has no latents, or reads texts in a way of its own"
    elif kind is None and unet is not None:
        kind, problem = _unet_kind(pipe)
    elif kind is None:
        problem = "is a transformer of another kind"
    if problem is None:
        problem = _noise_problem(pipe, flow=kind is FlowNetwork)
    if problem is not None or kind is None:
        raise InputError(
            f"radedit: {loaded.kind} {problem}; use a text-to-image pipeline over latents: "
            "Stable Diffusion 1, 2, XL or 3, or PixArt"
        )
    return kind(pipe)


def _unet_kind(pipe: Any) -> tuple[type[Network] | None, str | None]:
    config = pipe.unet.config
    if config.in_channels != pipe.vae.config.latent_channels:
        return None, f"has a U-Net of {config.in_channels} channels"
    if config.get("time_cond_proj_dim") is not None:
        return None, "is distilled to few steps"
    if config.get("addition_embed_type") is None:
        return StableNetwork, None
    if config.addition_embed_type == "text_time" and hasattr(pipe, "text_encoder_2"):
        return XlNetwork, None
    return None, "tells its U-Net more than a text"


def _noise_problem(pipe: Any, flow: bool) -> str | None:
    """Why the levels of noise cannot be told, or the prediction not be read."""
    scheduler = pipe.scheduler
    if flow:
        flows = type(scheduler).__name__.startswith("FlowMatch")
        return None if flows else f"has a {type(scheduler).__name__} and not one of flow matching"
    if not hasattr(scheduler, "alphas_cumprod"):
        return f"has a {type(scheduler).__name__}, whose noise is of another kind"
    said = scheduler.config.get("prediction_type")
    return None if said in PREDICTIONS else f"predicts {said}"
