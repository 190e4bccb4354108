"""Settings of a model in a JSON file beside its weights."""

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
