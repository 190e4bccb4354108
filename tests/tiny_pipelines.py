"""Pipelines of the real classes with a few thousand random weights, built on the spot.

Each function saves one into a folder in the published format and returns the folder; it loads with
`from_pretrained` and without network. The tokenizers are learned from a few sentences, so that
words fall into sub-tokens as they do in the real ones.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import diffusers
import pytest
import torch
from diffusers import (
    AutoencoderKL,
    AutoencoderKLFlux2,
    AutoencoderKLQwenImage,
    DiffusionPipeline,
    EulerAncestralDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    Flux2KleinPipeline,
    Flux2Pipeline,
    Flux2Transformer2DModel,
    FluxFillPipeline,
    FluxKontextPipeline,
    FluxTransformer2DModel,
    QwenImageEditPlusPipeline,
    QwenImageTransformer2DModel,
    StableDiffusionInstructPix2PixPipeline,
    StableDiffusionPipeline,
    StableDiffusionXLInstructPix2PixPipeline,
    UNet2DConditionModel,
)
from diffusers.pipelines.flux2.system_messages import SYSTEM_MESSAGE
from peft import LoraConfig, get_peft_model_state_dict
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    CLIPTextConfig,
    CLIPTextModel,
    CLIPTextModelWithProjection,
    CLIPTokenizer,
    Mistral3Config,
    Mistral3ForConditionalGeneration,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2Tokenizer,
    Qwen2VLProcessor,
    Qwen3Config,
    Qwen3ForCausalLM,
    T5Config,
    T5EncoderModel,
    T5TokenizerFast,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

#: The schedulers of diffusers 0.42 hand tensors to NumPy 2 in its old way.
QUIET = pytest.mark.filterwarnings(
    "ignore:__array__ implementation doesn't accept a copy keyword:DeprecationWarning"
)
WIDTH = 16  # channels of every text encoder
LATENT = 4  # channels of every latent picture; a latent pixel stands for 4 x 4 pixels
SENTENCES = (
    "remove the wisdom teeth from the lower jaw and keep the rest of the image unchanged",
    "erase the stitched scar across the bridge of the nose so that the skin looks healthy",
    "make the waist narrower and whiten the stained teeth of the upper row",
)


def tiny_instruct_pix2pix(folder: Path) -> Path:
    """InstructPix2Pix: cross-attention at 16 x 16 and 8 x 8 for a picture of 64 x 64."""
    parts = _stable_parts(2 * LATENT)
    return _save(StableDiffusionInstructPix2PixPipeline(**parts), folder)


def tiny_sdxl_instruct_pix2pix(folder: Path) -> Path:
    """InstructPix2Pix on SDXL: two text encoders, a deeper U-Net that is told the sizes."""
    sizes = {"addition_embed_type": "text_time", "addition_time_embed_dim": 8}
    sizes |= {"projection_class_embeddings_input_dim": 6 * 8 + WIDTH}
    parts = _stable_parts(
        2 * LATENT, cross_attention_dim=2 * WIDTH, transformer_layers_per_block=(1, 2), **sizes
    )
    for name in ("safety_checker", "feature_extractor", "requires_safety_checker"):
        del parts[name]
    parts["text_encoder_2"] = CLIPTextModelWithProjection(parts["text_encoder"].config).eval()
    parts["tokenizer_2"] = parts["tokenizer"]
    return _save(StableDiffusionXLInstructPix2PixPipeline(**parts), folder)


def tiny_stable_diffusion(folder: Path) -> Path:
    """Stable Diffusion, text to image."""
    return _save(StableDiffusionPipeline(**_stable_parts(LATENT)), folder)


def tiny_flux_kontext(folder: Path) -> Path:
    """FLUX.1 Kontext: joint attention, the reference picture's tokens behind the new one's."""
    return _save(FluxKontextPipeline(**_flux_parts(4 * LATENT)), folder)


def tiny_flux_fill(folder: Path) -> Path:
    """FLUX.1 Fill: the masked picture and the mask are further channels of the same tokens."""
    return _save(FluxFillPipeline(**_flux_parts(4 * (2 * LATENT + 4 * 4))), folder)


def tiny_flux2(folder: Path) -> Path:
    """FLUX.2 [dev], whose text encoder is a multimodal model; load it with `load_flux2`."""
    tokenizer = _mistral_tokenizer()
    config = Mistral3Config(
        text_config={"model_type": "mistral", "head_dim": 4, **_language_model(tokenizer, 30)},
        vision_config={
            "hidden_size": WIDTH,
            "intermediate_size": WIDTH,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "head_dim": 8,
            "image_size": 28,
            "patch_size": 14,
        },
        image_token_index=tokenizer.convert_tokens_to_ids("[IMG]"),
    )
    torch.manual_seed(0)
    pipe = Flux2Pipeline(
        text_encoder=Mistral3ForConditionalGeneration(config).eval(),
        tokenizer=tokenizer,
        **_flux2_parts(guidance_embeds=True),
    )
    index = _save(pipe, folder) / "model_index.json"
    # As the published one says.
    parts = json.loads(index.read_text()) | {"tokenizer": ["transformers", "PixtralProcessor"]}
    index.write_text(json.dumps(parts))
    return folder


def load_flux2(folder: Path) -> Flux2Pipeline:
    """Part by part, with the tokenizer in the place of a processor that wants torchvision."""
    parts = {
        "scheduler": FlowMatchEulerDiscreteScheduler,
        "vae": AutoencoderKLFlux2,
        "text_encoder": Mistral3ForConditionalGeneration,
        "tokenizer": PreTrainedTokenizerFast,
        "transformer": Flux2Transformer2DModel,
    }
    return Flux2Pipeline(
        **{name: kind.from_pretrained(folder / name) for name, kind in parts.items()}
    )


def tiny_flux2_klein(folder: Path) -> Path:
    """FLUX.2 [klein], the base model that works against an empty text."""
    tokenizer = _qwen_tokenizer()
    tokenizer.chat_template = _chat_template("<|im_start|>{role}\n", "<|im_end|>\n")
    config = Qwen3Config(head_dim=4, **_language_model(tokenizer, 27))
    torch.manual_seed(0)
    pipe = Flux2KleinPipeline(
        text_encoder=Qwen3ForCausalLM(config).eval(),
        tokenizer=tokenizer,
        **_flux2_parts(guidance_embeds=False),
    )
    return _save(pipe, folder)


def tiny_qwen_edit(folder: Path) -> Path:
    """Qwen-Image-Edit (the 2509 class); pictures of its real size are too large for a test.

    Tests set `VAE_IMAGE_SIZE` and `CONDITION_IMAGE_SIZE` of its module to something small, and load
    it with `load_qwen_edit`.
    """
    torch.manual_seed(0)
    tokenizer = _qwen_tokenizer()
    ids = {name: tokenizer.convert_tokens_to_ids(f"<|{name}|>") for name in _QWEN_MARKS}
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "bos_token_id": None,
        "eos_token_id": None,
        "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2]},
    }
    vision = {
        "depth": 1,
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_heads": 2,
        "out_hidden_size": WIDTH,
        "fullatt_block_indexes": [0],
    }
    config = Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=ids["image_pad"],
        video_token_id=ids["video_pad"],
        vision_start_token_id=ids["vision_start"],
        vision_end_token_id=ids["vision_end"],
        bos_token_id=None,
        eos_token_id=None,
    )
    pipe = QwenImageEditPlusPipeline(
        scheduler=_flow_scheduler(),
        vae=AutoencoderKLQwenImage(
            base_dim=8,
            z_dim=LATENT,
            dim_mult=[1, 1, 1],
            num_res_blocks=1,
            temperal_downsample=[False, True],
            latents_mean=[0.0] * LATENT,
            latents_std=[1.0] * LATENT,
        ),
        text_encoder=Qwen2_5_VLForConditionalGeneration(config).eval(),
        tokenizer=tokenizer,
        processor=_qwen_processor(tokenizer),
        transformer=QwenImageTransformer2DModel(
            in_channels=4 * LATENT,
            out_channels=LATENT,
            num_layers=2,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=WIDTH,
            axes_dims_rope=(4, 6, 6),
        ),
    )
    return _save(pipe, folder)


def load_qwen_edit(folder: Path) -> QwenImageEditPlusPipeline:
    """`from_pretrained`, also where torchvision, which the real processor wants, is missing."""
    processor = _qwen_processor(Qwen2Tokenizer.from_pretrained(folder / "tokenizer"))
    return QwenImageEditPlusPipeline.from_pretrained(folder, processor=processor)


ATTENTION = ("to_q", "to_k", "to_v", "to_out.0")


def tiny_lora(pipeline: Path, folder: Path, targets: Sequence[str] = ATTENTION) -> Path:
    """A LoRA that changes what the saved pipeline's denoiser does, written as training would."""
    index = json.loads((pipeline / "model_index.json").read_text())
    part = "unet" if "unet" in index else "transformer"
    denoiser = getattr(diffusers, index[part][1]).from_pretrained(pipeline / part)
    torch.manual_seed(1)
    denoiser.add_adapter(LoraConfig(r=2, target_modules=list(targets), init_lora_weights=False))
    layers = {f"{part}_lora_layers": get_peft_model_state_dict(denoiser)}
    getattr(diffusers, index["_class_name"]).save_lora_weights(folder, **layers)
    return folder


def _stable_parts(channels: int, **unet: Any) -> dict[str, Any]:
    torch.manual_seed(0)
    tokenizer = _clip_tokenizer()
    return {
        "vae": _vae(),
        "text_encoder": _clip_encoder(tokenizer),
        "tokenizer": tokenizer,
        "unet": UNet2DConditionModel(
            sample_size=16,
            in_channels=channels,
            out_channels=LATENT,
            block_out_channels=(8, 16),
            layers_per_block=1,
            down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D"),
            attention_head_dim=2,
            norm_num_groups=4,
            **{"cross_attention_dim": WIDTH, **unet},
        ),
        "scheduler": EulerAncestralDiscreteScheduler(steps_offset=1),
        "safety_checker": None,
        "feature_extractor": None,
        "requires_safety_checker": False,
    }


def _flux_parts(channels: int) -> dict[str, Any]:
    torch.manual_seed(0)
    clip, t5 = _clip_tokenizer(), _t5_tokenizer()
    config = T5Config(
        vocab_size=len(t5), d_model=WIDTH, d_ff=WIDTH, d_kv=8, num_heads=2, num_layers=1
    )
    return {
        "scheduler": _flow_scheduler(),
        "vae": _vae(shift_factor=0.1),
        "text_encoder": _clip_encoder(clip),
        "tokenizer": clip,
        "text_encoder_2": T5EncoderModel(config).eval(),
        "tokenizer_2": t5,
        "transformer": FluxTransformer2DModel(
            in_channels=channels,
            out_channels=4 * LATENT,
            num_layers=2,
            num_single_layers=2,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=WIDTH,
            pooled_projection_dim=WIDTH,
            guidance_embeds=True,
            axes_dims_rope=(4, 6, 6),
        ),
    }


def _flux2_parts(guidance_embeds: bool) -> dict[str, Any]:
    torch.manual_seed(0)
    vae = AutoencoderKLFlux2(
        block_out_channels=(8, 8, 8),
        down_block_types=("DownEncoderBlock2D",) * 3,
        up_block_types=("UpDecoderBlock2D",) * 3,
        layers_per_block=1,
        latent_channels=LATENT,
        norm_num_groups=4,
    )
    vae.bn.running_mean.normal_(std=0.1)
    vae.bn.running_var.uniform_(0.5, 2)
    return {
        "scheduler": FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True),
        "vae": vae,
        "transformer": Flux2Transformer2DModel(
            in_channels=4 * LATENT,
            num_layers=2,
            num_single_layers=2,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=3 * WIDTH,
            timestep_guidance_channels=16,
            guidance_embeds=guidance_embeds,
            axes_dims_rope=(4, 4, 4, 4),
        ),
    }


def _language_model(tokenizer: Any, layers: int) -> dict[str, Any]:
    """As many layers as a pipeline reads states of; the last one is read too."""
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": WIDTH,
        "intermediate_size": WIDTH,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "bos_token_id": None,
        "eos_token_id": None,
    }


def _chat_template(begin: str, end: str) -> str:
    """Turns one after the other; a turn is a text, or a list of parts with one."""
    said = (
        "{% if m.content is string %}{{ m.content }}"
        "{% else %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endif %}"
    )
    begin = begin.replace("{role}", "{{ m.role }}")
    return "{% for m in messages %}" + begin + said + end + "{% endfor %}"


def _save(pipe: DiffusionPipeline, folder: Path) -> Path:
    pipe.save_pretrained(folder)
    return folder


def _flow_scheduler() -> FlowMatchEulerDiscreteScheduler:
    return FlowMatchEulerDiscreteScheduler()


def _vae(**settings: Any) -> AutoencoderKL:
    return AutoencoderKL(
        block_out_channels=(8, 8, 8),
        down_block_types=("DownEncoderBlock2D",) * 3,
        up_block_types=("UpDecoderBlock2D",) * 3,
        layers_per_block=1,
        latent_channels=LATENT,
        norm_num_groups=4,
        **settings,
    )


def _clip_encoder(tokenizer: CLIPTokenizer) -> CLIPTextModel:
    config = CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
        projection_dim=WIDTH,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return CLIPTextModel(config).eval()


def _learn_bytes(
    size: int, suffix: str = "", sentences: Sequence[str] = SENTENCES
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """A byte-level vocabulary and its merges."""
    tokenizer = Tokenizer(models.BPE(end_of_word_suffix=suffix))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.ByteLevel(False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        end_of_word_suffix=suffix,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(sentences, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    vocabulary = dict(model["vocab"])
    if suffix:
        for letter in pre_tokenizers.ByteLevel.alphabet():
            vocabulary.setdefault(letter + suffix, len(vocabulary))
    return vocabulary, [tuple(merge) for merge in model["merges"]]


def _clip_tokenizer() -> CLIPTokenizer:
    vocabulary, merges = _learn_bytes(400, "</w>")
    for mark in ("<|startoftext|>", "<|endoftext|>"):
        vocabulary[mark] = len(vocabulary)
    return CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=77)


def _t5_tokenizer() -> T5TokenizerFast:
    letters = "▁abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,-?!"
    words = sorted({"▁" + word for sentence in SENTENCES for word in sentence.split()} - {"▁teeth"})
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁te", -2.0), ("eth", -2.0)]
    pieces += [(letter, -8.0) for letter in letters] + [(word, -3.0) for word in words]
    return T5TokenizerFast(vocab=pieces, extra_ids=0, model_max_length=512)


_QWEN_MARKS = (
    "endoftext",
    "im_start",
    "im_end",
    "vision_start",
    "vision_end",
    "image_pad",
    "video_pad",
)


def _qwen_tokenizer() -> Qwen2Tokenizer:
    vocabulary, merges = _learn_bytes(300)
    marks = [f"<|{name}|>" for name in _QWEN_MARKS]
    vocabulary[marks[0]] = len(vocabulary)
    tokenizer = Qwen2Tokenizer(vocab=vocabulary, merges=merges)
    tokenizer.add_special_tokens({"additional_special_tokens": marks[1:]})
    return tokenizer


def _mistral_tokenizer() -> PreTrainedTokenizerFast:
    vocabulary, merges = _learn_bytes(600, sentences=(*SENTENCES, SYSTEM_MESSAGE))
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(False)
    tokenizer.decoder = decoders.ByteLevel()
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side="left")
    wrapped.add_special_tokens({"pad_token": "<pad>", "additional_special_tokens": ["[IMG]"]})
    wrapped.chat_template = _chat_template("[{role}]", "[END]")
    return wrapped


def _qwen_processor(tokenizer: Qwen2Tokenizer) -> Qwen2VLProcessor:
    """The real processor without the part for videos, which wants torchvision."""

    class Pictures(Qwen2VLProcessor):
        @classmethod
        def get_attributes(cls) -> list[str]:
            return ["image_processor", "tokenizer"]

    Pictures.__name__ = Qwen2VLProcessor.__name__
    Pictures.__module__ = Qwen2VLProcessor.__module__
    return Pictures(Qwen2VLImageProcessorPil(min_pixels=28 * 28, max_pixels=56 * 56), tokenizer)
