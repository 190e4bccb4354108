"""The system that is to be trained: what it was called with, and its pipeline ready to learn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.cases import Case, open_case
from medebench.device import choose_device, missing_releases, no_device
from medebench.errors import InputError, MedebenchError, NotReadyError
from medebench.settings import split_call, split_name
from medebench.systems import SystemInstance, find_system
from medebench.systems.diffusion import pipeline_lookup
from medebench.systems.diffusion.diffusion_editor import DiffusionEditor
from medebench.systems.diffusion.pipeline_weights import Weights
from medebench.systems.system_folder import system_folder
from medebench.tuning.objectives.objective_lookup import weights_problem
from medebench.tuning.pairs import TrainPair
from medebench.tuning.train_settings import TrainSettings
from medebench.weights import Absent

_PACKAGES = {"peft": (0, 17), "accelerate": (1, 0)}


@dataclass(frozen=True)
class Base:
    """A diffusion editor as the user called it, not loaded yet."""

    call: str
    instance: SystemInstance
    editor: DiffusionEditor

    @property
    def settings(self) -> Any:
        return self.editor.settings

    def weights(self) -> Weights | Absent:
        return pipeline_lookup.find_weights(self.settings.model, self.editor._leave_out)

    def written(self) -> tuple[str, dict[str, Any]]:
        """System and settings that call it again from anywhere; not how the device is used."""
        name, _ = split_name(self.call)
        folder = system_folder(name)
        argument = type(self.editor).argument
        _, given = split_call(self.call, argument=True)
        told: dict[str, Any] = {key or argument: value for key, value in given.items()}
        if folder is not None:
            name, told = folder.system, {**folder.given(), **told}
        runtime = {*type(self.settings).runtime_only, "device"}
        kept = {key: value for key, value in told.items() if key not in runtime}
        if "model" in kept and (path := Path(str(kept["model"])).expanduser()).exists():
            kept["model"] = str(path.absolute())
        return name, kept

    def loaded(self, settings: TrainSettings, device: str) -> DiffusionEditor:
        """The same with its pipeline loaded for training: on one device, nothing recorded."""
        changed = {"device": device, "offload": "none", "attention": False}
        changed |= {"batch": 1, "demonstrations": 0}
        one = self.settings.model_copy(update=changed)
        weights = type(self.editor)(one)._weights
        if problem := weights_problem(weights, settings):
            raise InputError(problem)
        dtype = frozen_dtype(one.dtype, weights, settings, device)
        editor = type(self.editor)(one.model_copy(update={"dtype": dtype}))
        editor.prepare()
        return editor


def base_system(call: str) -> Base:
    """InputError where it is nothing that is trained here."""
    instance = find_system(call)
    editor = instance.system
    if not isinstance(editor, DiffusionEditor):
        raise InputError(f"{call}: is no diffusion model of diffusers, the only ones trained here")
    return Base(call, instance, editor)


def base_problem(base: Base, settings: TrainSettings) -> str | None:
    """One line why it cannot be trained; nothing is loaded."""
    if lacking := missing_releases(_PACKAGES, "diffusion"):
        return f"training {lacking}"
    if base.settings.lora:
        return f"lora={base.settings.lora}: a model with a LoRA is not trained on; leave it out"
    if settings.no_text + settings.no_image + settings.no_both > 1:
        return "no_text, no_image and no_both: are more than 1 together; lower one"
    if settings.method == "full" and settings.alpha is not None:
        return "alpha: has no effect with method=full; leave it out"
    found = base.editor.problems()
    if found:
        return found[0]
    weights = base.weights()
    # What the hub has and this machine has not can only be told once it is there.
    return None if isinstance(weights, Absent) else weights_problem(weights, settings)


def require_trainable(call: str, settings: TrainSettings) -> Base:
    base = base_system(call)
    if problem := base_problem(base, settings):
        raise NotReadyError(f"{call}: {problem}")
    return base


def device_for(wanted: str) -> str:
    kind, _, number = wanted.partition(":")
    if kind not in ("auto", "cpu", "cuda", "mps"):
        raise InputError(f"device: expected auto, cpu, cuda, cuda:NUMBER or mps, found '{wanted}'")
    if problem := no_device(kind):
        raise NotReadyError(problem)
    if number:
        import torch

        if not number.isdecimal() or int(number) >= torch.cuda.device_count():
            raise NotReadyError(f"device={wanted}: there are {torch.cuda.device_count()} of them")
    return choose_device(wanted)


def mixed_precision(settings: TrainSettings, device: str) -> str:
    """`no`, `fp16` or `bf16`, as accelerate takes it."""
    if settings.precision != "auto":
        return settings.precision
    if not device.startswith("cuda"):
        return "no"
    import torch

    return "bf16" if torch.cuda.is_bf16_supported() else "fp16"


def frozen_dtype(wanted: str, weights: Weights, settings: TrainSettings, device: str) -> str:
    """What the frozen weights are kept in; what learns is in 32 bits always.

    Only transformers, which are large, are kept in half precision, where only a LoRA learns.
    """
    if settings.method == "full" or not weights.is_transformer:
        return "float32"
    if wanted != "auto":
        return wanted
    half = {"bf16": "bfloat16", "fp16": "float16"}
    return half.get(mixed_precision(settings, device), "float32")


def opened_pair(editor: DiffusionEditor, given: tuple[Case, Case]) -> TrainPair:
    """Both images on the canvas on which the model would edit the first."""
    shown, taught = (open_case(case) for case in given)
    try:
        frame = editor._frame_for(shown)
        previous = frame.to_model(shown.previous, shown.data_range)
        target = frame.to_model(taught.reference, taught.data_range)
    except MedebenchError as error:
        raise InputError(f"case {shown.case.id}: cannot be learned from; {error}") from error
    import numpy as np
    from PIL import Image

    roi = None
    if taught.case.roi is not None:
        mask = Image.fromarray(taught.roi.astype(np.uint8) * 255)
        roi = np.asarray(mask.resize(frame.canvas, Image.Resampling.BILINEAR)) > 127
    pixels = np.asarray(previous), np.asarray(target)
    return TrainPair(shown.case.id, *pixels, shown.case.prompt, roi)
