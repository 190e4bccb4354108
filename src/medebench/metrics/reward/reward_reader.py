"""ImageReward with a cache: an image is encoded once for all texts, a pair scored once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.cases.open_case import once
from medebench.device import TRANSFORMERS, choose_device, exact, missing_releases, no_device
from medebench.encoders.encoder import scaled
from medebench.encoders.extractor import Shared
from medebench.encoders.feature_store import FeatureStore, picture_key, text_key
from medebench.encoders.image_framing import CLIP_MEAN, CLIP_STD, middle, shorter_side
from medebench.encoders.wordpiece import FILES, open_tokenizer, vocabulary
from medebench.errors import InputError, MedebenchError, NotReadyError
from medebench.files import sha256
from medebench.images.picture import Picture
from medebench.metrics.metric import Undefined
from medebench.metrics.reward.reward_network import SIDE, RewardNetwork, load_network
from medebench.weights import Found, need_weights

if TYPE_CHECKING:
    from torch import Tensor

#: Tokens that are read of a text, both ends included.
LONGEST = 35
#: A picture so narrow is nothing but rim when its shorter side is stretched to 224.
_NARROWEST = 64


@dataclass(frozen=True)
class Words:
    """A text in tokens: what is read of it, and how many it has in all."""

    ids: tuple[int, ...]
    tokens: int

    @property
    def read(self) -> int:
        return len(self.ids)


def cut_words(ids: Sequence[int]) -> Words:
    """What is beyond the longest text is left out; the end stays."""
    kept = ids if len(ids) <= LONGEST else [*ids[: LONGEST - 1], ids[-1]]
    return Words(tuple(kept), len(ids))


def prepare(picture: Picture, data_range: int = 255) -> NDArray[np.uint8]:
    """What the network sees: shorter side resized to 224 (bicubic), then centre-cropped."""
    pixels = scaled(picture, data_range)
    height, width = pixels.shape[:2]
    short, long = sorted((height, width))
    if long > _NARROWEST * short:
        raise Undefined(f"{width} x {height} pixels are too narrow for the model")
    image = Image.fromarray(np.ascontiguousarray(pixels))
    image = shorter_side(image, SIDE, Image.Resampling.BICUBIC)
    return np.asarray(middle(image, SIDE, SIDE))


def finish(pixels: Tensor) -> Tensor:
    """(pictures, height, width, 3), 8 bits -> (pictures, 3, height, width), normalised."""
    import torch

    mean, deviation = (
        torch.tensor(one, device=pixels.device)[:, None, None] for one in (CLIP_MEAN, CLIP_STD)
    )
    return (pixels.permute(0, 3, 1, 2).float() / 255 - mean) / deviation


def load_tokenizer(folder: Path) -> Any:
    """BERT's lower-case word pieces, and the two tokens that BLIP added to them."""
    tokenizer = open_tokenizer(vocabulary(folder) or folder / FILES[0], lowercase=True)
    tokenizer.add_special_tokens(["[DEC]", "[ENC]"])
    return tokenizer


NAME, CHECKPOINT, TOKENIZER = "imagereward", "ImageReward.pt", "bert-base-uncased"
BATCH = 8
#: Pictures whose looks are kept for the next text: 0.8 MB each with the published weights.
_REMEMBERED = 128


@dataclass(frozen=True)
class RewardQuery:
    """An image and a text: the reward if known, otherwise the network's inputs."""

    key: str
    picture: str
    pixels: NDArray[np.uint8] | None
    words: Words
    known: float | None


class RewardReader:
    """`ask` may be called from many threads, `rewards` from one."""

    def __init__(
        self, which: str | None = None, device: str = "auto", batch: int | None = None
    ) -> None:
        self.which = which or NAME
        self.device = device
        self.batch = batch or BATCH
        #: Pictures that were looked at, and pairs that were scored.
        self.looked = self.scored = 0
        self._seen: OrderedDict[str, Tensor] = OrderedDict()

    def problem(self) -> str | None:
        if lacking := missing_releases(TRANSFORMERS, "metrics"):
            return f"{NAME} {lacking}"
        try:
            _ = self.variant, self.tokenizer
        except MedebenchError as error:
            return str(error)
        return no_device(self.device)

    @cached_property
    def weights(self) -> Found:
        return need_weights(self.which)

    @property
    def checkpoint(self) -> Path:
        path = self.weights.path
        path = path / CHECKPOINT if path.is_dir() else path
        if not path.is_file():
            raise NotReadyError(f"{path}: no such file; download the ImageReward weights")
        return path

    @cached_property
    def variant(self) -> str:
        _ = self.checkpoint
        return f"{NAME}-1 {self.weights.identity}"

    @cached_property
    def tokenizer(self) -> Any:
        folder = self.checkpoint.parent
        for place in (folder, folder / TOKENIZER):
            if vocabulary(place) is not None:
                return load_tokenizer(place)
        return load_tokenizer(need_weights(TOKENIZER).path)

    @cached_property
    def store(self) -> FeatureStore:
        return FeatureStore(NAME, self.variant)

    def ask(
        self, picture: Picture, data_range: int, text: str, memo: dict[Any, Any] | None = None
    ) -> RewardQuery:
        """`memo` belongs to the picture: what serves all its texts is kept there."""
        memo = {} if memo is None else memo
        shown = once(memo, (NAME, "key"), lambda: picture_key(picture, data_range))
        key = sha256(f"{shown} {text_key(text)}".encode())
        words = self.read(text)
        known = self.store.get([key]).get(key)
        if known is not None and np.isfinite(known).all():
            return RewardQuery(key, shown, None, words, float(known[0]))
        pixels = once(memo, (NAME, "pixels"), lambda: prepare(picture, data_range))
        return RewardQuery(key, shown, pixels, words, None)

    def read(self, text: str) -> Words:
        """The text in tokens, cut to what the network was trained to read."""
        return cut_words(self.tokenizer.encode(text).ids)

    def rewards(self, asked: Sequence[RewardQuery]) -> list[float]:
        """One for each; NaN where the network gave no number."""
        found = {one.key: one.known for one in asked if one.known is not None}
        todo = list({one.key: one for one in asked if one.known is None}.values())
        for start in range(0, len(todo), self.batch):
            part = todo[start : start + self.batch]
            new = dict(zip((one.key for one in part), self._score(part), strict=True))
            sound = {key: np.array([one], np.float32) for key, one in new.items()}
            self.store.put({key: one for key, one in sound.items() if np.isfinite(one).all()})
            found |= new
        return [found[one.key] for one in asked]

    def close(self) -> None:
        """Release the network; the next pair loads it again."""
        self.__dict__.pop("_network", None)
        self._seen.clear()
        if "store" in self.__dict__:
            self.store.close()

    def _score(self, asked: Sequence[RewardQuery]) -> list[float]:
        import torch

        network = self._network
        ids = torch.zeros((len(asked), LONGEST), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, one in enumerate(asked):
            ids[row, : one.words.read] = torch.tensor(one.words.ids)
            mask[row, : one.words.read] = 1
        with torch.inference_mode(), exact(network.device):
            seen = self._look(network, asked)
            made = network.reward(seen, ids.to(network.device), mask.to(network.device))
        self.scored += len(asked)
        return [float(one) for one in made.float().cpu()]

    def _look(self, network: RewardNetwork, asked: Sequence[RewardQuery]) -> Tensor:
        import torch

        new = {one.picture: one.pixels for one in asked if one.picture not in self._seen}
        if new:
            pixels = torch.from_numpy(np.stack([one for one in new.values() if one is not None]))
            seen = network.see(finish(pixels.to(network.device)))
            self._seen |= zip(new, seen, strict=True)
            self.looked += len(new)
        stacked = torch.stack([self._seen[one.picture] for one in asked])
        while len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return stacked

    @cached_property
    def _network(self) -> RewardNetwork:
        network = load_network(self.checkpoint, choose_device(self.device))
        words = self.tokenizer.get_vocab_size(with_added_tokens=True)
        if words != network.words:
            raise InputError(
                f"{self.checkpoint}: was trained with {network.words} tokens, but the tokenizer"
                f" has {words}; use the tokenizer of {TOKENIZER}"
            )
        return network


_readers: Shared[RewardReader] = Shared()


def shared_reader(which: str | None, device: str, batch: int | None) -> RewardReader:
    """One for all metrics that ask for the same."""
    return _readers.get((which, device, batch), lambda: RewardReader(which, device, batch))
