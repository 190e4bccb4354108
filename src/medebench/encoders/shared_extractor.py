"""One extractor for all that use the same encoder, so that nothing is extracted twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from medebench.encoders.encoder import Encoder
from medebench.encoders.extractor import Extractor
from medebench.encoders.image_framing import Framing
from medebench.files import cache_folder

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
