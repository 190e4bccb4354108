"""Whether there is the memory to learn in."""

from __future__ import annotations

from medebench import device
from medebench.editors.diffusion.weights import Weights
from medebench.editors.imagic.settings import ImagicSettings

#: What activations need beside the weights, as a share of them; a rough rule.
_ROOM = 1.2
#: Weights below this many bytes fit everywhere; no device is asked (torch takes long to import).
_SMALL = 256 * 2**20
_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


def memory_problem(weights: Weights, settings: ImagicSettings) -> str | None:
    """One line if learning will not fit, as far as that can be told beforehand."""
    parts = weights.bytes_by_part(_BYTES[settings.dtype])
    whole = sum(parts.values())
    if whole < _SMALL:
        return None
    place = device.choose_device(settings.device)
    network = parts.get("unet", 0) if settings.network_steps else 0
    # Gradients and Adam's two averages; what the network was is kept in main memory.
    needed = {place: whole * _ROOM + 3 * network}
    needed["cpu"] = needed.get("cpu", 0.0) + network
    for where, wanted in needed.items():
        free = device.free_memory(where)
        if free is not None and wanted > free:
            named = "main memory" if where == "cpu" else f"memory of the {where} device"
            hint = "try network_steps=0" if network else "use a machine with more"
            return (
                f"{weights.name}: needs about {wanted / 2**30:.1f} GB of {named} to learn in "
                f"{settings.dtype}, {free / 2**30:.1f} GB are free; {hint}"
            )
    return None
