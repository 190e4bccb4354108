"""Whether all of a LoRA is in use: diffusers only warns of weights that found no place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from medebench.errors import InputError


def check_lora(pipe: Any, name: str, path: Path) -> None:
    """InputError where a transformer took some of the LoRA's weights and left the others.

    That is how a LoRA for another model looks whose layers have the same names, or one that needs
    code of its own. Layers without weights would be there too, and do nothing.
    """
    denoiser: Any = getattr(pipe, "transformer", None)
    if denoiser is None:
        return
    from peft import get_peft_model_state_dict

    read = pipe.lora_state_dict(str(path), local_files_only=True)
    weights = read[0] if isinstance(read, tuple) else read
    given = {key.removeprefix("transformer.") for key in weights if _is_layer(key)}
    used: set[str] = set()
    for adapter in pipe.get_active_adapters():
        used |= set(get_peft_model_state_dict(denoiser, adapter_name=adapter))
    if given and (lost := given - used):
        raise InputError(
            f"lora={name}: {len(lost)} of its {len(given)} weights fit nothing in this model; "
            "use one that was made for it"
        )


def _is_layer(key: str) -> bool:
    return key.startswith("transformer.") and (".lora_A" in key or ".lora_B" in key)
