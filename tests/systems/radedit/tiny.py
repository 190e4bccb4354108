"""Text-to-image pipelines of the real classes beside those of tests/tiny_pipelines.py."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    DDPMScheduler,
    PixArtAlphaPipeline,
    PixArtTransformer2DModel,
    SD3Transformer2DModel,
    StableDiffusion3Pipeline,
    StableDiffusionPipeline,
    StableDiffusionXLPipeline,
    UNet2DConditionModel,
)
from transformers import BertConfig, BertForMaskedLM, CLIPTextModelWithProjection

from medebench.phantoms.patch_autoencoder import PatchAutoencoder
from tests.tiny_pipelines import (
    LATENT,
    WIDTH,
    _clip_encoder,
    _clip_tokenizer,
    _flow_scheduler,
    _flux_parts,
    _save,
    _stable_parts,
    _vae,
)


def tiny_patches(folder: Path) -> Path:
    """As the built-in models: a linear autoencoder without a distribution, v, DDIM."""
    parts = _stable_parts(LATENT)
    parts["vae"] = PatchAutoencoder(LATENT, scaling_factor=0.7, block_out_channels=(1, 1, 1))
    parts["scheduler"] = DDIMScheduler(prediction_type="v_prediction", clip_sample=False)
    return _save(StableDiffusionPipeline(**parts), folder)


def tiny_sdxl(folder: Path) -> Path:
    """Two encoders of texts; the U-Net is told the pooled text and the size."""
    parts = _stable_parts(
        LATENT,
        cross_attention_dim=2 * WIDTH,
        transformer_layers_per_block=(1, 2),
        addition_embed_type="text_time",
        addition_time_embed_dim=8,
        projection_class_embeddings_input_dim=6 * 8 + WIDTH,
    )
    for name in ("safety_checker", "feature_extractor", "requires_safety_checker"):
        del parts[name]
    parts["text_encoder_2"] = CLIPTextModelWithProjection(parts["text_encoder"].config).eval()
    parts["tokenizer_2"] = parts["tokenizer"]
    return _save(StableDiffusionXLPipeline(**parts), folder)


def tiny_sd3(folder: Path) -> Path:
    """Flow matching over latents that are shifted as well as scaled; three encoders of texts."""
    flux = _flux_parts(4 * LATENT)
    torch.manual_seed(0)
    tokenizer = _clip_tokenizer()
    clip = CLIPTextModelWithProjection(_clip_encoder(tokenizer).config).eval()
    pipe = StableDiffusion3Pipeline(
        transformer=SD3Transformer2DModel(
            sample_size=16,
            patch_size=1,
            in_channels=LATENT,
            out_channels=LATENT,
            num_layers=2,
            attention_head_dim=8,
            num_attention_heads=2,
            joint_attention_dim=2 * WIDTH,
            caption_projection_dim=16,
            pooled_projection_dim=2 * WIDTH,
            pos_embed_max_size=32,
        ),
        scheduler=_flow_scheduler(),
        vae=_vae(shift_factor=0.1, scaling_factor=1.5),
        text_encoder=clip,
        tokenizer=tokenizer,
        text_encoder_2=clip,
        tokenizer_2=tokenizer,
        text_encoder_3=_wider(flux["text_encoder_2"]),
        tokenizer_3=flux["tokenizer_2"],
    )
    return _save(pipe, folder)


def _wider(t5):
    """CLIP's two texts lie side by side and are as wide as T5's."""
    config = t5.config.to_dict() | {"d_model": 2 * WIDTH}
    return type(t5)(type(t5.config).from_dict(config)).eval()


def tiny_pixart(folder: Path) -> Path:
    """A transformer that predicts noise and a spread."""
    flux = _flux_parts(4 * LATENT)
    torch.manual_seed(0)
    pipe = PixArtAlphaPipeline(
        tokenizer=flux["tokenizer_2"],
        text_encoder=flux["text_encoder_2"],
        vae=_vae(),
        transformer=PixArtTransformer2DModel(
            sample_size=16,
            patch_size=2,
            in_channels=LATENT,
            out_channels=2 * LATENT,
            num_layers=2,
            attention_head_dim=8,
            num_attention_heads=2,
            cross_attention_dim=16,
            caption_channels=WIDTH,
        ),
        scheduler=DDPMScheduler(),
    )
    return _save(pipe, folder)


def tiny_published(folder: Path) -> Path:
    """A folder of weights with the three repositories that microsoft/radedit needs."""
    torch.manual_seed(0)
    unet = _stable_parts(LATENT, cross_attention_dim=WIDTH)["unet"]
    assert isinstance(unet, UNet2DConditionModel)
    unet.save_pretrained(folder / "microsoft--radedit" / "unet")
    vae = _vae(scaling_factor=0.13025)
    assert isinstance(vae, AutoencoderKL)
    vae.save_pretrained(folder / "stabilityai--sdxl-vae")
    bert = folder / "biovil-t"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "no", "pneumothorax", "heart", "normal"]
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=128,
    )
    BertForMaskedLM(config).save_pretrained(bert)
    written = json.loads((bert / "config.json").read_text())
    code = {"AutoModel": "modeling_cxrbert.CXRBertModel"}
    written |= {"model_type": "cxr-bert", "architectures": ["CXRBertModel"], "auto_map": code}
    (bert / "config.json").write_text(json.dumps(written))
    (bert / "vocab.txt").write_text("\n".join(words))
    (bert / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    torch.save({"x": torch.zeros(1)}, bert / "biovil_t_image_model_proj_size_128.pt")
    return folder
