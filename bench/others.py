"""Other people's packages, which `make bench` puts into a folder of their own."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

REFERENCES = Path(__file__).parent.parent / ".venv" / "references"


@cache
def let_others_in() -> Any:
    """Make them importable; what comes back keeps torchvision's operators known."""
    import torch

    sys.path.append(str(REFERENCES))
    # The compiled half of torchvision fits one build of torch; its names are enough here.
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return library
