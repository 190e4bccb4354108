"""Whether a folder contains a complete model; an interrupted download does not count."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from medebench.weights.identity_hash import files_in
from medebench.weights.safetensors import file_problem

#: File names of which one is enough.
Either: TypeAlias = tuple[str, ...]

ENDINGS = frozenset(
    (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".onnx", ".npz", ".msgpack", ".h5")
)


def folder_problem(folder: Path, needs: Iterable[Either] = ()) -> str | None:
    """What is missing or truncated; without `needs`, there must be weights of some kind."""
    files = files_in(folder)
    needs = tuple(needs)
    for either in needs:
        if not any((folder / one).exists() or (folder / one).is_symlink() for one in either):
            return f"{' or '.join(either)} is missing"
    if part := _missing_part(folder):
        return f"the part {part} is missing"
    weights = [one for one in files if one.suffix.lower() in ENDINGS]
    if not needs and not weights:
        return "there are no weights"
    named = {one for index in files if index.name.endswith(".index.json") for one in _pieces(index)}
    needed = {one for either in needs for one in files if _called(one, folder) in either}
    for one in sorted({*weights, *named, *needed}):
        if problem := file_problem(one, _called(one, folder)):
            return problem
    return None


def _missing_part(folder: Path) -> str | None:
    """A part of a pipeline that has no folder; the safety checker is seldom loaded."""
    try:
        index = json.loads((folder / "model_index.json").read_text("utf-8"))
        parts = [part for part, kind in index.items() if _is_loaded(kind)]
    except (OSError, ValueError, AttributeError):
        return None
    optional = ("safety_checker", "feature_extractor")
    return next((one for one in parts if one not in optional and not _filled(folder / one)), None)


def _is_loaded(kind: object) -> bool:
    return isinstance(kind, list) and len(kind) == 2 and all(isinstance(one, str) for one in kind)


def _filled(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _called(file: Path, folder: Path) -> str:
    return file.relative_to(folder).as_posix()


def _pieces(index: Path) -> set[Path]:
    """The files that an index of weights in pieces names, if it is the index of what is here.

    A repository may hold the same weights in two formats, each with an index, of which one was
    fetched.
    """
    try:
        names = set(json.loads(index.read_text("utf-8"))["weight_map"].values())
        named = {index.parent / str(name) for name in names}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return {index.with_name(index.name.removesuffix(".index.json"))}
    others = any(one.suffix in ENDINGS for one in index.parent.iterdir())
    return named if not others or any(one.exists() for one in named) else set()
