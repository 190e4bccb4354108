"""Which device and precision, and whether the weights fit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial

from medebench.device import (
    TORCH,
    TRANSFORMERS,
    choose_device,
    free_memory,
    is_installed,
    missing_releases,
    no_device,
)
from medebench.systems.diffusion.diffusion_settings import DiffusionSettings
from medebench.systems.diffusion.pipeline_weights import Weights

#: What activations need beside the weights, as a share of them; a rough rule.
ROOM = 1.2
#: Weights below this many bytes fit everywhere; no device is asked (torch takes long to import).
SMALL = 256 * 2**20
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


def missing_packages() -> str | None:
    return missing_releases({**TORCH, "diffusers": (0, 36), **TRANSFORMERS}, "diffusion")


def missing_for(weights: Weights) -> str | None:
    """A package that only some models need."""
    wanting = ("VLProcessor", "PixtralProcessor")
    if any(kind.endswith(wanting) for kind in weights.parts.values()) and not is_installed(
        "torchvision"
    ):
        return f"{weights.name}: its processor needs torchvision; pip install torchvision"
    return None


def device_problem(settings: DiffusionSettings) -> str | None:
    wanted = settings.device
    if problem := no_device(wanted):
        return problem
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
    if sum(weights.bytes_by_part(4).values()) < SMALL:
        return None
    device = choose_device(settings.device)
    dtype = choose_dtype(settings.dtype, device, weights.is_transformer)
    parts = weights.bytes_by_part(BYTES[dtype])
    whole, largest = sum(parts.values()), max(parts.values(), default=0)
    needed = {device: whole * ROOM}
    if settings.offload != "none":
        needed = {"cpu": float(whole)}
        if settings.offload == "model":
            needed[device] = largest * ROOM
    return lack_of_memory(weights, needed, f"in {dtype}", partial(_hint, settings))


def lack_of_memory(
    weights: Weights, needed: Mapping[str, float], what: str, hint: Callable[[str], str]
) -> str | None:
    """One line if a place (cpu, cuda, ...) has less than the bytes that are needed there."""
    for place, wanted in needed.items():
        free = free_memory(place)
        if free is not None and wanted > free:
            where = "main memory" if place == "cpu" else f"memory of the {place} device"
            return (
                f"{weights.name}: needs about {wanted / 2**30:.1f} GB of {where} {what}, "
                f"{free / 2**30:.1f} GB are free; {hint(place)}"
            )
    return None


def _hint(settings: DiffusionSettings, place: str) -> str:
    if place == "cpu":
        return "free some, or use a machine with more"
    return "try offload=model" if settings.offload == "none" else "try offload=sequential"
