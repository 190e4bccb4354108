"""A model from the hub: what is needed of it, each large file with the checksum the hub states.

Many repositories hold the same numbers several times: for other frameworks, in half precision, as
pickles beside safetensors, as one file beside a pipeline's parts.
"""

from __future__ import annotations

import errno
import glob
import logging
import re
import shutil
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from medebench.errors import InputError, MedebenchError, NotReadyError, one_line
from medebench.files import alone
from medebench.progress import Progress
from medebench.weights.download_progress import watched
from medebench.weights.hub_cache import in_hub_cache, repository_folder
from medebench.weights.identity_hash import sha256_of
from medebench.weights.known_weights import Hub

_FORMATS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt")
_NEVER = (
    *(".msgpack", ".h5", ".onnx", ".onnx_data", ".ot", ".tflite", ".pb", ".mlmodel", ".xml"),
    *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".mp4", ".ipynb"),
)
_PIECE = re.compile(r"-\d{5}-of-\d{5}$")
_HIDDEN = re.compile(r"(^|/)\.")
_VARIANTS = ("", "fp16", "bf16", "non_ema")


def choose(files: Iterable[str], patterns: Sequence[str] = ()) -> list[str]:
    """The files to download; only those that match a pattern, if there are patterns."""
    every = sorted(
        one for one in files if not _HIDDEN.search(one) and not one.lower().endswith(_NEVER)
    )
    if patterns:
        every = [one for one in every if any(fnmatchcase(one, like) for like in patterns)]
    if "model_index.json" in every:
        every = [one for one in every if "/" in one or not one.endswith(_FORMATS)]
    forms = {one: _form(one) for one in every if one.endswith(_FORMATS)}
    best: dict[str, tuple[int, int]] = {}
    for same, rank in forms.values():
        best[same] = min(rank, best.get(same, rank))
    return [one for one in every if one not in forms or forms[one][1] == best[forms[one][0]]]


def _form(file: str) -> tuple[str, tuple[int, int]]:
    """The common name of all forms of the same weights, and the rank of this form."""
    path = PurePosixPath(file)
    stem = _PIECE.sub("", path.stem)
    variant = stem.rpartition(".")[2]
    if variant in _VARIANTS:
        stem = stem.removesuffix(f".{variant}")
    else:
        variant = ""
    same = str(path.parent / stem.replace("pytorch_", ""))
    return same, (_VARIANTS.index(variant), _FORMATS.index(path.suffix))


#: Seconds for the first question, which is tiny: a machine without network is told so soon.
_REACH = 10.0
_DISK = {errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EPERM, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True)
class _File:
    name: str
    size: int
    #: As the hub states it, for large files.
    sha256: str


def fetch_into_cache(hub: Hub, progress: Progress) -> None:
    """Download into the hub's own cache, where other tools find it too; resumable."""
    with _told(hub):
        files = _files(hub)
        _snapshot(hub, files, repository_folder(hub.id), None, progress)
        snapshot = in_hub_cache(hub.id)
        if snapshot is None:
            raise MedebenchError(f"{hub.id}: download incomplete; run the command again")
        _check(hub, files, snapshot)


def fetch_into_folder(hub: Hub, target: Path, progress: Progress) -> None:
    """Download into a folder that appears once it is complete; resumable."""
    staging = target.with_name(f".{target.name}.partial")
    with _told(hub), alone(staging, staging):
        files = _files(hub)
        staging.mkdir(exist_ok=True)
        _snapshot(hub, files, staging, staging, progress)
        _check(hub, files, staging)
        shutil.rmtree(staging / ".cache", ignore_errors=True)  # the hub's own notes
        if target.is_dir():
            shutil.rmtree(target)
        staging.replace(target)


def _files(hub: Hub) -> list[_File]:
    """The files to download, as listed by the hub."""
    from huggingface_hub import HfApi

    info = HfApi().model_info(hub.id, files_metadata=True, timeout=_REACH)
    listed = {one.rfilename: one for one in info.siblings or []}
    chosen = [listed[name] for name in choose(listed, hub.files)]
    if not chosen:
        raise InputError(f"{hub.id}: the hub's copy contains no usable files")
    return [
        _File(one.rfilename, one.size or 0, one.lfs.sha256 if one.lfs else "") for one in chosen
    ]


def _snapshot(
    hub: Hub, files: list[_File], watch: Path, local: Path | None, progress: Progress
) -> None:
    from huggingface_hub import snapshot_download

    here = local or in_hub_cache(hub.id)
    missing = [one for one in files if here is None or not (here / one.name).is_file()]
    patterns = [glob.escape(one.name) for one in files]
    with watched(watch, sum(one.size for one in missing), progress):
        snapshot_download(hub.id, allow_patterns=patterns, local_dir=local)


def _check(hub: Hub, files: list[_File], folder: Path) -> None:
    for one in files:
        path = folder / one.name
        if not path.is_file():
            raise MedebenchError(f"{hub.id}: {one.name} was not downloaded; run the command again")
        wrong = path.stat().st_size != one.size
        if wrong or (one.sha256 and sha256_of(path) != one.sha256):
            # Not to be taken for whole by anybody, and fetched anew the next time.
            path.resolve().unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            raise MedebenchError(
                f"{hub.id}: {one.name} arrived damaged (wrong checksum) and was removed; "
                "run the command again"
            )


@contextmanager
def _told(hub: Hub) -> Iterator[None]:
    """Turn any error into one line, and silence the hub's progress bars and hints."""
    from huggingface_hub import constants
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
    from huggingface_hub.utils import logging as chatter

    if constants.HF_HUB_OFFLINE:
        raise InputError(
            f"{hub.id} not downloaded: HF_HUB_OFFLINE is set; unset it and run the command again"
        )
    bars: Any = import_module("huggingface_hub.utils.tqdm")
    level, off = chatter.get_verbosity(), bars.are_progress_bars_disabled()
    chatter.set_verbosity(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bars.disable_progress_bars()
            yield
    except MedebenchError:
        raise
    except GatedRepoError as error:
        raise NotReadyError(
            f"{hub.id}: access must be requested on the model's page; then run "
            "'hf auth login' and this command again"
        ) from error
    except RepositoryNotFoundError as error:
        raise InputError(
            f"{hub.id}: not found on the hub, or private (try 'hf auth login')"
        ) from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _DISK:
            where = error.filename or "the hub's cache"
            raise MedebenchError(f"{where}: cannot be written: {error.strerror}") from error
        what = one_line(f"{type(error).__name__}: {error}", 160)
        raise MedebenchError(
            f"{hub.id}: could not be downloaded from the hub ({what}); check the network and run "
            "the same command to continue"
        ) from error
    finally:
        chatter.set_verbosity(level)
        if not off:
            bars.enable_progress_bars()
