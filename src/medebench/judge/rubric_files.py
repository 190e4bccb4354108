"""Rubrics by name, or in a user's file, which has the same fields or `extends` a built-in one.

The file is YAML, or Python (`file.py:NAME`), where a task may have everything of its own.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from medebench.errors import InputError
from medebench.judge.rubric import DEFAULT, Rubric
from medebench.registry import Registry
from medebench.yamlfile import parse_fields, read_text

#: Those of other packages and in users' Python files.
RUBRICS = Registry("rubric", "medebench.rubrics")


def builtin_rubrics() -> list[str]:
    folder = resources.files("medebench.judge") / "rubrics"
    return sorted(one.name[:-5] for one in folder.iterdir() if one.name.endswith(".yaml"))


def load_rubric(name_or_path: str | Path = DEFAULT) -> Rubric:
    """A built-in rubric by name, the one in a YAML file, or `file.py:NAME`: a dict of fields."""
    name = str(name_or_path)
    builtin = name in builtin_rubrics()
    where = f"built-in rubric {name}" if builtin else str(Path(name).expanduser())
    content = _content(name, where, ())
    if isinstance(content.get("labels", {}), dict):
        content["labels"] = _labels(content)
    try:
        return Rubric.model_validate(content)
    except ValidationError as error:
        raise InputError(f"{where}: {_first(error)}") from None


def _labels(content: dict[str, Any]) -> dict[str, Any]:
    """Those of the default rubric as well, where one of its scores is asked for.

    They belong together: the name of one ends what is said about another.
    """
    usual: dict[str, Any] = _usual_labels()
    own: dict[str, Any] = content.get("labels", {})
    scores = content.get("scores") or Rubric.model_fields["scores"].default
    if not isinstance(scores, list | tuple) or any(score in usual for score in scores):
        return usual | own
    return {score: label for score, label in own.items() if label != usual.get(score)}


@cache
def _usual_labels() -> dict[str, Any]:
    labels: dict[str, Any] = parse_fields(DEFAULT, _read(DEFAULT, DEFAULT), "")["labels"]
    return labels


def _content(name: str, where: str, seen: tuple[str, ...]) -> dict[str, Any]:
    """The fields of a rubric file on top of those of the built-in one that it extends."""
    if name in RUBRICS or ".py:" in name:
        given = RUBRICS.find(name)
        if not isinstance(given, dict):
            raise InputError(f"rubric '{name}': is a {type(given).__name__}, not a dict of fields")
        fields = dict(given)
    else:
        fields = parse_fields(where, _read(name, where), "'name:', 'version:' and 'step1:'")
    base = fields.pop("extends", None)
    if base is None:
        return fields
    if base not in builtin_rubrics() or base in seen:
        raise InputError(f"{where}: extends: must be one of {', '.join(builtin_rubrics())}")
    below = _content(base, f"built-in rubric {base}", (*seen, base))
    for field in ("captions", "criteria", "labels"):
        if isinstance(fields.get(field), dict):
            fields[field] = below.get(field, {}) | fields[field]
    return below | fields


def _read(name: str, where: str) -> str:
    if name in builtin_rubrics():
        file = resources.files("medebench.judge") / "rubrics" / f"{name}.yaml"
        return file.read_text("utf-8")
    return read_text(Path(where), "rubric", builtin_rubrics())


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = f"no such field; there are: {', '.join(Rubric.model_fields)}"
    elif first["type"] == "missing":
        message = "is missing"
    return " ".join(f"{place}: {message[0].lower()}{message[1:]}".lstrip(": ").split())
