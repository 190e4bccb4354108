"""Which device and precision, and whether the weights fit."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from medebench.editors.diffusion.settings import DiffusionSettings
from medebench.editors.diffusion.weights import Weights

#: What activations need beside the weights, as a share of them; a rough rule.
_ROOM = 1.2
#: Weights below this many bytes fit everywhere; no device is asked (torch takes long to import).
_SMALL = 256 * 2**20
_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


#: The oldest releases that load what is here, as in the extra of pyproject.toml.
_OLDEST = {"torch": (2, 4), "diffusers": (0, 36), "transformers": (5, 0)}


def missing_packages() -> str | None:
    lacking = [
        f"{name} {'.'.join(map(str, oldest))} or later"
        for name, oldest in _OLDEST.items()
        if find_spec(name) is None or _release(name) < oldest
    ]
    if lacking:
        return f"needs {', '.join(lacking)}; install with: pip install 'medebench[diffusion]'"
    return None


def _release(name: str) -> tuple[int, ...]:
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return (0,)
    return tuple(int(part) for part in re.findall(r"\d+", found)[:2])


def missing_for(weights: Weights) -> str | None:
    """A package that only some models need."""
    if any("VLProcessor" in kind for kind in weights.parts.values()) and not has_torchvision():
        return f"{weights.name}: its processor needs torchvision; pip install torchvision"
    return None


def has_torchvision() -> bool:
    return find_spec("torchvision") is not None


def choose_device(wanted: str) -> str:
    import torch

    if wanted != "auto":
        return wanted
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def device_problem(settings: DiffusionSettings) -> str | None:
    wanted = settings.device
    if wanted in ("cuda", "mps"):
        import torch

        if wanted == "cuda" and not torch.cuda.is_available():
            return "device=cuda: there is no CUDA device here; leave it at auto"
        if wanted == "mps" and not torch.backends.mps.is_available():
            return "device=mps: there is no Apple GPU here; leave it at auto"
    if settings.offload != "none" and choose_device(wanted) == "cpu":
        return f"offload={settings.offload}: is for a GPU, and there is none in use; leave it out"
    half = settings.dtype in ("float16", "bfloat16")
    if half and choose_device(wanted) == "cpu" and not _cpu_computes(settings.dtype):
        return f"dtype={settings.dtype}: this CPU does not compute in it; leave it at auto"
    return None


@cache
def _cpu_computes(dtype: str) -> bool:
    """Tried in another process: a CPU that only says it can ends the process that believes it."""
    code = (
        f"import torch; x = torch.ones(64, 64, dtype=torch.{dtype}); f = torch.nn.functional;"
        "f.linear(x, x); y = x[None, None]; f.conv2d(y, y[..., :3, :3]);"
        "f.scaled_dot_product_attention(y, y, y)"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def choose_dtype(wanted: str, device: str, transformer: bool) -> str:
    """Half precision on a GPU; the newer transformers overflow in float16."""
    if wanted != "auto":
        return wanted
    if device == "cpu":
        return "float32"
    return "bfloat16" if transformer else "float16"


def memory_problem(weights: Weights, settings: DiffusionSettings) -> str | None:
    """One line if the weights will not fit, as far as that can be told beforehand."""
    if sum(weights.bytes_by_part(4).values()) < _SMALL:
        return None
    device = choose_device(settings.device)
    dtype = choose_dtype(settings.dtype, device, weights.is_transformer)
    parts = weights.bytes_by_part(_BYTES[dtype])
    whole, largest = sum(parts.values()), max(parts.values(), default=0)
    needed = {device: whole * _ROOM}
    if settings.offload != "none":
        needed = {"cpu": float(whole)}
        if settings.offload == "model":
            needed[device] = largest * _ROOM
    for place, wanted in needed.items():
        free = free_memory(place)
        if free is not None and wanted > free:
            where = "main memory" if place == "cpu" else f"memory of the {place} device"
            return (
                f"{weights.name}: needs about {wanted / 2**30:.1f} GB of {where} in {dtype}, "
                f"{free / 2**30:.1f} GB are free; {_hint(place, settings)}"
            )
    return None


def _hint(place: str, settings: DiffusionSettings) -> str:
    if place == "cpu":
        return "free some, or use a machine with more"
    return "try offload=model" if settings.offload == "none" else "try offload=sequential"


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
