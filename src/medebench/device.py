"""Which device torch computes on, what is free there, and how its errors are told apart.

Nothing here imports torch before it is needed: it takes seconds.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

#: The oldest releases that work, as in the extras of pyproject.toml.
TORCH = {"torch": (2, 4)}
TRANSFORMERS = {**TORCH, "transformers": (5, 0)}
DEVICES = ("auto", "cpu", "cuda", "mps")


def missing_releases(oldest: Mapping[str, tuple[int, ...]], extra: str) -> str | None:
    """ "needs torch 2.4 or later; install with: …", or None where all is there."""
    lacking = [
        f"{name} {'.'.join(map(str, least))} or later"
        for name, least in oldest.items()
        if find_spec(name) is None or release_of(name) < least
    ]
    if lacking:
        return f"needs {', '.join(lacking)}; install with: pip install 'medebench[{extra}]'"
    return None


def is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # The package above it is not there.
        return False


def release_of(name: str) -> tuple[int, ...]:
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return (0,)
    return tuple(int(part) for part in re.findall(r"\d+", found)[:2])


def choose_device(wanted: str) -> str:
    import torch

    if wanted != "auto":
        return wanted
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def no_device(wanted: str) -> str | None:
    """Why there is no such device here."""
    if wanted in ("cuda", "mps"):
        import torch

        if wanted == "cuda" and not torch.cuda.is_available():
            return "device=cuda: there is no CUDA device here; leave it at auto"
        if wanted == "mps" and not torch.backends.mps.is_available():
            return "device=mps: there is no Apple GPU here; leave it at auto"
    return None


def free_memory(device: str) -> int | None:
    """Bytes, or None where that cannot be known."""
    if device in ("cuda", "mps"):
        import torch

        if device == "cuda":
            return int(torch.cuda.mem_get_info()[0])
        limit = getattr(torch.mps, "recommended_max_memory", None)
        return int(limit()) if limit is not None else None
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def out_of_memory(error: BaseException) -> bool:
    """Each device says it in its own way."""
    import torch

    if isinstance(error, torch.cuda.OutOfMemoryError | MemoryError):
        return True
    said = str(error).lower()
    return isinstance(error, RuntimeError) and (
        "out of memory" in said or "can't allocate memory" in said
    )


def release_memory() -> None:
    """Give what is no longer used back to the device; nothing to do where torch was not needed."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    elif torch.backends.mps.is_available():
        torch.mps.empty_cache()


def exact(device: str) -> AbstractContextManager[None]:
    """Convolutions in full 32 bits: NVIDIA's GPUs would else round to 10 of 23 bits."""
    if not device.startswith("cuda"):
        return nullcontext()
    import torch

    now: Any = torch.backends.cudnn
    flags: AbstractContextManager[None] = now.flags(
        enabled=now.enabled, benchmark=now.benchmark, allow_tf32=False
    )
    return flags
