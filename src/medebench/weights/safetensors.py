"""What the files of a model say without their numbers: its settings, and headers of safetensors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from medebench.errors import InputError


def read_json(path: Path) -> dict[str, Any]:
    """The settings in a file that is there."""
    try:
        read = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as JSON; download the file again") from error
    if not isinstance(read, dict):
        raise InputError(f"{path}: contains no settings; download the file again")
    return read


def read_header(path: Path) -> tuple[int, dict[str, Any]]:
    """Where the numbers begin, and what the file says of them; ValueError where it says nothing."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > path.stat().st_size:
            raise ValueError("the header is cut off")
        header = json.loads(file.read(length))
    if not isinstance(header, dict):
        raise ValueError("the header is no table")
    return 8 + length, header


def file_problem(path: Path, called: str) -> str | None:
    """What is wrong with a file of weights, by a look that reads none of them."""
    if not path.is_file():
        return f"{called} is missing"
    if not path.stat().st_size:
        return f"{called} is empty"
    try:
        if path.suffix == ".safetensors":
            start, header = read_header(path)
            header.pop("__metadata__", None)
            ends = [entry["data_offsets"][1] for entry in header.values()]
            if path.stat().st_size < start + int(max(ends, default=0)):
                return f"{called} is cut off"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return f"{called} is damaged"
    return None
