"""The folder of a trained adapter: weights as diffusers writes them, and a system to be named."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from medebench.files import TEMPORARY, whole_folder, write_json
from medebench.systems.diffusion.pipeline_weights import INDEX
from medebench.systems.system_folder import write_system
from medebench.tuning.objectives.objective import Objective

LORA = "pytorch_lora_weights.safetensors"
PIPELINE = "pipeline"


def save_lora(objective: Objective, out: Path) -> None:
    """So that `pipe.load_lora_weights(out)` finds it, with its rank and its scale."""
    from diffusers.training_utils import _collate_lora_metadata
    from peft import get_peft_model_state_dict

    denoiser, part = objective.denoiser, objective.part
    layers = {f"{part}_lora_layers": get_peft_model_state_dict(denoiser)}
    told = _collate_lora_metadata({part: denoiser})
    with TemporaryDirectory(dir=out, prefix=TEMPORARY) as scratch:
        type(objective.pipe).save_lora_weights(scratch, weight_name=LORA, **layers, **told)
        (Path(scratch) / LORA).replace(out / LORA)


def save_pipeline(objective: Objective, base: Path | None, out: Path) -> None:
    """A whole pipeline: the part that learned is written, others are linked to the base's files.

    `base` is the folder of the base pipeline; without one all parts are written.
    """
    target = out / PIPELINE
    if target.is_dir():
        shutil.rmtree(target)
    with whole_folder(target) as scratch:
        if base is None:
            objective.pipe.save_pretrained(scratch)
            return
        for path in sorted(base.rglob("*")):
            inside = path.relative_to(base)
            if inside.parts[0] == objective.part or _hidden(inside):
                continue
            if path.is_dir():
                (scratch / inside).mkdir(parents=True, exist_ok=True)
            else:
                _link(path, scratch / inside)
        objective.denoiser.save_pretrained(scratch / objective.part)
        _name_modules(scratch / INDEX)


def write_adapter(out: Path, system: str, settings: Mapping[str, Any], method: str) -> None:
    """`system.json`: the base as it was called, with what was trained in its place."""
    name, value = ("lora", LORA) if method == "lora" else ("model", PIPELINE)
    write_system(out, system, {**settings, name: value}, (name,))


def own_modules(index: Mapping[str, Any]) -> list[str]:
    """Modules of this package, which must be imported before the pipeline can be loaded."""
    parts = [one[0] for one in index.values() if isinstance(one, list) and len(one) == 2]
    return sorted({str(one) for one in parts if str(one).startswith("medebench.")})


def _name_modules(path: Path) -> None:
    """A module that has moved since the base was saved is named as it is called today."""
    index = json.loads(path.read_text("utf-8"))
    for name, kind in index.items():
        if isinstance(kind, list) and kind and kind[0] in own_modules({name: kind}):
            index[name] = [sys.modules[kind[0]].__name__, *kind[1:]]
    path.unlink()
    write_json(path, index)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _link(path: Path, target: Path) -> None:
    """A hard link where the file system allows one: nobody writes into weights in place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(path.resolve(), target)
    except OSError:
        shutil.copyfile(path, target)
