"""Which files of a hub repository to download.

Many repositories hold the same numbers several times: for other frameworks, in half precision, as
pickles beside safetensors, as one file beside a pipeline's parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

_FORMATS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt")
_NEVER = (
    *(".msgpack", ".h5", ".onnx", ".onnx_data", ".ot", ".tflite", ".pb", ".mlmodel", ".xml"),
    *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".mp4", ".ipynb"),
)
_PIECE = re.compile(r"-\d{5}-of-\d{5}$")
_HIDDEN = re.compile(r"(^|/)\.")
_VARIANTS = ("", "fp16", "bf16", "non_ema")


def choose(files: Iterable[str], patterns: Sequence[str] = ()) -> list[str]:
    """The files to download; only those that match a pattern, if there are patterns."""
    every = sorted(
        one for one in files if not _HIDDEN.search(one) and not one.lower().endswith(_NEVER)
    )
    if patterns:
        every = [one for one in every if any(fnmatchcase(one, like) for like in patterns)]
    if "model_index.json" in every:
        every = [one for one in every if "/" in one or not one.endswith(_FORMATS)]
    forms = {one: _form(one) for one in every if one.endswith(_FORMATS)}
    best: dict[str, tuple[int, int]] = {}
    for same, rank in forms.values():
        best[same] = min(rank, best.get(same, rank))
    return [one for one in every if one not in forms or forms[one][1] == best[forms[one][0]]]


def _form(file: str) -> tuple[str, tuple[int, int]]:
    """The common name of all forms of the same weights, and the rank of this form."""
    path = PurePosixPath(file)
    stem = _PIECE.sub("", path.stem)
    variant = stem.rpartition(".")[2]
    if variant in _VARIANTS:
        stem = stem.removesuffix(f".{variant}")
    else:
        variant = ""
    same = str(path.parent / stem.replace("pytorch_", ""))
    return same, (_VARIANTS.index(variant), _FORMATS.index(path.suffix))
