"""What a training continues from: one file that appears whole, and is known by its content."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.errors import InputError
from medebench.files import sha256, sweep, write_bytes

FOLDER = "checkpoint"
#: Letters of the content's hash in the name of the file.
_LETTERS = 16


@dataclass(frozen=True)
class Checkpoint:
    """State after so many steps; `state` holds tensors and plain values."""

    step: int
    #: Bytes of the loss log that belong to it.
    logged: int
    #: Of training so far, in all sittings.
    seconds: float
    #: Weights that learn, optimizer, schedule, scaler, averaged weights.
    state: dict[str, Any]


def save_checkpoint(out: Path, request: str, checkpoint: Checkpoint) -> None:
    """In the place of the one before; `request` tells whose training it is."""
    import torch

    told = {"request": request, "step": checkpoint.step, "logged": checkpoint.logged}
    told |= {"seconds": checkpoint.seconds, "state": checkpoint.state}
    written = io.BytesIO()
    torch.save(told, written)
    data = written.getvalue()
    name = f"step-{checkpoint.step:08d}-{sha256(data)[:_LETTERS]}.pt"
    write_bytes(out / FOLDER / name, data)
    for file in _files(out):
        if file.name != name:
            file.unlink(missing_ok=True)


def load_checkpoint(out: Path, request: str) -> Checkpoint | None:
    """The last one; InputError where it is damaged or of another training."""
    import torch

    if (out / FOLDER).is_dir():
        sweep(out / FOLDER)
    found = _files(out)
    if not found:
        return None
    path = found[-1]
    data = path.read_bytes()
    if sha256(data)[:_LETTERS] != path.stem.rpartition("-")[2]:
        raise InputError(f"{path}: is damaged; delete {path.parent} to begin the training anew")
    told = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    if told["request"] != request:
        raise InputError(f"{path}: is of another training; choose another folder")
    return Checkpoint(told["step"], told["logged"], told["seconds"], told["state"])


def _files(out: Path) -> list[Path]:
    return sorted((out / FOLDER).glob("step-*.pt"))


def cut_log(path: Path, size: int) -> None:
    """Lines of steps that will be taken again are taken out, a half-written one as well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        if file.tell() < size:
            raise InputError(
                f"{path}: is shorter than its checkpoint says; begin the training anew"
            )
        file.truncate(size)
        file.flush()
        os.fsync(file.fileno())
