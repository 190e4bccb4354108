"""From weights to a pipeline that is ready to be called."""

from __future__ import annotations

import inspect
import json
import sys
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from medebench.device import choose_device
from medebench.errors import InputError, MedebenchError, one_line
from medebench.quiet import quiet
from medebench.systems.diffusion.diffusion_device import choose_dtype
from medebench.systems.diffusion.diffusion_settings import DiffusionSettings
from medebench.systems.diffusion.pipeline_weights import Weights

#: Packages may lend parts to pipelines: an entry point of this group has the name of the module in
#: a model's index, and loads that module, wherever it lies today.
PARTS = "medebench.pipeline_parts"
#: The arguments that an editor needs to give to a pipeline's call.
Accept = tuple[str, ...]
INSTRUCTION: Accept = ("prompt", "image")

_LARGEST = dict.fromkeys(("Flux2Pipeline", "Flux2KleinPipeline"), 1024 * 1024)
_SCHEDULERS = {
    "euler-ancestral": "EulerAncestralDiscreteScheduler",
    "euler": "EulerDiscreteScheduler",
    "ddim": "DDIMScheduler",
    "dpm++": "DPMSolverMultistepScheduler",
}


@dataclass(frozen=True)
class Loaded:
    pipe: Any
    device: str
    dtype: str
    #: Both sides of the canvas must be multiples of this.
    multiple: int
    #: The side of the square that the model was made for.
    size: int
    #: The arguments that the pipeline's call knows, with their defaults.
    known: dict[str, Any]
    #: An input picture of more pixels is made smaller by the pipeline, and so no longer lies on the
    #: one that it makes.
    largest: int | None = None

    @property
    def kind(self) -> str:
        return type(self.pipe).__name__


def load(
    weights: Weights,
    settings: DiffusionSettings,
    config: Path | None = None,
    lora: Path | None = None,
    accept: Accept = INSTRUCTION,
) -> Loaded:
    """Read the weights and put them on the device; `accept` is what the call must take."""
    import torch

    device = choose_device(settings.device)
    dtype = choose_dtype(settings.dtype, device, weights.is_transformer)
    with quiet("diffusers", "transformers"):
        try:
            pipe = open_pipeline(weights, settings, getattr(torch, dtype), config)
        except Exception as error:
            raise _unloadable(weights.name, "does not load as a pipeline", error) from error
        known = _takes(pipe, weights.name, accept)
        _check_safety(pipe, settings, weights.name)
        try:
            _set_scheduler(pipe, settings.scheduler)
            if lora is not None:
                _add_lora(pipe, settings.lora, lora)
            _place(pipe, settings, device)
        except MedebenchError:
            raise
        except Exception as error:
            raise _unloadable(weights.name, f"cannot be put on {device}", error) from error
    sizes = _multiple(pipe), _own_size(pipe)
    return Loaded(pipe, device, dtype, *sizes, known, _LARGEST.get(type(pipe).__name__))


def open_pipeline(
    weights: Weights, settings: DiffusionSettings, dtype: Any, config: Path | None
) -> Any:
    """The pipeline of diffusers, on the CPU; tests put one of their own here."""
    import diffusers

    _offer_parts(weights)
    options: dict[str, Any] = {"torch_dtype": dtype, "local_files_only": True}
    if weights.single:
        if config is None:
            raise InputError(
                "a single file does not say how it is put together; "
                "use editor instruct-diffusion with config=FOLDER, or a folder of diffusers"
            )
        return diffusers.StableDiffusionInstructPix2PixPipeline.from_single_file(
            str(weights.path), config=str(config), safety_checker=None, **options
        )
    if not settings.safety_checker and "safety_checker" in weights.index:
        options |= {"safety_checker": None, "requires_safety_checker": False}
    if weights.variant is not None:
        options["variant"] = weights.variant
    return diffusers.DiffusionPipeline.from_pretrained(str(weights.path), **options)


def _offer_parts(weights: Weights) -> None:
    """Import what packages lend to pipelines: diffusers takes such a part only where it is there.

    A model's index names the module, so a module that has moved is offered at its old address too.
    """
    for point in entry_points(group=PARTS):
        if f'"{point.name}"' in json.dumps(weights.index):
            sys.modules.setdefault(point.name, point.load())


def _takes(pipe: Any, name: str, accept: Accept) -> dict[str, Any]:
    """What the pipeline's call takes; one that cannot be told what the editor tells is refused."""
    parameters = inspect.signature(pipe.__call__).parameters
    kind = type(pipe).__name__
    remedy = "an instruction-editing pipeline is needed"
    if accept != INSTRUCTION:
        remedy = f"one that takes {' and '.join(accept)} is needed"
    for needed in accept:
        if needed not in parameters:
            raise InputError(f"{name}: {kind} takes no {needed}; {remedy}")
    if "mask_image" in parameters and "mask_image" not in accept:
        raise InputError(f"{name}: {kind} must be shown where to edit; {remedy}")
    return {key: one.default for key, one in parameters.items()}


def _check_safety(pipe: Any, settings: DiffusionSettings, name: str) -> None:
    if settings.safety_checker and getattr(pipe, "safety_checker", None) is None:
        raise InputError(f"safety_checker=true: {name} comes without one; leave it out")


def _set_scheduler(pipe: Any, wanted: str) -> None:
    if wanted == "shipped":
        return
    import diffusers

    kind = getattr(diffusers, _SCHEDULERS[wanted])
    if kind not in pipe.scheduler.compatibles:
        what = f"{type(pipe).__name__} works with its own only"
        raise InputError(f"scheduler={wanted}: {what}; leave it at shipped")
    pipe.scheduler = kind.from_config(pipe.scheduler.config)


def _add_lora(pipe: Any, name: str, path: Path) -> None:
    if not hasattr(pipe, "load_lora_weights"):
        raise InputError(f"lora={name}: {type(pipe).__name__} takes none; leave it out")
    try:
        pipe.load_lora_weights(str(path), local_files_only=True)
        active = pipe.get_active_adapters()
    except Exception as error:
        raise _unloadable(f"lora={name}", "does not load into this model", error) from error
    if not active:
        # diffusers only warns, and the model would run without it.
        raise InputError(f"lora={name}: fits no layer of this model; was it made for another?")
    _check_lora(pipe, name, path)


def _check_lora(pipe: Any, name: str, path: Path) -> None:
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
    layers = [key for key in weights if ".lora_A" in key or ".lora_B" in key]
    start = "transformer."
    given = {key.removeprefix(start) for key in layers if key.startswith(start)}
    used: set[str] = set()
    for adapter in pipe.get_active_adapters():
        used |= set(get_peft_model_state_dict(denoiser, adapter_name=adapter))
    if given and (lost := given - used):
        raise InputError(
            f"lora={name}: {len(lost)} of its {len(given)} weights fit nothing in this model; "
            "use one that was made for it"
        )


def _place(pipe: Any, settings: DiffusionSettings, device: str) -> None:
    vae: Any = getattr(pipe, "vae", None)
    if settings.slicing:
        pipe.enable_attention_slicing()
        if hasattr(vae, "use_slicing"):
            vae.enable_slicing()
    if settings.tiling:
        if not hasattr(vae, "use_tiling"):
            raise InputError("tiling=true: this model's autoencoder cannot do that; leave it out")
        vae.enable_tiling()
    if settings.offload == "model":
        pipe.enable_model_cpu_offload(device=device)
    elif settings.offload == "sequential":
        pipe.enable_sequential_cpu_offload(device=device)
    else:
        pipe.to(device)
    pipe.set_progress_bar_config(disable=True)


def _multiple(pipe: Any) -> int:
    """Pixels to a latent cell, times what the denoiser joins or halves."""
    cell = int(getattr(pipe, "vae_scale_factor", 8))
    unet = getattr(pipe, "unet", None)
    if unet is not None:
        return int(cell * 2 ** (len(unet.config.block_out_channels) - 1))
    return cell * 2


def _own_size(pipe: Any) -> int:
    unet = getattr(pipe, "unet", None)
    cells: Any = unet.config.get("sample_size") if unet is not None else None
    if cells is None:
        cells = getattr(pipe, "default_sample_size", 64)
    side = cells if isinstance(cells, int) else max(cells)
    return int(side * getattr(pipe, "vae_scale_factor", 8))


def _unloadable(name: str, what: str, error: Exception) -> InputError:
    if isinstance(error, MedebenchError):
        return InputError(f"{name}: {error}")
    return InputError(f"{name}: {what} ({type(error).__name__}: {one_line(str(error), 300)})")
