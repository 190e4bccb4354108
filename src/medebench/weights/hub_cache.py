"""The hub's own cache of models, as its own tools leave it."""

from __future__ import annotations

import re
from pathlib import Path

_HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def is_hub_id(name: str) -> bool:
    return _HUB_ID.fullmatch(name) is not None


def in_hub_cache(model: str) -> Path | None:
    """The snapshot of a hub id that the hub's own tools would use without a network.

    Looked up by hand: the hub's own look-up wants every file of the repository to be there, though
    of many a repository only some are ever needed.
    """
    repository = repository_folder(model)
    try:
        commit = (repository / "refs" / "main").read_text("utf-8").strip()
    except (OSError, ValueError):
        return None
    snapshot = repository / "snapshots" / commit
    return snapshot if commit and snapshot.is_dir() else None


def repository_folder(model: str) -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / f"models--{model.replace('/', '--')}"
