"""U-Net and scheduler of the pipeline, as stock classes of diffusers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from medebench.phantoms.training.phantom_editor.editor_recipe import EditorRecipe

if TYPE_CHECKING:
    from diffusers import UNet2DConditionModel

GROUPS = 16
#: Of the network's start, see `_begin_as_copy`.
CONSTANT, STRAIGHT = 6.0, 8.0


def make_unet(recipe: EditorRecipe) -> UNet2DConditionModel:
    from diffusers import UNet2DConditionModel

    unet = UNet2DConditionModel(
        sample_size=recipe.size // recipe.cell,
        in_channels=2 * recipe.channels,
        out_channels=recipe.channels,
        layers_per_block=1,
        block_out_channels=recipe.widths,
        down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D"),
        mid_block_type=None,
        cross_attention_dim=recipe.text_width,
        attention_head_dim=recipe.heads,
        norm_num_groups=GROUPS,
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
