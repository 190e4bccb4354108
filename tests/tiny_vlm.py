"""A real multimodal model of transformers, untrained and tiny: it looks, reads and writes."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

SIDE, PATCH = 112, 14
_TEXT = "{% if c['type'] == 'image' %}<image>{% else %}{{ c['text'] }}{% endif %}"
_TURN = "{{ m['role'] }}: {% for c in m['content'] %}" + _TEXT + "{% endfor %}\n"
_END = "{% if add_generation_prompt %}assistant: {% endif %}"
TEMPLATE = "{% for m in messages %}" + _TURN + "{% endfor %}" + _END
#: As some have it: they know no turn of the system.
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no') }}{% endif %}" + TEMPLATE
)


def tiny_vlm(folder: Path, template: str = TEMPLATE) -> Path:
    """The folder that `save_pretrained` writes; every byte is a token."""
    special = ["<pad>", "<s>", "</s>", "<image>"]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate(special + letters)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    words = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens={"image_token": "<image>"},
    )
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessorPil(
            size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE}
        ),
        tokenizer=words,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template,
    )
    small = {"num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(
            hidden_size=16, intermediate_size=32, image_size=SIDE, patch_size=PATCH, **small
        ),
        text_config=LlamaConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            intermediate_size=64,
            num_key_value_heads=2,
            max_position_embeddings=4096,
            **small,
        ),
        image_token_index=3,
        image_seq_length=(SIDE // PATCH) ** 2,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    torch.manual_seed(0)
    model = LlavaForConditionalGeneration(config)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.ndim > 1:
                weights.normal_(0, 0.3)
    # What it writes can be read, a letter a token.
    plain = {token for token in letters if token.isascii() and token.isalpha()}
    silent = [number for token, number in vocabulary.items() if token not in plain]
    model.generation_config.suppress_tokens = silent
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
