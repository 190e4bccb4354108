"""`medebench train phantom-editor`: from nothing to the pipeline that ships."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.drawings import render, sample
from medebench.phantoms.training.latents import Projection, cell_shares, fit, make_autoencoder
from medebench.phantoms.training.loop import Bar, draw_curve, same_recipe
from medebench.phantoms.training.model_recipes import EditorRecipe
from medebench.phantoms.training.phantom_editor.editor_fit import TrainPairs, learn, wordings
from medebench.phantoms.training.pipeline_folder import (
    GROUPS,
    PipelineParts,
    kept_tokenizer,
    make_scheduler,
    make_text_encoder,
    unet_settings,
)
from medebench.phantoms.training.render_pool import Chunk, draw_chunks, read_chunks

if TYPE_CHECKING:
    from diffusers import UNet2DConditionModel
#: Phantoms in a file of drawings: a multiple of the number of organs.
CHUNK = 260
#: Of the network's start, see `_begin_as_copy`.
CONSTANT, STRAIGHT = 6.0, 8.0


def train_phantom_editor(work: Path, out: Path, recipe: EditorRecipe, bar: Bar) -> None:
    """Draw, fit, learn and save the pipeline to `out`; `work` keeps what lets it continue."""
    import torch
    from diffusers import StableDiffusionInstructPix2PixPipeline

    same_recipe(work / "recipe.json", recipe)
    with bar("drawing phantoms") as progress:
        folder, seed = work / "phantoms", recipe.seed
        draw_chunks(draw_chunk, folder, recipe.phantoms, CHUNK, seed, progress=progress)
    drawn = read_chunks(folder, recipe.fitted, CHUNK)
    pictures = np.concatenate([chunk["prev"] for chunk in drawn])
    projection = fit(pictures, recipe)
    pairs = _pairs(work, projection, recipe)
    texts = [text for one in pairs.words for text in one.texts]
    tokenizer = kept_tokenizer(work / "tokenizer", texts, recipe)
    torch.manual_seed(recipe.seed)
    # In this order: both draw their first weights from the seed.
    text_encoder, unet = make_text_encoder(recipe, tokenizer), make_unet(recipe)
    # The network predicts the clean latents: copying the input is then learned first.
    parts = PipelineParts(unet, text_encoder, tokenizer, make_scheduler("sample"))
    with bar("learning to edit") as progress:
        curve = learn(pairs, parts, projection.scaling, recipe, work, progress)
    vae = make_autoencoder(projection, pictures, recipe)
    parts.save(StableDiffusionInstructPix2PixPipeline, vae, out)
    if curve:
        lines = {"inside": "inside the ROI", "outside": "outside the ROI"}
        draw_curve(curve, work / "loss.png", lines)


def _pairs(work: Path, projection: Projection, recipe: EditorRecipe) -> TrainPairs:
    before: list[NDArray[np.float16]] = []
    after: list[NDArray[np.float16]] = []
    roi: list[NDArray[np.float32]] = []
    for chunk in read_chunks(work / "phantoms", recipe.phantoms, CHUNK):
        for latents, pictures in ((before, chunk["prev"]), (after, chunk["ref"])):
            latents.append(projection.encode(pictures).astype(np.float16))
        roi.append(cell_shares(chunk["roi"] > 127, recipe.cell))
    words = wordings(recipe.phantoms, recipe.seed)
    return TrainPairs(np.concatenate(before), np.concatenate(after), np.concatenate(roi), words)


def draw_chunk(start: int, number: int, seed: int) -> Chunk:
    phantoms = [render(sample(start + offset, seed)) for offset in range(number)]
    parts = {"prev": "previous", "ref": "reference", "roi": "roi"}
    return {key: np.stack([getattr(one, name) for one in phantoms]) for key, name in parts.items()}


def make_unet(recipe: EditorRecipe) -> UNet2DConditionModel:
    from diffusers import UNet2DConditionModel

    unet = UNet2DConditionModel(
        in_channels=2 * recipe.channels,
        down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D"),
        **unet_settings(recipe),
    )
    _begin_as_copy(unet, recipe)
    return unet


def _begin_as_copy(unet: UNet2DConditionModel, recipe: EditorRecipe) -> None:
    """Weights with which the network returns its input picture; what it learns is the difference.

    The outermost skip carries the picture's latents to the last normalisation. Each group there
    also holds a constant and its negative, so large that the group's scale hardly depends on the
    picture; their mean gives back what normalising took away. The rectifier is used where it is
    straight. Every branch that would add to the path begins at zero.
    """
    import torch

    width, size = recipe.widths[0], recipe.widths[0] // GROUPS
    carried = recipe.channels // GROUPS
    # In each group: the latents carried, two constants, and the rest sees the noisy latents.
    constants = [carried, carried + 1]
    deviation = (2 * CONSTANT**2 / size + (size - 2) / size) ** 0.5
    last = unet.up_blocks[-1]
    with torch.no_grad():
        noisy = unet.conv_in.weight[:, : recipe.channels].clone()
        unet.conv_in.weight.zero_()
        unet.conv_in.bias.zero_()
        unet.conv_out.weight.zero_()
        unet.conv_out.bias.zero_()
        for group in range(GROUPS):
            start = group * size
            plus, minus = (start + one for one in constants)
            unet.conv_in.bias[plus], unet.conv_in.bias[minus] = CONSTANT, -CONSTANT
            for channel in range(start + carried + 2, start + size):
                unet.conv_in.weight[channel, : recipe.channels] = noisy[channel]
            for offset in range(carried):
                latent, channel = group * carried + offset, start + offset
                unet.conv_in.weight[channel, recipe.channels + latent, 1, 1] = 1 / recipe.spread
                unet.conv_out.weight[latent, channel, 1, 1] = deviation
                unet.conv_out.weight[latent, [plus, minus], 1, 1] = -deviation / 2
        unet.conv_norm_out.weight.fill_(1.0)
        unet.conv_norm_out.bias.fill_(STRAIGHT)
        joined = last.resnets[-1]
        joined.conv_shortcut.weight.zero_()
        joined.conv_shortcut.weight[:, -width:, 0, 0] = torch.eye(width)
        joined.conv_shortcut.bias.zero_()
        joined.conv2.weight.zero_()
        joined.conv2.bias.zero_()
        last.attentions[-1].proj_out.weight.zero_()
        last.attentions[-1].proj_out.bias.zero_()
