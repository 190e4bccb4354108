"""One training from beginning to end: the folder it makes is a system to be named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.cases import Case, open_case
from medebench.errors import InputError, MedebenchError
from medebench.files import TEMPORARY, alone, sha256, sweep, write_bytes, write_json
from medebench.images.picture import encode_png
from medebench.progress import Progress, silent
from medebench.quiet import quiet
from medebench.runs.provenance import now, versions
from medebench.systems import Request, case_seed
from medebench.systems.diffusion.diffusion_editor import DiffusionEditor, as_seen
from medebench.systems.request import Refused
from medebench.tuning.adapter_folder import save_lora, save_pipeline, write_adapter
from medebench.tuning.base_system import (
    Base,
    base_problem,
    base_system,
    device_for,
    mixed_precision,
    opened_pair,
    require_trainable,
)
from medebench.tuning.model_card import write_card
from medebench.tuning.objectives.objective import Objective
from medebench.tuning.objectives.objective_lookup import objective_for
from medebench.tuning.train_request import TrainRequest
from medebench.tuning.train_settings import TrainSettings
from medebench.tuning.training_checkpoint import FOLDER
from medebench.tuning.training_loop import LOG, Course, derived, follow, read_losses

REQUEST, FACTS, SAMPLES = "request.json", "training.json", "samples"


@dataclass(frozen=True)
class Trained:
    """A training that is done; `losses` are means of the first and last twentieth of the steps."""

    folder: Path
    steps: int
    seconds: float
    first_loss: float
    last_loss: float


def training_problem(system: str, settings: TrainSettings) -> str | None:
    """One line why this system cannot be trained so, before any work; None if it can."""
    try:
        return base_problem(base_system(system), settings)
    except MedebenchError as error:
        return str(error)


def train_adapter(request: TrainRequest, out: Path, progress: Progress = silent) -> Trained:
    """Train what `request` names and leave it in `out`, continuing what is there.

    What is finished is not done again; a folder with another training is refused.
    """
    base = require_trainable(request.system, request.settings)
    if not request.pairs or request.steps < 1:
        raise InputError("training: needs at least one pair and one step")
    device = device_for(request.device)
    out = Path(out)
    with alone(out, out):
        told = _told(base, request)
        _require_own(out, told)
        if (out / FACTS).is_file():
            return _finished(out)
        out.mkdir(parents=True, exist_ok=True)
        sweep(out)
        write_json(out / REQUEST, told)
        with quiet("diffusers", "transformers"), _chance(device):
            _train(base, request, out, device, told, progress)
        return _finished(out)


def _train(
    base: Base,
    request: TrainRequest,
    out: Path,
    device: str,
    told: dict[str, Any],
    progress: Progress,
) -> None:
    settings = request.settings
    editor = base.loaded(settings, device)
    pairs = [opened_pair(editor, pair) for pair in request.pairs]
    objective = objective_for(editor._loaded.pipe, settings, base.settings.negative_prompt)
    open_weights(objective, settings, request.seed)
    accelerator = _accelerator(settings, device)
    course = Course(pairs, request.steps, request.seed, settings, out, _digest(told))

    def watch(step: int) -> None:
        for case in request.validation:
            with accelerator.autocast():
                _sample(editor, case, out / SAMPLES / f"{case.id}-{step}.png")

    seconds = follow(objective, course, accelerator, watch, progress)
    name, kept = base.written()
    if settings.method == "lora":
        save_lora(objective, out)
    else:
        weights = editor._weights
        save_pipeline(objective, None if weights.single else weights.path, out)
    write_adapter(out, name, kept, settings.method)
    losses = read_losses(out / LOG)
    few = max(1, len(losses) // 20)
    facts = {
        "steps": request.steps,
        "seconds": round(seconds, 3),
        "first_loss": sum(losses[:few]) / few,
        "last_loss": sum(losses[-few:]) / few,
        "device": device,
        "precision": mixed_precision(settings, device),
        "trained": sum(one.numel() for one in _open(objective)),
        "finished": now(),
        "versions": versions(),
        **told,
        "settings": settings.model_dump(mode="json"),
        "card": dict(request.card),
    }
    write_card(out, facts, base.settings.model, editor._loaded.kind, editor._weights)
    write_json(out / FACTS, facts)
    editor.close()


def open_weights(objective: Objective, settings: TrainSettings, seed: int) -> None:
    """Freeze the pipeline, all but what is to learn; a LoRA begins as no change."""
    import torch

    pipe, denoiser = objective.pipe, objective.denoiser
    for part in pipe.components.values():
        if isinstance(part, torch.nn.Module):
            part.requires_grad_(False)
            part.eval()
    learns: Any = denoiser
    if settings.method == "full":
        denoiser.requires_grad_(True)
    else:
        from diffusers.training_utils import cast_training_params
        from peft import LoraConfig

        torch.manual_seed(derived(seed, "lora", 0))
        learns.add_adapter(
            LoraConfig(
                r=settings.rank,
                lora_alpha=settings.alpha or settings.rank,
                target_modules=list(objective.lora_targets),
            )
        )
        cast_training_params(denoiser, dtype=torch.float32)
    if settings.checkpointing:
        learns.enable_gradient_checkpointing()


def _open(objective: Objective) -> Iterator[Any]:
    return (one for one in objective.denoiser.parameters() if one.requires_grad)


def _accelerator(settings: TrainSettings, device: str) -> Any:
    """Of this training alone: accelerate keeps the state of the first one for the whole process."""
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState, GradientState

    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    return Accelerator(
        cpu=device == "cpu",
        device_placement=False,
        mixed_precision=mixed_precision(settings, device),
        gradient_accumulation_steps=settings.accumulate,
    )


@contextmanager
def _chance(device: str) -> Iterator[None]:
    """Repeatable, and without a trace in the caller's streams."""
    import torch

    cuda = device.startswith("cuda")
    if ":" in device:
        torch.cuda.set_device(device)
    before = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    with torch.random.fork_rng(devices=[torch.cuda.current_device()] if cuda else []):
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
        try:
            yield
        finally:
            torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = before


def _sample(editor: DiffusionEditor, case: Case, path: Path) -> None:
    """What the model makes of a case now, as it would in a run; a refusal leaves no picture."""
    import torch

    request = Request(open_case(case), 0, case_seed(0, case.id, 0))
    try:
        frame = editor._frame(request)
        pictures = as_seen([request], [frame])
        arguments = editor._arguments([request], pictures, [editor._text(request)])
        # Not in inference mode: what a model keeps from one call to the next must still be learned
        # through.
        with torch.no_grad():
            made = editor._loaded.pipe(**arguments).images[0]
        picture = frame.from_model(made)
    except Refused:
        return
    write_bytes(path, encode_png(picture))


def _told(base: Base, request: TrainRequest) -> dict[str, Any]:
    """All that decides the weights."""
    settings = request.settings
    dumped = settings.model_dump(mode="json")
    return {
        "system": base.instance.name,
        "system_settings": base.instance.settings,
        "weights": base.editor.identity(),
        "pairs": [[shown.id, taught.id] for shown, taught in request.pairs],
        "content": _content(request),
        "steps": request.steps,
        "seed": request.seed,
        "train": {key: one for key, one in dumped.items() if key not in settings.runtime_only},
    }


def _content(request: TrainRequest) -> str:
    """Of the files and words that are learned from."""
    files: dict[Path, str] = {}

    def of(path: Path | None) -> str:
        if path is None:
            return ""
        if path not in files:
            files[path] = sha256(path.read_bytes())
        return files[path]

    rows = [
        [shown.prompt, of(shown.previous), of(taught.reference), of(taught.roi)]
        for shown, taught in request.pairs
    ]
    return sha256(json.dumps(rows).encode())


def _digest(told: dict[str, Any]) -> str:
    return sha256(json.dumps(told, sort_keys=True).encode())


def _require_own(out: Path, told: dict[str, Any]) -> None:
    """InputError where the folder holds something else."""
    if not out.is_dir() or all(one.name.startswith(TEMPORARY) for one in out.iterdir()):
        return
    try:
        there = json.loads((out / REQUEST).read_text("utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{out}: is not empty, and no training; choose another folder") from None
    told = json.loads(json.dumps(told))
    differs = [key for key in told if there.get(key) != told[key]]
    if differs:
        raise InputError(
            f"{out}: has another training, with other {', '.join(differs)}; choose another folder"
        )


def _finished(out: Path) -> Trained:
    shutil.rmtree(out / FOLDER, ignore_errors=True)
    facts = json.loads((out / FACTS).read_text("utf-8"))
    losses = facts["first_loss"], facts["last_loss"]
    return Trained(out, facts["steps"], facts["seconds"], *losses)
