"""The parts of a pipeline that Imagic works with, and what they make of a picture and a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL import Image

from medebench.errors import InputError
from medebench.systems.diffusion.pipeline_loader import Loaded

if TYPE_CHECKING:
    from torch import Tensor

PREDICTIONS = ("epsilon", "v_prediction", "sample")


@dataclass(frozen=True)
class Parts:
    """A pipeline with a U-Net over latents and one text encoder."""

    pipe: Any
    #: InstructPix2Pix's kind: the U-Net sees the input picture in further channels.
    shown: bool

    @property
    def unet(self) -> Any:
        return self.pipe.unet

    @property
    def prediction(self) -> str:
        return str(self.pipe.scheduler.config.prediction_type)

    @property
    def kept(self) -> Tensor:
        """How much of the picture's variance is left at each of the training's timesteps."""
        kept: Tensor = self.pipe.scheduler.alphas_cumprod
        return kept.cpu()

    def encode_text(self, text: str) -> Tensor:
        """What the pipeline itself would make of it, in float32."""
        import torch

        tokenizer, encoder = self.pipe.tokenizer, self.pipe.text_encoder
        words = tokenizer(
            text,
            padding="max_length",
            max_length=tokenizer.model_max_length,
            truncation=True,
            return_tensors="pt",
        )
        mask = None
        if getattr(encoder.config, "use_attention_mask", False):
            mask = words.attention_mask.to(encoder.device)
        with torch.no_grad():
            encoded: Tensor = encoder(words.input_ids.to(encoder.device), attention_mask=mask)[0]
        return encoded.float()

    def encode_picture(self, picture: Image.Image) -> tuple[Tensor, Tensor | None]:
        """The latents that the network is to make, and those it is shown beside the noise."""
        import torch

        vae = self.pipe.vae
        pixels = self.pipe.image_processor.preprocess(picture).to(vae.device, vae.dtype)
        with torch.no_grad():
            encoded = vae.encode(pixels)
        latents = likeliest(encoded).float()
        # As its pipeline does, InstructPix2Pix is shown them as the autoencoder gave them.
        return latents * vae.config.scaling_factor, latents if self.shown else None


def likeliest(encoded: Any) -> Tensor:
    """What an autoencoder made of a picture, without a draw; some give no distribution at all."""
    made: Tensor = (
        encoded.latent_dist.mode() if hasattr(encoded, "latent_dist") else encoded.latents
    )
    return made


def parts_of(loaded: Loaded) -> Parts:
    """The parts; InputError where the pipeline is of another kind."""
    pipe, known = loaded.pipe, loaded.known
    problem = None
    unet = getattr(pipe, "unet", None)
    shown = "image_guidance_scale" in known
    if unet is None or getattr(pipe, "vae", None) is None:
        problem = "has no U-Net over latents"
    elif getattr(pipe, "text_encoder_2", None) is not None or unet.config.addition_embed_type:
        problem = "tells its U-Net more than one text"
    elif "image" in known and not shown:
        problem = "begins with a picture"
    elif unet.config.in_channels != pipe.vae.config.latent_channels * (2 if shown else 1):
        problem = f"has a U-Net of {unet.config.in_channels} channels"
    elif not hasattr(pipe.scheduler, "alphas_cumprod"):
        problem = f"has a {type(pipe.scheduler).__name__}, whose noise is of another kind"
    elif pipe.scheduler.config.prediction_type not in PREDICTIONS:
        problem = f"predicts {pipe.scheduler.config.prediction_type}"
    if problem is not None:
        raise InputError(
            f"imagic: {loaded.kind} {problem}; "
            "use a pipeline of the class StableDiffusionPipeline or of InstructPix2Pix's kind"
        )
    return Parts(pipe, shown)
