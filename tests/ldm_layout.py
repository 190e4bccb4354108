"""A pipeline folder of InstructPix2Pix as one file in the layout that the authors publish.

The published checkpoints come from the latent-diffusion code, which names layers in its own way:
`model.diffusion_model.*`, `first_stage_model.*`, `cond_stage_model.transformer.*`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor

_UNET_ENDS = {
    "time_embedding.linear_1": "time_embed.0",
    "time_embedding.linear_2": "time_embed.2",
    "conv_in": "input_blocks.0.0",
    "conv_norm_out": "out.0",
    "conv_out": "out.2",
}
_UNET_RESNET = {
    "norm1": "in_layers.0",
    "conv1": "in_layers.2",
    "norm2": "out_layers.0",
    "conv2": "out_layers.3",
    "time_emb_proj": "emb_layers.1",
    "conv_shortcut": "skip_connection",
}
_VAE_NAMES = {
    r"mid_block\.attentions\.0": "mid.attn_1",
    r"group_norm": "norm",
    r"to_([qkv])\b": r"\1",
    r"to_out\.0": "proj_out",
    r"conv_norm_out": "norm_out",
    r"conv_shortcut": "nin_shortcut",
    r"down_blocks\.(\d+)\.resnets": r"down.\1.block",
    r"down_blocks\.(\d+)\.downsamplers\.0": r"down.\1.downsample",
}


def write_single_file(folder: Path, path: Path) -> Path:
    """Store the weights of a tiny pipeline in one file."""
    layers = json.loads((folder / "unet" / "config.json").read_text())["layers_per_block"]
    ups = len(json.loads((folder / "vae" / "config.json").read_text())["up_block_types"])
    everything: dict[str, Tensor] = {}
    for name, value in _read(folder / "unet").items():
        everything[f"model.diffusion_model.{_unet_name(name, layers + 1)}"] = value
    for name, value in _read(folder / "vae").items():
        # There, the autoencoder's attention is made of convolutions.
        is_attention = "attentions" in name and value.ndim == 2
        stored = value[:, :, None, None] if is_attention else value
        everything[f"first_stage_model.{_vae_name(name, ups)}"] = stored.contiguous()
    for name, value in _read(folder / "text_encoder").items():
        plain = name.removeprefix("text_model.")
        everything[f"cond_stage_model.transformer.text_model.{plain}"] = value
    save_file(everything, path)
    return path


def _read(folder: Path) -> dict[str, Tensor]:
    (file,) = folder.glob("*.safetensors")
    return load_file(file)


def _unet_name(name: str, layers: int) -> str:
    for ours, theirs in _UNET_ENDS.items():
        if name.startswith(f"{ours}."):
            return theirs + name[len(ours) :]
    if found := re.fullmatch(r"mid_block\.(resnets|attentions)\.(\d)\.(.*)", name):
        kind, number, rest = found[1], int(found[2]), found[3]
        return f"middle_block.{2 * number if kind == 'resnets' else 1}.{_within(kind, rest)}"
    found = re.fullmatch(r"(down|up)_blocks\.(\d)\.(\w+)\.(\d)\.(.*)", name)
    assert found is not None, name
    side, block, kind, layer, rest = found[1], int(found[2]), found[3], int(found[4]), found[5]
    if kind == "downsamplers":
        return f"input_blocks.{1 + block * layers + layers - 1}.0.{rest.replace('conv', 'op')}"
    if kind == "upsamplers":
        return f"output_blocks.{block * layers + layers - 1}.2.{rest}"
    place = block * layers + layer
    start = f"input_blocks.{1 + place}" if side == "down" else f"output_blocks.{place}"
    return f"{start}.{0 if kind == 'resnets' else 1}.{_within(kind, rest)}"


def _within(kind: str, rest: str) -> str:
    if kind == "attentions":
        return rest
    part, _, end = rest.partition(".")
    return f"{_UNET_RESNET[part]}.{end}"


def _vae_name(name: str, ups: int) -> str:
    for pattern, theirs in _VAE_NAMES.items():
        name = re.sub(pattern, theirs, name)
    name = re.sub(r"mid_block\.resnets\.(\d)", lambda m: f"mid.block_{int(m[1]) + 1}", name)
    return re.sub(
        r"up_blocks\.(\d)\.(resnets|upsamplers\.0)",
        lambda m: f"up.{ups - 1 - int(m[1])}.{'block' if m[2] == 'resnets' else 'upsample'}",
        name,
    )
