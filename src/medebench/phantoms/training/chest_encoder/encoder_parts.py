"""The model as stock classes of transformers, in a folder like any published one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from medebench.files import write_text
from medebench.phantoms.training.chest_encoder.encoder_recipe import EncoderRecipe
from medebench.phantoms.training.text_parts import text_config

if TYPE_CHECKING:
    from transformers import CLIPTokenizer, VisionTextDualEncoderModel

#: Grey from black to white becomes -1 to 1.
MIDDLE = 0.5


def make_encoder(recipe: EncoderRecipe, tokenizer: CLIPTokenizer) -> VisionTextDualEncoderModel:
    from transformers import (
        ConvNextConfig,
        VisionTextDualEncoderConfig,
        VisionTextDualEncoderModel,
    )

    sees = ConvNextConfig(
        image_size=recipe.size,
        patch_size=recipe.patch,
        hidden_sizes=list(recipe.widths),
        depths=list(recipe.depths),
        # The dual encoder asks for it, and ConvNeXt has several.
        hidden_size=recipe.widths[-1],
        # Made for networks of many blocks, where each begins as almost nothing.
        layer_scale_init_value=0.0,
    )
    reads = text_config(recipe, tokenizer, recipe.numbers)
    config = VisionTextDualEncoderConfig.from_vision_text_configs(
        sees, reads, projection_dim=recipe.numbers
    )
    return VisionTextDualEncoderModel(config)


def save_encoder(
    folder: Path,
    network: VisionTextDualEncoderModel,
    tokenizer: CLIPTokenizer,
    recipe: EncoderRecipe,
) -> None:
    """Into an existing folder, in half precision."""
    network.half().save_pretrained(folder)
    # How it was called last would be saved along with it.
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.save_pretrained(folder)
    said = {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": recipe.size, "width": recipe.size},
        "resample": 3,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": [MIDDLE] * 3,
        "image_std": [MIDDLE] * 3,
    }
    write_text(folder / "preprocessor_config.json", json.dumps(said, indent=2) + "\n")
