"""An encoder with its memory: every picture and text goes through the network once.

All that use the same encoder share one extractor.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from medebench.encoders.encoder import Encoder, Features, TextFeatures
from medebench.encoders.feature_store import FeatureStore, picture_key, text_key
from medebench.encoders.image_framing import Framing
from medebench.files import cache_folder
from medebench.images.picture import Picture

#: Vectors kept in memory for the metrics that share an encoder.
_REMEMBERED = 4096


@dataclass(frozen=True)
class Shown:
    """An image on its way to an encoder: its vector if known, otherwise the prepared input."""

    key: str
    known: Features | None
    prepared: NDArray[Any] | None


class Extractor:
    """`show` may be called from many threads, `features` and `read` from one."""

    def __init__(
        self, encoder: Encoder, folder: Path | None = None, framing: Framing = "own"
    ) -> None:
        self.encoder = encoder
        self.framing: Framing = framing
        self.store = FeatureStore(encoder.name, encoder.identified(framing), folder)
        #: Pictures and texts that went through the network.
        self.extracted = 0
        self._remembered: OrderedDict[str, Features] = OrderedDict()

    def show(self, picture: Picture, data_range: int) -> Shown:
        key = picture_key(picture, data_range)
        if (known := self._remembered.get(key)) is None:
            known = self.store.get([key]).get(key)
        if known is not None:
            return Shown(key, known, None)
        return Shown(key, None, self.encoder.framed(picture, data_range, self.framing))

    def features(self, shown: Sequence[Shown]) -> Features:
        """A row for each of them, in this order."""
        found: dict[str, Features] = {}
        todo: dict[str, NDArray[Any]] = {}
        for one in shown:
            known = self._remembered.get(one.key) if one.known is None else one.known
            if known is not None:
                found[one.key] = known
            elif one.key not in todo:
                assert one.prepared is not None
                todo[one.key] = one.prepared
        # Since it was shown, somebody else may have extracted it.
        found |= self.store.get(todo)
        for part in self._parts([key for key in todo if key not in found]):
            vectors = np.asarray(self.encoder.encode([todo[key] for key in part]), np.float32)
            self._check(vectors)
            rows = dict(zip(part, vectors, strict=True))
            self._keep(rows)
            found |= rows
        return np.stack([found[one.key] for one in shown])

    def read(self, texts: Sequence[str]) -> list[TextFeatures]:
        """The texts as vectors, with how much of each was read."""
        wanted = dict.fromkeys(texts)
        keys = {text: text_key(text) for text in wanted}
        kept = self.store.get(key for key in keys.values() if key not in self._remembered)
        found: dict[str, TextFeatures] = {}
        for text, key in keys.items():
            vector = self._remembered.get(key, kept.get(key))
            if vector is not None:
                # The two counts lie behind the vector: they belong to it, and cost nothing.
                found[text] = TextFeatures(vector[:-2], int(vector[-2]), int(vector[-1]))
        for part in self._parts([text for text in wanted if text not in found]):
            reads = dict(zip(part, self.encoder.read(part), strict=True))
            self._check([one.features for one in reads.values()])
            found |= reads
            counted = {
                t: np.append(one.features, [one.tokens, one.read]) for t, one in reads.items()
            }
            self._keep({keys[text]: vector for text, vector in counted.items()})
        return [found[text] for text in texts]

    def close(self) -> None:
        self.store.close()
        self.encoder.close()

    def _parts(self, new: list[str]) -> Iterator[list[str]]:
        """As many at a time as the encoder takes, counted once they are done."""
        for start in range(0, len(new), self.encoder.batch):
            part = new[start : start + self.encoder.batch]
            yield part
            self.extracted += len(part)

    def _check(self, vectors: Features | Sequence[Features]) -> None:
        if not np.isfinite(vectors).all():
            raise ValueError(f"{self.encoder.name} returned a vector that is not finite")

    def _keep(self, vectors: dict[str, Features]) -> None:
        self.store.put(vectors)
        self._remembered |= {key: np.asarray(one, np.float32) for key, one in vectors.items()}
        while len(self._remembered) > _REMEMBERED:
            self._remembered.popitem(last=False)


Thing = TypeVar("Thing")


class Shared(Generic[Thing]):
    """Made for the first who asks; everybody who asks for the same has it, as long as any does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: WeakValueDictionary[Hashable, Thing] = WeakValueDictionary()

    def get(self, key: Hashable, make: Callable[[], Thing]) -> Thing:
        with self._lock:
            if (found := self._made.get(key)) is None:
                found = self._made[key] = make()
            return found


_extractors: Shared[Extractor] = Shared()
_encoders: Shared[Encoder] = Shared()


def shared_extractor(encoder: Encoder, framing: Framing = "own") -> Extractor:
    """The extractor that everybody with an encoder like this one has; gone with its last user.

    Those that frame pictures in different ways have the network in common.
    """
    place = encoder.device, cache_folder()
    loaded = _encoders.get((encoder.identity, *place), lambda: encoder)
    key = (encoder.identified(framing), *place)
    return _extractors.get(key, lambda: Extractor(loaded, framing=framing))
