"""The loss of flow matching written out once more, from the parts of a pipeline and plain torch.

Nothing of the pipelines' own helpers is used: texts go through tokenizers and encoders by hand,
pictures through the autoencoder, and cells become tokens by `pixel_unshuffle`. Each pair is seen
alone, without any filling up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image

from medebench.tuning.pairs import TrainPair

Loss = Callable[[Any, Sequence[TrainPair], Any, float], torch.Tensor]


def values(pixels: np.ndarray) -> torch.Tensor:
    return torch.tensor(pixels).permute(2, 0, 1)[None] / 255 * 2 - 1


def tokens(latents: torch.Tensor) -> torch.Tensor:
    """Of 2 x 2 cells."""
    return torch.nn.functional.pixel_unshuffle(latents, 2).flatten(2).transpose(1, 2)


def places(height: int, width: int, first: float) -> torch.Tensor:
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    return torch.stack([torch.full_like(rows, int(first)), rows, columns], -1).reshape(-1, 3)


def roi_weight(pair: TrainPair, cell: int, inside: float) -> torch.Tensor:
    """(1, 1, height, width) of cells of so many pixels."""
    height, width = pair.roi.shape
    share = pair.roi.reshape(height // cell, cell, width // cell, cell).mean((1, 3))
    return torch.tensor(1 + (inside - 1) * share, dtype=torch.float32)[None, None]


def together(
    pairs: Sequence[TrainPair], draw: Any, one: Callable[..., tuple[torch.Tensor, torch.Tensor]]
) -> torch.Tensor:
    """Sums of weighted squared errors and of weights over all pairs, and their ratio."""
    made = [
        one(pair, noise[None], time[None], bool(no_text))
        for pair, noise, time, no_text in zip(
            pairs, draw.noise, draw.times, draw.no_text, strict=True
        )
    ]
    error, weight = (torch.stack([pair[place] for pair in made]).sum() for place in (0, 1))
    return error / weight


def kontext(pipe: Any, pairs: Sequence[TrainPair], draw: Any, inside: float) -> torch.Tensor:
    def encode(pixels: np.ndarray) -> torch.Tensor:
        config = pipe.vae.config
        mean = pipe.vae.encode(values(pixels)).latent_dist.mean
        return (mean - config.shift_factor) * config.scaling_factor

    def read(text: str) -> tuple[torch.Tensor, torch.Tensor]:
        short = pipe.tokenizer([text], padding="max_length", max_length=77, return_tensors="pt")
        long = pipe.tokenizer_2([text], padding="max_length", max_length=512, return_tensors="pt")
        pooled = pipe.text_encoder(short.input_ids).pooler_output
        return pipe.text_encoder_2(long.input_ids)[0], pooled

    def one(
        pair: TrainPair, noise: torch.Tensor, time: torch.Tensor, no_text: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            target, before = encode(pair.target), encode(pair.previous)
            prompt, pooled = read(pair.prompt)
        height, width = (side // 2 for side in target.shape[-2:])
        noisy = tokens(target + time * (noise - target))
        said = pipe.transformer(
            hidden_states=torch.cat([noisy, tokens(before)], 1),
            encoder_hidden_states=prompt,
            pooled_projections=pooled,
            timestep=time,
            guidance=torch.ones(1),
            txt_ids=torch.zeros(512, 3),
            img_ids=torch.cat([places(height, width, 0), places(height, width, 1)]).float(),
        ).sample[:, : height * width]
        weight = roi_weight(pair, 4, inside).expand(target.shape)
        error = tokens(weight) * (said - tokens(noise - target)) ** 2
        return error.sum(), weight.sum()

    return together(pairs, draw, one)


def _flux2(
    pipe: Any,
    pairs: Sequence[TrainPair],
    draw: Any,
    inside: float,
    layers: tuple[int, ...],
    ask: Callable[[str], Any],
    guidance: torch.Tensor | None,
) -> torch.Tensor:
    def encode(pixels: np.ndarray) -> torch.Tensor:
        mean = pipe.vae.encode(values(pixels)).latent_dist.mean
        bn = pipe.vae.bn
        joined = torch.nn.functional.pixel_unshuffle(mean, 2)
        return torch.nn.functional.batch_norm(
            joined, bn.running_mean, bn.running_var, eps=pipe.vae.config.batch_norm_eps
        )

    def read(text: str) -> torch.Tensor:
        asked = ask(text)
        states = pipe.text_encoder(
            input_ids=asked["input_ids"],
            attention_mask=asked["attention_mask"],
            output_hidden_states=True,
        ).hidden_states
        return torch.cat([states[layer] for layer in layers], dim=-1)

    def line(latents: torch.Tensor) -> torch.Tensor:
        return latents.flatten(2).transpose(1, 2)

    def one(
        pair: TrainPair, noise: torch.Tensor, time: torch.Tensor, no_text: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            target, before = encode(pair.target), encode(pair.previous)
            prompt = read("" if no_text else pair.prompt)
        height, width = target.shape[-2:]
        noisy = (1 - time) * target + time * noise
        where = torch.cat([places(height, width, 0), places(height, width, 10)])
        said = pipe.transformer(
            hidden_states=torch.cat([line(noisy), line(before)], 1),
            encoder_hidden_states=prompt,
            timestep=time,
            guidance=guidance,
            txt_ids=torch.nn.functional.pad(torch.arange(512)[:, None], (3, 0))[None],
            img_ids=torch.nn.functional.pad(where, (0, 1))[None],
        ).sample[:, : height * width]
        weight = roi_weight(pair, 8, inside).expand(target.shape)
        error = line(weight) * (said - line(noise - target)) ** 2
        return error.sum(), weight.sum()

    return together(pairs, draw, one)


def flux2(pipe: Any, pairs: Sequence[TrainPair], draw: Any, inside: float) -> torch.Tensor:
    from diffusers.pipelines.flux2.system_messages import SYSTEM_MESSAGE

    def ask(text: str) -> Any:
        words = f"[system]{SYSTEM_MESSAGE}[END][user]{text}[END]"
        return pipe.tokenizer(
            [words], padding="max_length", truncation=True, max_length=512, return_tensors="pt"
        )

    return _flux2(pipe, pairs, draw, inside, (10, 20, 30), ask, torch.ones(1))


def flux2_klein(pipe: Any, pairs: Sequence[TrainPair], draw: Any, inside: float) -> torch.Tensor:
    def ask(text: str) -> Any:
        words = f"<|im_start|>user\n{text}<|im_end|>\n"
        return pipe.tokenizer([words], padding="max_length", max_length=512, return_tensors="pt")

    return _flux2(pipe, pairs, draw, inside, (9, 18, 27), ask, None)


def _qwen(
    pipe: Any,
    pairs: Sequence[TrainPair],
    draw: Any,
    inside: float,
    sides: tuple[int, int],
    begin: str,
) -> torch.Tensor:
    """`sides` of the squares that the encoder and the autoencoder are shown."""

    def encode(pixels: np.ndarray) -> torch.Tensor:
        mean = pipe.vae.encode(values(pixels)[:, :, None]).latent_dist.mean[:, :, 0]
        middle, spread = (
            torch.tensor(one).view(1, -1, 1, 1)
            for one in (pipe.vae.config.latents_mean, pipe.vae.config.latents_std)
        )
        return (mean - middle) / spread

    def read(text: str, pixels: np.ndarray) -> torch.Tensor:
        words = pipe.prompt_template_encode.format(begin + text)
        asked = pipe.processor(text=[words], images=[square(pixels, sides[0])], return_tensors="pt")
        states = pipe.text_encoder(**asked, output_hidden_states=True).hidden_states[-1]
        return states[:, 64:]

    def one(
        pair: TrainPair, noise: torch.Tensor, time: torch.Tensor, no_text: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            target = encode(pair.target)
            before = encode(np.asarray(square(pair.previous, sides[1])))
            prompt = read(" " if no_text else pair.prompt, pair.previous)
        shapes = [(1, one.shape[-2] // 2, one.shape[-1] // 2) for one in (target, before)]
        noisy = tokens((1 - time) * target + time * noise)
        said = pipe.transformer(
            hidden_states=torch.cat([noisy, tokens(before)], 1),
            encoder_hidden_states=prompt,
            encoder_hidden_states_mask=None,
            timestep=time,
            img_shapes=[shapes],
        ).sample[:, : noisy.shape[1]]
        weight = roi_weight(pair, 4, inside).expand(target.shape)
        error = tokens(weight) * (said - tokens(noise - target)) ** 2
        return error.sum(), weight.sum()

    return together(pairs, draw, one)


def square(pixels: np.ndarray, side: int) -> Image.Image:
    return Image.fromarray(pixels).resize((side, side), Image.Resampling.LANCZOS)


def qwen(pipe: Any, pairs: Sequence[TrainPair], draw: Any, inside: float) -> torch.Tensor:
    mark = "<|vision_start|><|image_pad|><|vision_end|>"
    return _qwen(pipe, pairs, draw, inside, (32, 64), f"Picture 1: {mark}")


def qwen_first(pipe: Any, pairs: Sequence[TrainPair], draw: Any, inside: float) -> torch.Tensor:
    return _qwen(pipe, pairs, draw, inside, (64, 64), "")
