"""One extractor for all that use the same encoder, so that nothing is extracted twice."""

from __future__ import annotations

import threading
from pathlib import Path
from weakref import WeakValueDictionary

from medebench.encoders.encoder import Encoder
from medebench.encoders.extractor import Extractor
from medebench.encoders.image_framing import Framing
from medebench.files import cache_folder

_lock = threading.Lock()
_shared: WeakValueDictionary[tuple[str, str, Path], Extractor] = WeakValueDictionary()
_encoders: WeakValueDictionary[tuple[str, str, Path], Encoder] = WeakValueDictionary()


def shared_extractor(encoder: Encoder, framing: Framing = "own") -> Extractor:
    """The extractor that everybody with an encoder like this one has; gone with its last user.

    Those that frame pictures in different ways have the network in common.
    """
    place = encoder.device, cache_folder()
    key = (encoder.identified(framing), *place)
    with _lock:
        extractor = _shared.get(key)
        if extractor is None:
            loaded = _encoders.setdefault((encoder.identity, *place), encoder)
            extractor = _shared[key] = Extractor(loaded, framing=framing)
        return extractor
