"""YAML that users write, read with errors that name the file and the line."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medebench.errors import InputError


def read_text(path: Path, kind: str, builtin: Sequence[str]) -> str:
    """The text of the user's `kind` at `path`; a misspelt built-in name gets a hint."""
    if not path.is_file():
        close = difflib.get_close_matches(str(path), builtin, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"built-in: {', '.join(builtin)}"
        raise InputError(f"{path}: no such {kind}; {hint}")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from None


def parse_fields(where: str, text: str, expected: str) -> dict[str, Any]:
    """The fields of a YAML mapping; `expected` names some of them for the message."""
    import yaml

    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or type(error).__name__
        raise InputError(f"{where}{place}: not YAML ({problem})") from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{where}: expected fields such as {expected}")
    return value
