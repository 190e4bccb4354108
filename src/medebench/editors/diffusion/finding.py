"""Where the weights called so lie: built in, in a folder or file, or in the hub's cache."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from medebench.editors.diffusion.settings import BUILTIN
from medebench.editors.diffusion.weights import INDEX, Weights, identity_of
from medebench.errors import NotReadyError, one_line

Found = TypeVar("Found")

_SINGLE = (".safetensors", ".ckpt", ".pt", ".bin")
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
#: All that a pipeline is configured by, and no weights.
_CONFIGURATION = ("*.json", "*.txt", "*.model")


@dataclass(frozen=True)
class Absent:
    """Why there are no such weights here, and what to do."""

    problem: str
    #: The hub may have them.
    downloadable: bool = False


def find_weights(model: str, leave_out: tuple[str, ...] = ()) -> Weights | Absent:
    """The weights called `model`, whole as far as a look tells; never from the network."""
    if model == BUILTIN:
        path = Path(str(resources.files("medebench.editors"))) / "phantom_editor"
        if not (path / INDEX).is_file():
            return Absent(
                "the built-in model is not part of this installation; reinstall medebench"
            )
        return Weights(path, "phantom-editor")
    path = Path(model).expanduser()
    if path.exists():
        return _local(path.absolute(), model, leave_out)
    if not _HUB_ID.fullmatch(model):
        return Absent(f"{model}: no such folder or file, and not a hub id like owner/name")
    found = _in_cache(model)
    if found is None or not (found / INDEX).is_file():
        return Absent(
            f"{model}: its weights are not on this machine; get them with "
            f"'hf download {model}', or add download=true",
            downloadable=True,
        )
    weights = Weights(found, model, leave_out)
    if problem := weights.problem():
        return Absent(
            f"{model}: {problem} in the hub's cache; finish the download with "
            f"'hf download {model}', or add download=true",
            downloadable=True,
        )
    return weights


def fetch_weights(model: str, leave_out: tuple[str, ...] = ()) -> Weights:
    """The weights called `model`, from the hub where that is needed."""

    def fetch() -> None:
        from diffusers import DiffusionPipeline

        from medebench.editors.diffusion.loading import quiet

        with quiet():
            DiffusionPipeline.download(model, **dict.fromkeys(leave_out))

    return _found_or_fetched(model, partial(find_weights, model, leave_out), fetch)


def find_configuration(model: str) -> Path | Absent:
    """The folder that says how a single file is put together; it needs no weights."""
    path = Path(model).expanduser()
    if path.exists():
        if (path / INDEX).is_file():
            return path.absolute()
        return Absent(f"config={model}: has no {INDEX}; name the folder of a pipeline")
    found = _in_cache(model) if _HUB_ID.fullmatch(model) else None
    if found is not None and (found / INDEX).is_file():
        return found
    return Absent(
        f"config={model}: is not on this machine; get it with "
        f"""'hf download {model} --include "*.json" "*.txt"', or add download=true""",
        downloadable=_HUB_ID.fullmatch(model) is not None,
    )


def fetch_configuration(model: str) -> Path:
    fetch = partial(_fetch, model, allow_patterns=list(_CONFIGURATION))
    return _found_or_fetched(model, partial(find_configuration, model), fetch)


def find_lora(lora: str) -> Path | Absent:
    """A LoRA's file, or the folder it is in."""
    path = Path(lora).expanduser()
    if path.exists():
        return path.absolute()
    if not _HUB_ID.fullmatch(lora):
        return Absent(f"lora={lora}: no such file or folder, and not a hub id like owner/name")
    found = _in_cache(lora)
    if found is None:
        what = f"lora={lora}: is not on this machine"
        return Absent(f"{what}; get it with 'hf download {lora}', or add download=true", True)
    return found


def fetch_lora(lora: str) -> Path:
    return _found_or_fetched(lora, partial(find_lora, lora), partial(_fetch, lora))


def lora_identity(path: Path) -> str:
    if path.parent.name == "snapshots":
        return f"lora {path.parent.parent.name}@{path.name[:12]}"
    files = [path] if path.is_file() else sorted(path.glob("*.safetensors"))
    return f"lora {identity_of(files, path.parent if path.is_file() else path)}"


def there(found: Found | Absent) -> Found:
    """What was found, or word that it is missing."""
    if isinstance(found, Absent):
        raise NotReadyError(found.problem)
    return found


def _local(path: Path, model: str, leave_out: tuple[str, ...]) -> Weights | Absent:
    if path.is_file():
        if path.suffix.lower() not in _SINGLE:
            return Absent(f"{model}: not a file of weights ({', '.join(_SINGLE)})")
    elif not (path / INDEX).is_file():
        return Absent(f"{model}: has no {INDEX}; name the folder that save_pretrained() wrote")
    weights = Weights(path, path.name, leave_out)
    if problem := weights.problem():
        return Absent(f"{model}: {problem}; copy the model again")
    return weights


def _in_cache(model: str) -> Path | None:
    """The snapshot of a hub id that the hub's own tools would use without a network."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(model, local_files_only=True))
    except (OSError, ValueError):
        return None


def _fetch(name: str, **which: Any) -> None:
    from huggingface_hub import snapshot_download

    snapshot_download(name, **which)


def _found_or_fetched(
    name: str, find: Callable[[], Found | Absent], fetch: Callable[[], None]
) -> Found:
    """What `find` finds, at once or after `fetch`."""
    found = find()
    if isinstance(found, Absent) and found.downloadable:
        try:
            fetch()
        except Exception as error:
            what = one_line(f"{type(error).__name__}: {error}", 200)
            raise NotReadyError(
                f"{name}: could not be downloaded ({what}); try 'hf download {name}'"
            ) from error
        found = find()
    return there(found)
