"""Metadata files: JSON, JSON Lines and CSV, read with errors that name the line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medebench.errors import InputError
from medebench.files import LARGEST, read_bytes


def read_records(path: Path, most: int = LARGEST) -> list[Any]:
    """The records of a metadata file of at most so many bytes, by its suffix."""
    try:
        text = read_bytes(path, most).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    if path.suffix.lower() == ".csv":
        return _csv(path, text)
    if path.suffix.lower() == ".jsonl":
        lines = enumerate(text.split("\n"), start=1)
        return [
            parse_json(f"{path}, line {number}", line) for number, line in lines if line.strip()
        ]
    return _samples(path, parse_json(str(path), text))


def parse_json(where: str, text: str) -> Any:
    """JSON without NaN; `where` names the file, and perhaps the line, in messages."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{where}: not JSON ({error.msg}: {place})") from None
    except (RecursionError, ValueError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"{where}: not usable JSON ({why})") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _samples(path: Path, value: Any) -> list[Any]:
    """The records: in a list, under "samples", or in an object by id."""
    found = value["samples"] if isinstance(value, dict) and "samples" in value else value
    if isinstance(found, dict) and found and all(isinstance(one, dict) for one in found.values()):
        return [_with_id(path, case_id, one) for case_id, one in found.items()]
    if not isinstance(found, list):
        what = "field 'samples': " if found is not value else ""
        raise InputError(f"{path}: {what}expected {_SHAPES}")
    return found


_SHAPES = (
    'a list of cases, [{"id": "1", "prompt": ...}, ...], alone or as {"samples": [...]}, or an '
    'object by id, {"1": {"prompt": ...}, ...}'
)


def _with_id(path: Path, case_id: str, record: dict[str, Any]) -> dict[str, Any]:
    """A record under its id; one that names another id could be either."""
    own = [value for name, value in record.items() if name.strip().casefold() == "id"]
    if any(str(one) != case_id for one in own):
        raise InputError(
            f"{path}: case '{case_id}': field 'id': is '{own[0]}' inside; make them one"
        )
    return record if own else {"id": case_id, **record}


def _csv(path: Path, text: str) -> list[Any]:
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        _check_separator(path, reader.fieldnames or ())
        rows = list(reader)
    except csv.Error as error:
        raise InputError(f"{path}: not CSV ({error})") from None
    for number, row in enumerate(rows, start=2):
        if None in row:
            raise InputError(f"{path}, line {number}: more cells than the header has columns")
    return rows


def _check_separator(path: Path, header: Sequence[str]) -> None:
    """Some spreadsheets write other marks where people set commas in numbers."""
    if len(header) == 1 and (mark := next((one for one in ";\t|" if one in header[0]), "")):
        raise InputError(f"{path}: columns are separated by {mark!r}; save it with commas")
