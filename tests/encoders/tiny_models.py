"""Encoders of the real classes with a few thousand random weights, saved as published ones are.

Each function saves one into a folder and returns the folder; the tokenizers know a few words whole
and spell the rest, so that texts have a length that can be counted.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import pre_tokenizers
from transformers import (
    AlignConfig,
    AlignModel,
    BertConfig,
    BertForMaskedLM,
    BertTokenizer,
    ChineseCLIPConfig,
    ChineseCLIPModel,
    CLIPConfig,
    CLIPModel,
    CLIPSegConfig,
    CLIPSegModel,
    CLIPTokenizer,
    DeiTConfig,
    DeiTModel,
    Dinov2Config,
    Dinov2Model,
    Dinov2WithRegistersConfig,
    Dinov2WithRegistersModel,
    MetaClip2Config,
    MetaClip2Model,
    SiglipConfig,
    SiglipModel,
    T5TokenizerFast,
    VisionTextDualEncoderConfig,
    VisionTextDualEncoderModel,
    ViTConfig,
    ViTModel,
)

WORDS = ("remove", "the", "mole", "scar", "teeth", "skin", "whiten", "photograph")
SIDE = 32
_TOWER = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
_SEEN = {**_TOWER, "image_size": SIDE, "patch_size": 8}


def tiny_clip(folder: Path, seed: int = 0, **vision: Any) -> Path:
    torch.manual_seed(seed)
    words = _clip_words()
    text = {**_TOWER, "vocab_size": len(words), "max_position_embeddings": 77, **_ends(words)}
    config = CLIPConfig(text_config=text, vision_config={**_SEEN, **vision}, projection_dim=12)
    model = CLIPModel(config)
    _lively(model)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    # As the published file spells it.
    return _pictures(
        folder,
        feature_extractor_type="CLIPFeatureExtractor",
        size=SIDE,
        crop_size=SIDE,
        do_center_crop=True,
        do_normalize=True,
        do_resize=True,
        resample=3,
        image_mean=[0.48145466, 0.4578275, 0.40821073],
        image_std=[0.26862954, 0.26130258, 0.27577711],
    )


def tiny_clipseg(folder: Path) -> Path:
    torch.manual_seed(0)
    words = _clip_words()
    text = {**_TOWER, "vocab_size": len(words), "max_position_embeddings": 77, **_ends(words)}
    config = CLIPSegConfig(text_config=text, vision_config=_SEEN, projection_dim=12)
    model = CLIPSegModel(config)
    _lively(model)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    size = {"height": SIDE, "width": SIDE}
    return _pictures(folder, image_processor_type="ViTImageProcessor", size=size)


def tiny_metaclip_2(folder: Path) -> Path:
    torch.manual_seed(0)
    words = _clip_words()
    text = {**_TOWER, "vocab_size": len(words), "max_position_embeddings": 77, **_ends(words)}
    model = MetaClip2Model(
        MetaClip2Config(text_config=text, vision_config=_SEEN, projection_dim=12)
    )
    _lively(model)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return _pictures(folder, image_processor_type="CLIPImageProcessor", size=SIDE, crop_size=SIDE)


def tiny_siglip(folder: Path) -> Path:
    torch.manual_seed(0)
    words = _pieces()
    text = {**_TOWER, "vocab_size": len(words), "max_position_embeddings": 20, **_ends(words)}
    config = SiglipConfig(text_config=text, vision_config=_SEEN)
    model = SiglipModel(config)
    _lively(model)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    size = {"height": SIDE, "width": SIDE}
    return _pictures(folder, image_processor_type="SiglipImageProcessor", size=size)


def tiny_align(folder: Path) -> Path:
    torch.manual_seed(0)
    words = _bert_words()
    vision = {
        "image_size": SIDE,
        "in_channels": [32, 16],
        "out_channels": [16, 16],
        "kernel_sizes": [3, 3],
        "strides": [1, 2],
        "num_block_repeats": [1, 1],
        "expand_ratios": [1, 2],
        "depthwise_padding": [],
        "hidden_dim": 16,
        "width_coefficient": 1.0,
        "depth_coefficient": 1.0,
    }
    text = {**_TOWER, "vocab_size": len(words), "max_position_embeddings": 64}
    model = AlignModel(AlignConfig(text_config=text, vision_config=vision, projection_dim=16))
    _lively(model)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return _pictures(
        folder,
        image_processor_type="EfficientNetImageProcessor",
        size={"height": 40, "width": 40},
        crop_size={"height": SIDE, "width": SIDE},
        do_center_crop=True,
        rescale_factor=1 / 127.5,
        rescale_offset=True,
        do_normalize=False,
        include_top=False,
        resample=2,
    )


def tiny_chinese_clip(folder: Path) -> Path:
    torch.manual_seed(0)
    words = _bert_words()
    text = {**_TOWER, "vocab_size": len(words), "max_position_embeddings": 64}
    config = ChineseCLIPConfig(text_config=text, vision_config=_SEEN, projection_dim=12)
    model = ChineseCLIPModel(config)
    _lively(model)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    size = {"height": SIDE, "width": SIDE}
    return _pictures(
        folder, image_processor_type="ChineseCLIPImageProcessor", size=size, do_center_crop=False
    )


def tiny_two_towers(folder: Path) -> Path:
    """Any picture model beside any text model: BERT and a ViT here."""
    torch.manual_seed(0)
    words = _bert_words()
    text = {**_TOWER, "vocab_size": len(words), "max_position_embeddings": 64, "model_type": "bert"}
    config = VisionTextDualEncoderConfig(
        text_config=text, vision_config={**_SEEN, "model_type": "vit"}, projection_dim=12
    )
    model = VisionTextDualEncoderModel(config)
    _lively(model)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    size = {"height": SIDE, "width": SIDE}
    return _pictures(folder, image_processor_type="ViTImageProcessor", size=size)


def tiny_dinov2(folder: Path) -> Path:
    torch.manual_seed(0)
    model = Dinov2Model(Dinov2Config(**_SEEN))
    _lively(model)
    model.save_pretrained(folder)
    return _pictures(
        folder,
        image_processor_type="BitImageProcessor",
        size={"shortest_edge": SIDE},
        crop_size={"height": SIDE, "width": SIDE},
        image_mean=[0.5307] * 3,
        image_std=[0.2583] * 3,
    )


def tiny_registers(folder: Path) -> Path:
    torch.manual_seed(0)
    model = Dinov2WithRegistersModel(Dinov2WithRegistersConfig(**_SEEN))
    _lively(model)
    model.save_pretrained(folder)
    size = {"height": SIDE, "width": SIDE}
    return _pictures(folder, image_processor_type="BitImageProcessor", size=size, crop_size=size)


def tiny_deit(folder: Path) -> Path:
    torch.manual_seed(0)
    model = DeiTModel(DeiTConfig(**_SEEN))
    _lively(model)
    model.save_pretrained(folder)
    size = {"height": SIDE, "width": SIDE}
    return _pictures(folder, image_processor_type="DeiTImageProcessor", size=size, crop_size=size)


def tiny_vit(folder: Path) -> Path:
    """Without a pooler, as classifiers are published."""
    torch.manual_seed(0)
    model = ViTModel(ViTConfig(**_SEEN), add_pooling_layer=False)
    _lively(model)
    model.save_pretrained(folder)
    size = {"height": SIDE, "width": SIDE}
    return _pictures(folder, image_processor_type="ViTImageProcessor", size=size)


def tiny_bert(folder: Path, layers: int = 3, positions: int = 24) -> Path:
    """A masked language model, published without a pooler."""
    torch.manual_seed(0)
    words = _bert_words()
    sizes = {**_TOWER, "num_hidden_layers": layers, "vocab_size": len(words)}
    model = BertForMaskedLM(BertConfig(**sizes, max_position_embeddings=positions))
    _lively(model)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def _lively(model: torch.nn.Module) -> None:
    """Fresh weights are so small that every picture gives nearly the same vector."""
    with torch.no_grad():
        for one in model.parameters():
            if one.ndim > 1:
                one.normal_(0, 0.3)


def _pictures(folder: Path, **settings: Any) -> Path:
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    return folder


def _ends(words: Any) -> dict[str, int]:
    return {name: getattr(words, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}


def _clip_words() -> CLIPTokenizer:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = dict.fromkeys([*letters, *(f"{one}</w>" for one in letters)])
    merges: dict[tuple[str, str], None] = {}
    for word in WORDS:
        parts = [*word[:-1], f"{word[-1]}</w>"]
        while len(parts) > 1:
            merges[parts[0], parts[1]] = None
            parts = [parts[0] + parts[1], *parts[2:]]
            tokens[parts[0]] = None
    tokens |= dict.fromkeys(("<|startoftext|>", "<|endoftext|>"))
    vocabulary = {token: number for number, token in enumerate(tokens)}
    return CLIPTokenizer(vocab=vocabulary, merges=list(merges), model_max_length=77)


def _pieces() -> T5TokenizerFast:
    letters = "▁abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,-?!"
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces += [(letter, -8.0) for letter in letters] + [(f"▁{word}", -3.0) for word in WORDS]
    return T5TokenizerFast(vocab=pieces, extra_ids=0)


def _bert_words() -> BertTokenizer:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,-?!"
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *letters]
    tokens += [f"##{letter}" for letter in letters]
    return BertTokenizer(vocab={token: number for number, token in enumerate(tokens)})
