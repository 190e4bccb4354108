"""The last step of a training: an ordinary pipeline folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medebench.files import whole_folder

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline


def save_pipeline(kind: type[DiffusionPipeline], out: Path, **parts: Any) -> None:
    """`parts` as a pipeline of this kind, in half precision; `out` is replaced if it is there."""
    import torch

    pipe = kind(**parts, safety_checker=None, feature_extractor=None, requires_safety_checker=False)
    pipe.to(dtype=torch.float16)
    if out.exists():
        shutil.rmtree(out)
    with whole_folder(out) as folder:
        pipe.save_pretrained(folder)
