"""Tokenizer, text encoder and scheduler of the pipelines, and the folder they are saved to."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medebench.files import whole_folder
from medebench.phantoms.training.model_recipes import ChestRecipe, EditorRecipe, TextSettings

if TYPE_CHECKING:
    from diffusers import DDIMScheduler, DiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

    from medebench.phantoms.patch_autoencoder import PatchAutoencoder

#: Channels that are normalised together.
GROUPS = 16


@dataclass(frozen=True)
class PipelineParts:
    unet: UNet2DConditionModel
    text_encoder: CLIPTextModel
    tokenizer: CLIPTokenizer
    scheduler: DDIMScheduler

    def save(self, kind: type[DiffusionPipeline], vae: PatchAutoencoder, out: Path) -> None:
        """As a pipeline of this kind, in half precision; `out` is replaced if it is there."""
        import torch

        lacking = {"safety_checker": None, "feature_extractor": None}
        pipe = kind(**vars(self), vae=vae, **lacking, requires_safety_checker=False)
        pipe.to(dtype=torch.float16)
        if out.exists():
            shutil.rmtree(out)
        with whole_folder(out) as folder:
            pipe.save_pretrained(folder)


def make_scheduler(prediction: str, steps_offset: int = 0) -> DDIMScheduler:
    """`prediction` is what the network is asked for: `sample`, the clean latents, or a velocity."""
    from diffusers import DDIMScheduler

    return DDIMScheduler(
        num_train_timesteps=1000,
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        prediction_type=prediction,
        clip_sample=False,
        steps_offset=steps_offset,
        timestep_spacing="trailing",
    )


def unet_settings(recipe: EditorRecipe | ChestRecipe) -> dict[str, Any]:
    """What the U-Nets of the pipelines have in common."""
    return {
        "sample_size": recipe.size // recipe.cell,
        "out_channels": recipe.channels,
        "layers_per_block": 1,
        "block_out_channels": recipe.widths,
        "mid_block_type": None,
        "cross_attention_dim": recipe.text_width,
        "attention_head_dim": recipe.heads,
        "norm_num_groups": GROUPS,
    }


def make_tokenizer(texts: list[str], recipe: TextSettings) -> CLIPTokenizer:
    """A tokenizer of CLIP's kind, its merges learned from `texts`; unknown words become bytes."""
    from tokenizers import Tokenizer, models, trainers
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import CLIPTokenizer

    start, end = "<|startoftext|>", "<|endoftext|>"
    alphabet = sorted(ByteLevel.alphabet())
    room = recipe.vocabulary - 2 * len(alphabet) - 2
    if room <= len(alphabet):
        # Words would be read letter by letter, and most of a text be cut off.
        raise ValueError(
            f"a vocabulary of {recipe.vocabulary} leaves no room for words; make it larger"
        )
    blank = CLIPTokenizer(vocab={start: 0, end: 1}, merges=[], model_max_length=recipe.tokens)
    ends: Any = {"end_of_word_suffix": "</w>"}
    learner = Tokenizer(models.BPE(**ends))
    learner.normalizer = blank.backend_tokenizer.normalizer
    learner.pre_tokenizer = blank.backend_tokenizer.pre_tokenizer
    how: Any = {"vocab_size": room, "initial_alphabet": alphabet, "show_progress": False}
    learner.train_from_iterator(texts, trainers.BpeTrainer(**how, **ends))
    learned = json.loads(learner.to_str())["model"]
    pieces = [*alphabet, *(f"{letter}</w>" for letter in alphabet)]
    known = dict.fromkeys([*pieces, *learned["vocab"]])
    vocabulary = {piece: number for number, piece in enumerate([*known, start, end])}
    merges = [tuple(pair) if isinstance(pair, list) else pair for pair in learned["merges"]]
    return CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=recipe.tokens)


def kept_tokenizer(folder: Path, texts: list[str], recipe: TextSettings) -> CLIPTokenizer:
    """The tokenizer in `folder`, learned there the first time.

    Learning breaks ties differently from process to process; a continued training must read the
    same numbers as before.
    """
    from transformers import CLIPTokenizer

    if not folder.is_dir():
        made = make_tokenizer(texts, recipe)
        with whole_folder(folder) as staging:
            made.save_pretrained(staging)
    kept: CLIPTokenizer = CLIPTokenizer.from_pretrained(folder)
    return kept


def make_text_encoder(recipe: TextSettings, tokenizer: CLIPTokenizer) -> CLIPTextModel:
    from transformers import CLIPTextModel

    return CLIPTextModel(text_config(recipe, tokenizer, recipe.text_width))


def text_config(recipe: TextSettings, tokenizer: CLIPTokenizer, projection: int) -> CLIPTextConfig:
    from transformers import CLIPTextConfig

    return CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=recipe.text_width,
        intermediate_size=2 * recipe.text_width,
        projection_dim=projection,
        num_hidden_layers=recipe.text_layers,
        num_attention_heads=recipe.heads,
        max_position_embeddings=recipe.tokens,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
