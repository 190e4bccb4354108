"""What a pipeline's weights consist of, whether all of them are there, and their memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from medebench.weights.identity_hash import identity_of
from medebench.weights.safetensors import file_problem, read_header

INDEX = "model_index.json"
#: Bytes of a number, by the names in a safetensors file.
_STORED = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "I16": 2}
_STORED |= {"F8_E4M3": 1, "F8_E5M2": 1, "I8": 1, "U8": 1, "BOOL": 1}
#: Parts whose class is named so have a configuration, no weights.
_WEIGHTLESS = ("Scheduler", "Tokenizer", "TokenizerFast", "Processor", "ProcessorFast", "Extractor")
_STEMS = ("diffusion_pytorch_model", "model", "pytorch_model")


@dataclass(frozen=True)
class Weights:
    """Weights on this machine: a pipeline folder, or a single file."""

    path: Path
    name: str
    #: Parts that will not be loaded: they may be missing and take no memory.
    leave_out: tuple[str, ...] = ()

    @property
    def single(self) -> bool:
        return self.path.is_file()

    @cached_property
    def index(self) -> dict[str, Any]:
        """The pipeline's index, empty for a single file; ValueError where it is none."""
        if self.single:
            return {}
        try:
            read = json.loads((self.path / INDEX).read_text("utf-8"))
        except OSError as error:
            raise ValueError(str(error)) from error
        if not isinstance(read, dict) or "_class_name" not in read:
            raise ValueError("names no pipeline")
        return read

    @cached_property
    def parts(self) -> dict[str, str]:
        """The components to be loaded, each with its class; an optional one may be [null, null]."""
        return {
            name: str(kind[1])
            for name, kind in self.index.items()
            if isinstance(kind, list) and len(kind) == 2 and all(isinstance(k, str) for k in kind)
            if not name.startswith("_") and name not in self.leave_out
        }

    @property
    def is_transformer(self) -> bool:
        return "transformer" in self.parts

    @cached_property
    def variant(self) -> str | None:
        """`fp16` where some part is there in that precision only."""
        for part in self.parts:
            if _files(self.path / part) is None and _files(self.path / part, "fp16"):
                return "fp16"
        return None

    def files(self, part: str) -> list[Path]:
        """The files that are read for a part; several where the weights are in pieces."""
        folder = self.path / part
        return (_files(folder) or _files(folder, "fp16")) or []

    def problem(self) -> str | None:
        """What of the weights is missing or broken off, by a look that reads none of them."""
        try:
            files = [self.path] if self.single else list(self._expected())
        except ValueError as error:
            return str(error)
        for file in files:
            name = file.name if self.single else str(file.relative_to(self.path))
            if problem := file_problem(file, name):
                return problem
        return None

    def _expected(self) -> Iterator[Path]:
        try:
            parts = self.parts
        except ValueError:
            raise ValueError(f"{INDEX} is damaged") from None
        for part, kind in parts.items():
            folder = self.path / part
            if not folder.is_dir() or not any(folder.iterdir()):
                raise ValueError(f"the part {part} is missing")
            try:
                found = self.files(part)
            except (OSError, ValueError, AttributeError, KeyError):
                raise ValueError(f"the part {part} has a damaged index") from None
            if found:
                yield from found
            elif not kind.endswith(_WEIGHTLESS) and not _any_weights(folder):
                raise ValueError(f"the part {part} has no weights")

    def bytes_by_part(self, each: int) -> dict[str, int]:
        """Memory of the weights, `each` bytes a number."""
        if self.single:
            return {"weights": _memory(self.path, each)}
        found = {part: sum(_memory(f, each) for f in self.files(part)) for part in self.parts}
        return {part: size for part, size in found.items() if size}

    def identity(self) -> str:
        """What tells these weights from others of the same name."""
        if self.path.parent.name == "snapshots":
            return f"{self.name}@{self.path.name[:12]}"
        if self.single:
            return identity_of([self.path], self.path.parent)
        files = [self.path / INDEX]
        for part in self.parts:
            files += sorted(f for f in (self.path / part).rglob("*") if f.is_file())
        return identity_of(files, self.path)


def _files(folder: Path, variant: str = "") -> list[Path] | None:
    """The weights in a folder by the names that `from_pretrained` looks for, in its order."""
    middle = f".{variant}" if variant else ""
    for ending in ("safetensors", "bin"):
        for stem in _STEMS:
            file = folder / f"{stem}{middle}.{ending}"
            if file.exists() or file.is_symlink():
                return [file]
            index = folder / f"{stem}.{ending}.index{middle}.json"
            if index.is_file():
                pieces = json.loads(index.read_text("utf-8"))["weight_map"].values()
                return [folder / piece for piece in sorted(set(pieces))]
    return None


def _any_weights(folder: Path) -> bool:
    return any(file.suffix in (".safetensors", ".bin") for file in folder.iterdir())


def _memory(path: Path, each: int) -> int:
    if path.suffix != ".safetensors":
        return path.stat().st_size
    total = 0
    for name, entry in read_header(path)[1].items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            total += (last - first) // _STORED.get(entry["dtype"], each) * each
    return total
