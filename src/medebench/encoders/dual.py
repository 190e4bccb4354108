"""Models of transformers that see pictures and read texts into one space (CLIP, SigLIP, ALIGN),
and those that see pictures only (DINOv2 as RAD-DINO, ViT).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from medebench.device import is_installed
from medebench.encoders.encoder import TextFeatures
from medebench.encoders.local_encoder import PretrainedEncoder, as_rows
from medebench.errors import NotReadyError
from medebench.quiet import quiet

if TYPE_CHECKING:
    from torch import Tensor

#: Learned on texts of full length, ends and all: padding is part of what it reads.
_PADDED = frozenset(("siglip",))
#: The files of a tokenizer, of all kinds that there are.
_TOKENIZERS = (
    ("tokenizer.json",),
    ("vocab.json", "merges.txt"),
    ("vocab.txt",),
    ("spiece.model",),
    ("tokenizer.model",),
    ("sentencepiece.bpe.model",),
)
#: What SigLIP's own tokenizer imports, and from which package.
_PIECES = {"sentencepiece": "sentencepiece", "google.protobuf": "protobuf"}


class DualEncoder(PretrainedEncoder):
    """`DualEncoder("openai/clip-vit-large-patch14")`, or a folder of the same layout."""

    texts: ClassVar[bool] = True
    kinds = frozenset(
        (
            "align",
            "chinese_clip",
            "clip",
            "clipseg",
            "metaclip_2",
            "siglip",
            "vision-text-dual-encoder",
        )
    )

    def problem(self) -> str | None:
        return super().problem() or self._unreadable()

    def _unreadable(self) -> str | None:
        """Why it could not read texts: transformers makes up a tokenizer if there is none."""
        if not any(all((self.folder / one).is_file() for one in files) for files in _TOKENIZERS):
            return f"{self.name}: {self.folder} has no tokenizer.json; download the complete model"
        try:
            told = json.loads((self.folder / "tokenizer_config.json").read_text("utf-8"))
            own = told.get("tokenizer_class") == "SiglipTokenizer"
        except (OSError, ValueError, AttributeError):
            return None
        lacking = [pip for name, pip in _PIECES.items() if own and not is_installed(name)]
        if not lacking:
            return None
        return f"{self.name} needs {' and '.join(lacking)}; pip install {' '.join(lacking)}"

    def read(self, texts: Sequence[str]) -> list[TextFeatures]:
        import torch

        network, words, limit = self.network(), self._words, self._limit
        with quiet("transformers"):
            whole = words(list(texts), verbose=False)["input_ids"]
            given = words(
                list(texts),
                truncation=True,
                max_length=limit,
                padding="max_length" if self.kind in _PADDED else True,
                return_tensors="pt",
            )
        if self.kind in _PADDED:
            given = {"input_ids": given["input_ids"]}
        given = {name: one.to(network.device) for name, one in given.items()}
        with torch.inference_mode():
            rows = as_rows(_pooled(network.get_text_features(**given)))
        return [
            TextFeatures(row, len(tokens), min(len(tokens), limit))
            for row, tokens in zip(rows, whole, strict=True)
        ]

    def _see(self, network: Any, pixels: Tensor) -> Tensor:
        return _pooled(network.get_image_features(pixel_values=pixels))

    @cached_property
    def _words(self) -> Any:
        from transformers import AutoTokenizer

        if problem := self._unreadable():
            raise NotReadyError(problem)
        try:
            with quiet("transformers"):
                return AutoTokenizer.from_pretrained(
                    str(self.folder), local_files_only=True, trust_remote_code=False
                )
        except Exception as error:
            raise self.broken("has no loadable tokenizer", error) from error

    @cached_property
    def _limit(self) -> int:
        """Tokens there is room for, ends included."""
        text = self.network().config.text_config
        positions = int(text.max_position_embeddings)
        if "roberta" in str(getattr(text, "model_type", "")):
            # Its first positions stand for padding.
            positions -= int(text.pad_token_id) + 1
        return min(positions, int(self._words.model_max_length))


def _pooled(told: Any) -> Tensor:
    """Older releases of transformers give the vectors themselves."""
    vectors: Tensor = getattr(told, "pooler_output", told)
    return vectors


#: Their pooler belongs to a task they were trained for, and many are published without one.
_UNPOOLED = frozenset(("vit", "deit"))


class SingleEncoder(PretrainedEncoder):
    """The vector of the whole picture: DINOv2's pooled output, else that of the class token."""

    kinds = frozenset(("deit", "dinov2", "dinov2_with_registers", "vit"))

    def _see(self, network: Any, pixels: Tensor) -> Tensor:
        told = network(pixel_values=pixels)
        unpooled = self.kind in _UNPOOLED
        vectors: Tensor = told.last_hidden_state[:, 0] if unpooled else told.pooler_output
        return vectors

    def _spare(self, key: str) -> bool:
        return super()._spare(key) or (self.kind in _UNPOOLED and key.startswith("pooler."))
