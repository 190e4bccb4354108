"""One extractor for all that use the same encoder, so that nothing is extracted twice."""

from __future__ import annotations

import threading
from pathlib import Path
from weakref import WeakValueDictionary

from medebench.encoders.base import Encoder
from medebench.encoders.extract import Extractor
from medebench.files import cache_folder

_lock = threading.Lock()
_shared: WeakValueDictionary[tuple[str, str, Path], Extractor] = WeakValueDictionary()


def shared_extractor(encoder: Encoder) -> Extractor:
    """The extractor that everybody with an encoder like this one has; gone with its last user."""
    key = (encoder.identity, encoder.device, cache_folder())
    with _lock:
        extractor = _shared.get(key)
        if extractor is None:
            extractor = _shared[key] = Extractor(encoder)
        return extractor
