"""Whether a folder holds all of a model: what a download that broke off leaves does not count."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from medebench.weights.identity import files_in
from medebench.weights.safetensors import file_problem

#: File names of which one is enough.
Either: TypeAlias = tuple[str, ...]

ENDINGS = frozenset(
    (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".onnx", ".npz", ".msgpack", ".h5")
)


def folder_problem(folder: Path, needs: Iterable[Either] = ()) -> str | None:
    """What is missing or broken off; `needs` nothing said, weights of any kind must be there."""
    files = files_in(folder)
    needs = tuple(needs)
    for either in needs:
        if not any((folder / one).exists() or (folder / one).is_symlink() for one in either):
            return f"{' or '.join(either)} is missing"
    weights = [one for one in files if one.suffix.lower() in ENDINGS]
    if not needs and not weights:
        return "there are no weights"
    named = {piece for one in files if one.name.endswith(".index.json") for piece in _pieces(one)}
    needed = {folder / one for either in needs for one in either if (folder / one).is_symlink()}
    needed |= {folder / one for either in needs for one in either if (folder / one).exists()}
    for one in sorted({*weights, *named, *needed}):
        if problem := file_problem(one, one.relative_to(folder).as_posix()):
            return problem
    return None


def _pieces(index: Path) -> set[Path]:
    """The files that an index of weights in pieces names; the index itself where it is damaged."""
    try:
        names = set(json.loads(index.read_text("utf-8"))["weight_map"].values())
        return {index.parent / str(name) for name in names}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return set()
