"""How far a download is, seen from outside: by what has arrived on disk."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from medebench.progress import Progress

_SECONDS = 0.3
MB = 10**6


@contextmanager
def watched(folder: Path, total: int, progress: Progress) -> Iterator[None]:
    """Tell `progress` in megabytes how much of `total` bytes came into `folder` meanwhile."""
    before, over = _size(folder), threading.Event()
    whole = max(1, round(total / MB))

    def tell() -> None:
        while not over.wait(_SECONDS):
            progress(min(whole, max(0, _size(folder) - before) // MB), whole)

    thread = threading.Thread(target=tell, name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    progress(whole, whole)


def _size(folder: Path) -> int:
    """Bytes of all files below; links lead to files that are counted where they are."""
    total = 0
    for place, _, files in os.walk(folder):
        for one in files:
            try:
                total += os.lstat(os.path.join(place, one)).st_size  # noqa: PTH118 - many, quickly
            except OSError:
                continue
    return total
