"""How much memory a training will take, from the files of the weights alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from medebench.errors import MedebenchError
from medebench.systems.diffusion.diffusion_device import BYTES
from medebench.systems.diffusion.pipeline_weights import Weights
from medebench.tuning.base_system import Base, base_system, device_for, frozen_dtype
from medebench.tuning.objectives.objective_lookup import objective_kind
from medebench.tuning.train_settings import TrainSettings
from medebench.weights import Absent
from medebench.weights.safetensors import read_header

#: Bytes of a weight that learns: itself, its gradient, two moments of AdamW; averaged, one more.
_LEARNING, _AVERAGED = 16, 4
#: What is kept for the gradient of one pair, as a share of the denoiser; a rough rule.
_KEPT, _KEPT_TWICE_COMPUTED = 1.0, 0.25
#: Weights of a LoRA, as a share of the denoiser, where its layers cannot be looked at.
_SHARE = 0.02


def training_memory(system: str, settings: TrainSettings, device: str = "auto") -> int | None:
    """Bytes on the device, roughly; None where the weights are not here to be measured."""
    try:
        base = base_system(system)
        return _memory(base, settings, device_for(device))
    except (MedebenchError, OSError, ValueError):
        return None


def _memory(base: Base, settings: TrainSettings, device: str) -> int | None:
    weights = base.weights()
    if isinstance(weights, Absent):
        return None
    kind = objective_kind(weights)
    if kind is None:
        return None
    each = BYTES[frozen_dtype(base.settings.dtype, weights, settings, device)]
    parts = weights.bytes_by_part(each)
    denoiser = parts.get(kind.part, max(parts.values(), default=0))
    numbers = denoiser // each
    learning = _LEARNING + (_AVERAGED if settings.ema else 0)
    if settings.method == "full":
        # The weights themselves are counted among the parts.
        learned = numbers * (learning - each)
    else:
        learned = _lora_numbers(weights, kind.part, kind.lora_targets, settings.rank) * learning
    kept = _KEPT_TWICE_COMPUTED if settings.checkpointing else _KEPT
    return int(sum(parts.values()) + learned + denoiser * kept * settings.batch)


def _lora_numbers(weights: Weights, part: str, targets: Sequence[str], rank: int) -> int:
    files = [] if weights.single else weights.files(part)
    if not files or any(file.suffix != ".safetensors" for file in files):
        return int(_SHARE * sum(weights.bytes_by_part(1).values()))
    total = 0
    for file in files:
        for name, entry in read_header(file)[1].items():
            layer = name.removesuffix(".weight")
            if layer != name and any(layer == one or layer.endswith(f".{one}") for one in targets):
                wide, *deep = entry["shape"]
                total += rank * (wide + prod(deep))
    return total
