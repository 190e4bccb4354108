"""From weights to a pipeline that is ready to be called."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.device import choose_device
from medebench.editors.diffusion.device import choose_dtype
from medebench.editors.diffusion.lora import check_lora
from medebench.editors.diffusion.settings import DiffusionSettings
from medebench.editors.diffusion.weights import Weights
from medebench.errors import InputError, MedebenchError, one_line
from medebench.quiet import quiet

#: The arguments that an editor needs to give to a pipeline's call.
Accept = tuple[str, ...]
INSTRUCTION: Accept = ("prompt", "image")

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
    return Loaded(pipe, device, dtype, _multiple(pipe), _own_size(pipe), known)


def open_pipeline(
    weights: Weights, settings: DiffusionSettings, dtype: Any, config: Path | None
) -> Any:
    """The pipeline of diffusers, on the CPU; tests put one of their own here."""
    import diffusers

    # Named by the built-in model; diffusers takes such a part only where it is imported already.
    import medebench.editors.patch_autoencoder  # noqa: F401

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
    check_lora(pipe, name, path)


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
