"""Texts as a vector a token: what a masked language model makes of every piece of a text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.device import exact
from medebench.encoders.encoder import Features
from medebench.encoders.extractor import Shared
from medebench.encoders.local_encoder import TransformersFolder
from medebench.errors import InputError, NotReadyError
from medebench.quiet import quiet

#: The model of published BERTScores of medical texts, and the layer they take.
PUBMEDBERT, PUBMEDBERT_LAYER = "pubmedbert", 12
_VOCABULARIES = ("vocab.txt", "tokenizer.json", "vocab.json")
#: Texts whose vectors are kept: references come again with every system.
_REMEMBERED = 1024


@dataclass(frozen=True)
class TokenVectors:
    """A text as a model read it, a row for each token; those that frame it are among them."""

    vectors: Features
    #: False for the tokens that begin and end every text.
    counts: NDArray[np.bool_]
    #: Tokens of the whole text, and how many of them the model has room for.
    tokens: int
    read: int

    @property
    def truncated(self) -> bool:
        return self.read < self.tokens


class TokenEncoder(TransformersFolder):
    """`TokenEncoder("pubmedbert")`, a hub id, or a folder of the same layout.

    `layer` counts from the embeddings, which are 0; without it the last one is taken.
    """

    kinds = frozenset(("bert", "camembert", "electra", "roberta", "xlm-roberta"))
    usual = PUBMEDBERT

    def __init__(
        self,
        source: str | None = None,
        name: str | None = None,
        device: str = "auto",
        batch: int | None = None,
        *,
        layer: int | None = None,
    ) -> None:
        super().__init__(source, name, device, batch)
        self._layer = layer
        self._remembered: OrderedDict[str, TokenVectors] = OrderedDict()

    def problem(self) -> str | None:
        return super().problem() or self._unreadable()

    @cached_property
    def identity(self) -> str:
        return f"{self.kind} {self.weights.identity} tokens-1 layer {self.layer}"

    @cached_property
    def layer(self) -> int:
        """The layer whose states are taken; InputError where the model has no such layer."""
        there = int(self.config.get("num_hidden_layers", 12))
        wanted = there if self._layer is None else self._layer
        if not 0 <= wanted <= there:
            raise InputError(f"{self.name}: has {there} layers, layer {wanted} is asked for")
        return wanted

    def read(self, texts: Sequence[str]) -> list[TokenVectors]:
        """A text that was read lately is not read again."""
        new = [text for text in dict.fromkeys(texts) if text not in self._remembered]
        found = {text: self._remembered[text] for text in texts if text not in new}
        # Texts of about one length together: less of the work is for padding.
        new.sort(key=len)
        for start in range(0, len(new), self.batch):
            part = new[start : start + self.batch]
            found |= zip(part, self._read(part), strict=True)
        self._remembered |= found
        while len(self._remembered) > _REMEMBERED:
            self._remembered.popitem(last=False)
        return [found[text] for text in texts]

    def _read(self, texts: Sequence[str]) -> list[TokenVectors]:
        import torch

        network, words, limit = self.network(), self._words, self._limit
        stripped = [text.strip() for text in texts]
        with quiet("transformers"):
            whole = words(stripped, verbose=False)["input_ids"]
            given = words(
                stripped, truncation=True, max_length=limit, padding=True, return_tensors="pt"
            )
        ids, mask = given["input_ids"], given["attention_mask"]
        device = str(network.device)
        with torch.inference_mode(), exact(device):
            told = network(
                input_ids=ids.to(device), attention_mask=mask.to(device), output_hidden_states=True
            )
        states = told.hidden_states[self.layer].float().cpu().numpy()
        ends = [one for one in (words.cls_token_id, words.sep_token_id) if one is not None]
        read = [
            (state[kept], np.isin(own[kept], ends, invert=True))
            for state, own, kept in zip(states, ids.numpy(), mask.numpy() > 0, strict=True)
        ]
        return [
            TokenVectors(np.ascontiguousarray(vectors), counts, len(tokens), len(vectors))
            for (vectors, counts), tokens in zip(read, whole, strict=True)
        ]

    def _spare(self, key: str) -> bool:
        # Published masked language models have no pooler; the tokens do not go through it.
        return super()._spare(key) or key.startswith("pooler.")

    def _unreadable(self) -> str | None:
        """transformers makes up a tokenizer if there is none."""
        if any((self.folder / one).is_file() for one in _VOCABULARIES):
            return None
        return f"{self.name}: {self.folder} has no vocab.txt; download the complete model"

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
        positions = int(self.config.get("max_position_embeddings", 512))
        if "roberta" in self.kind or self.kind == "camembert":
            # Its first positions stand for padding.
            positions -= int(self.config.get("pad_token_id", 1)) + 1
        return min(positions, int(self._words.model_max_length))


_encoders: Shared[TokenEncoder] = Shared()


def shared_encoder(encoder: TokenEncoder) -> TokenEncoder:
    """The one that everybody with an encoder like this has; gone with its last user."""
    return _encoders.get((encoder.identity, encoder.device), lambda: encoder)
