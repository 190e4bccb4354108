"""The weights of a pipeline, its configuration, a LoRA: found like all weights, see weights/."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from medebench.errors import NotReadyError, one_line
from medebench.quiet import quiet
from medebench.systems.diffusion.pipeline_weights import INDEX, Weights
from medebench.weights import Absent, Found
from medebench.weights.hub_cache import is_hub_id
from medebench.weights.identity_hash import identity_of
from medebench.weights.local_weights import CACHE, locate, shipped_folder, variable_problem

T = TypeVar("T")

_SINGLE = (".safetensors", ".ckpt", ".pt", ".bin")
#: All that a pipeline is configured by, and no weights.
_CONFIGURATION = ("*.json", "*.txt", "*.model")


def find_weights(model: str, leave_out: tuple[str, ...] = ()) -> Weights | Absent:
    """The weights called `model`, whole as far as a look tells; never from the network."""
    if shipped := shipped_folder(model):
        if not (shipped / INDEX).is_file():
            return Absent(f"{model}: not in {shipped}; reinstall the package that ships it")
        return Weights(shipped, model.partition(":")[2])
    getting = f"'medebench weights get {model}', or add download=true"
    lacking = f"its weights are not on this machine; get them with {getting}"
    found = _located(model, model, lacking)
    if isinstance(found, Absent):
        return found
    path = found.path
    if found.origin == CACHE:
        if not (path / INDEX).is_file():
            return Absent(f"{model}: {lacking}", downloadable=True)
        weights = Weights(path, model, leave_out)
        if problem := weights.problem():
            what = f"{model}: {problem} in the hub's cache; finish the download with {getting}"
            return Absent(what, downloadable=True)
        return weights
    if path.is_file():
        if path.suffix.lower() not in _SINGLE:
            return Absent(f"{model}: not a file of weights ({', '.join(_SINGLE)})")
    elif not (path / INDEX).is_file():
        return Absent(f"{model}: has no {INDEX}; name the folder that save_pretrained() wrote")
    weights = Weights(path, path.name, leave_out)
    if problem := weights.problem():
        return Absent(f"{model}: {problem}; copy the model again")
    return weights


def get_weights(model: str, leave_out: tuple[str, ...], download: bool) -> Weights:
    """The weights called `model`, from the hub where that is needed and wanted."""

    def fetch() -> None:
        from diffusers import DiffusionPipeline

        with quiet("diffusers", "transformers"):
            DiffusionPipeline.download(model, **dict.fromkeys(leave_out))

    return _get(model, partial(find_weights, model, leave_out), fetch if download else None)


def find_configuration(model: str) -> Path | Absent:
    """The folder that says how a single file is put together; it needs no weights."""
    called = f"config={model}"
    getting = f"""'hf download {model} --include "*.json" "*.txt"', or add download=true"""
    lacking = f"is not on this machine; get it with {getting}"
    found = _located(model, called, lacking)
    if isinstance(found, Absent):
        return found
    if (found.path / INDEX).is_file():
        return found.path
    if found.origin == CACHE:
        return Absent(f"{called}: {lacking}", downloadable=True)
    return Absent(f"{called}: has no {INDEX}; name the folder of a pipeline")


def get_configuration(model: str, download: bool) -> Path:
    fetch = partial(_fetch, model, allow_patterns=list(_CONFIGURATION))
    return _get(model, partial(find_configuration, model), fetch if download else None)


def find_lora(lora: str) -> Path | Absent:
    """A LoRA's file, or the folder it is in."""
    getting = f"'medebench weights get {lora}', or add download=true"
    found = _located(lora, f"lora={lora}", f"is not on this machine; get it with {getting}")
    return found if isinstance(found, Absent) else found.path


def get_lora(lora: str, download: bool) -> Path:
    return _get(lora, partial(find_lora, lora), partial(_fetch, lora) if download else None)


def lora_identity(path: Path) -> str:
    if path.parent.name == "snapshots":
        return f"lora {path.parent.parent.name}@{path.name[:12]}"
    files = [path] if path.is_file() else sorted(path.glob("*.safetensors"))
    return f"lora {identity_of(files, path.parent if path.is_file() else path)}"


def _located(name: str, called: str, lacking: str) -> Found | Absent:
    """Where something called so lies, whole or not."""
    if found := locate(name):
        return found
    if not is_hub_id(name):
        return Absent(f"{called}: no such folder or file, and not a hub id like owner/name")
    if problem := variable_problem():
        return Absent(f"{called}: {problem}")
    return Absent(f"{called}: {lacking}", downloadable=True)


def _fetch(name: str, **which: Any) -> None:
    from huggingface_hub import snapshot_download

    snapshot_download(name, **which)


def _get(name: str, find: Callable[[], T | Absent], fetch: Callable[[], None] | None) -> T:
    """What `find` finds, at once or after `fetch`; or word that it is missing."""
    found = find()
    if fetch is not None and isinstance(found, Absent) and found.downloadable:
        try:
            fetch()
        except Exception as error:
            what = one_line(f"{type(error).__name__}: {error}", 200)
            raise NotReadyError(
                f"{name}: could not be downloaded ({what}); try 'hf download {name}'"
            ) from error
        found = find()
    if isinstance(found, Absent):
        raise NotReadyError(found.problem)
    return found
