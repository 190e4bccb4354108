"""The parts of the pipeline, as stock classes of diffusers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from medebench.phantoms.training.chest_model.chest_recipe import ChestRecipe

if TYPE_CHECKING:
    from diffusers import UNet2DConditionModel


def make_unet(recipe: ChestRecipe) -> UNet2DConditionModel:
    from diffusers import UNet2DConditionModel

    return UNet2DConditionModel(
        sample_size=recipe.size // recipe.cell,
        in_channels=recipe.channels,
        out_channels=recipe.channels,
        layers_per_block=1,
        block_out_channels=recipe.widths,
        # Attention over 32 x 32 cells would cost as much as all the rest.
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        mid_block_type=None,
        cross_attention_dim=recipe.text_width,
        attention_head_dim=recipe.heads,
        norm_num_groups=16,
    )
