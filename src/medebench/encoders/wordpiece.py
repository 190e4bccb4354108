"""Texts as BERT reads them: word pieces of a plain vocabulary file, counted and cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medebench.errors import InputError, one_line
from medebench.weights.safetensors import read_json

if TYPE_CHECKING:
    from torch import Tensor

#: One of them is enough.
FILES = ("vocab.txt", "tokenizer.json")


@dataclass(frozen=True)
class Pieces:
    """Texts side by side: 0 in `mask` is where a shorter one has ended."""

    ids: Tensor
    mask: Tensor
    #: Of each whole text, and of what is left of it; [CLS] and [SEP] count.
    tokens: list[int]
    read: list[int]


def vocabulary(folder: Path) -> Path | None:
    """The file in a model's folder that says how texts are cut into pieces."""
    return next((folder / name for name in FILES if (folder / name).is_file()), None)


class WordPieces:
    """A tokenizer of BERT's kind that keeps `limit` tokens of a text."""

    def __init__(self, file: Path, limit: int) -> None:
        self.limit = limit
        self._tokenizer = open_tokenizer(file)
        self._pad = self._tokenizer.token_to_id("[PAD]") or 0
        self._end = self._tokenizer.token_to_id("[SEP]")

    def __call__(self, texts: Sequence[str]) -> Pieces:
        import torch

        whole = [one.ids for one in self._tokenizer.encode_batch(list(texts))]
        cut = [
            ids if len(ids) <= self.limit else [*ids[: self.limit - 1], self._end] for ids in whole
        ]
        longest = max(map(len, cut), default=0)
        return Pieces(
            torch.tensor([ids + [self._pad] * (longest - len(ids)) for ids in cut]),
            torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in cut]),
            [len(ids) for ids in whole],
            [len(ids) for ids in cut],
        )


def open_tokenizer(file: Path, lowercase: bool | None = None) -> Any:
    """BERT's tokenizer; without `lowercase`, as the file beside the vocabulary says."""
    from tokenizers import BertWordPieceTokenizer, Tokenizer

    try:
        if file.name == "tokenizer.json":
            made = Tokenizer.from_file(str(file))
            made.no_truncation()
            made.no_padding()
            return made
        small = _lowercase(file.parent) if lowercase is None else lowercase
        return BertWordPieceTokenizer(str(file), lowercase=small)
    except Exception as error:
        # The library raises plain exceptions of its own for whatever it does not understand.
        raise InputError(f"{file}: is not a BERT vocabulary ({one_line(str(error))})") from error


def _lowercase(folder: Path) -> bool:
    """As the file next to the vocabulary says; without one, yes."""
    path = folder / "tokenizer_config.json"
    return bool(read_json(path).get("do_lower_case", True)) if path.is_file() else True
