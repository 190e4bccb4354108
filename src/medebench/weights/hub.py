"""The hub's own cache of models, as its own tools leave it."""

from __future__ import annotations

import re
from pathlib import Path

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def is_hub_id(name: str) -> bool:
    return HUB_ID.fullmatch(name) is not None


def in_hub_cache(model: str) -> Path | None:
    """The snapshot of a hub id that the hub's own tools would use without a network."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(model, local_files_only=True))
    except (OSError, ValueError):
        return None
