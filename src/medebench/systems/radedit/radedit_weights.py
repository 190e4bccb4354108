"""`microsoft/radedit` as a pipeline: three repositories that belong together.

The paper's own repository holds the U-Net alone. Its autoencoder is SDXL's, its texts are read by
BioViL-T's BERT, and the noise is DDPM's. A folder of links in medebench's cache puts them together
in the format that all other pipelines have; no code of the repositories is run.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from medebench.files import cache_folder, sha256, whole_folder, write_json
from medebench.systems.diffusion.pipeline_weights import INDEX, Weights
from medebench.weights import Absent, find_weights
from medebench.weights.acquisition import get_weights
from medebench.weights.local_weights import locate

RADEDIT = "microsoft/radedit"
#: By part: where it is from.
PARTS = {
    "unet": RADEDIT,
    "vae": "stabilityai/sdxl-vae",
    "text_encoder": "microsoft/BiomedVLP-BioViL-T",
}
#: Goes up with every change of what is written below.
_VERSION = 1
_WORDS = ("vocab.txt", "tokenizer.json", "special_tokens_map.json")
_CLASSES: dict[str, Any] = {
    "_class_name": "StableDiffusionPipeline",
    "unet": ["diffusers", "UNet2DConditionModel"],
    "vae": ["diffusers", "AutoencoderKL"],
    "text_encoder": ["transformers", "BertModel"],
    "tokenizer": ["transformers", "BertTokenizer"],
    "scheduler": ["diffusers", "DDIMScheduler"],
    "safety_checker": [None, None],
    "feature_extractor": [None, None],
    "requires_safety_checker": False,
}
_SCHEDULER = {
    "_class_name": "DDIMScheduler",
    "num_train_timesteps": 1000,
    "beta_start": 1e-4,
    "beta_end": 2e-2,
    "beta_schedule": "linear",
    "clip_sample": False,
    "prediction_type": "epsilon",
    "timestep_spacing": "trailing",
    "steps_offset": 1,
}
#: The longest text that the U-Net was trained with, in tokens.
_TOKENS = 128


def is_published(model: str) -> bool:
    """Whether `model` must be put together; a whole pipeline of its name is taken as it is."""
    if model != RADEDIT:
        return False
    found = locate(RADEDIT)
    return found is None or not (found.path / INDEX).is_file()


def problems(download: bool) -> list[str]:
    """What of the three is missing, in one line, or damaged, a line each."""
    found = {name: find_weights(name) for name in PARTS.values()}
    absent = {
        name: one
        for name, one in found.items()
        if isinstance(one, Absent) and not (download and one.downloadable)
    }
    missing = [name for name in absent if locate(name) is None]
    if len(missing) < 2:
        return [one.problem for one in absent.values()]
    first = f"{RADEDIT}: its weights are not all on this machine"
    line = f"{first}; get them with 'medebench weights get {' '.join(missing)}'"
    return [line, *(one.problem for name, one in absent.items() if name not in missing)]


def weights(download: bool = False) -> Weights | None:
    """The pipeline, put together once; None where a part is missing and not to be fetched."""
    folders = {}
    for part, name in PARTS.items():
        found = get_weights(name) if download else find_weights(name)
        if isinstance(found, Absent):
            return None
        folders[part] = found.path
    folders["unet"] = folders["unet"] / "unet"
    said = json.dumps([_VERSION, {part: str(one.resolve()) for part, one in folders.items()}])
    target = cache_folder() / "pipelines" / f"radedit-{sha256(said.encode())[:16]}"
    if not (target / INDEX).is_file():
        with whole_folder(target) as scratch:
            _put_together(scratch, folders)
    return Weights(target, RADEDIT)


def _put_together(target: Path, folders: dict[str, Path]) -> None:
    for part in ("unet", "vae"):
        _link(folders[part], target / part)
    bert = folders["text_encoder"]
    for name in ("model.safetensors", "pytorch_model.bin"):
        if (bert / name).is_file():
            _link(bert / name, target / "text_encoder" / name)
            break
    # Published as a class of its own; its body, all that is used here, is BERT's.
    config = _read(bert / "config.json") | {"model_type": "bert", "architectures": ["BertModel"]}
    write_json(target / "text_encoder" / "config.json", _without_code(config))
    for name in _WORDS:
        if (bert / name).is_file():
            _link(bert / name, target / "tokenizer" / name)
    words = _read(bert / "tokenizer_config.json")
    words |= {"model_max_length": _TOKENS, "tokenizer_class": "BertTokenizer"}
    write_json(target / "tokenizer" / "tokenizer_config.json", _without_code(words))
    write_json(target / "scheduler" / "scheduler_config.json", _SCHEDULER)
    write_json(target / INDEX, _CLASSES)


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}


def _without_code(config: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key != "auto_map"}


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        target.symlink_to(source.resolve(), target_is_directory=source.is_dir())
    except OSError:  # a system where links need a right of their own
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, target)
