"""Editors, and the registry that finds them by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from medebench.editors.base import Edit, Editor, Refused, Request, case_seed
from medebench.errors import InputError, MedebenchError
from medebench.registry import Registry
from medebench.settings import Settings, read_settings, split_call

EDITORS = Registry(
    "editor",
    "medebench.editors",
    {
        "identity": "medebench.editors.controls:Identity",
        "reference": "medebench.editors.controls:Reference",
        "blur": "medebench.editors.controls:Blur",
        "noise": "medebench.editors.controls:Noise",
        "inpaint": "medebench.editors.controls:Inpaint",
    },
)


@dataclass(frozen=True)
class Chosen:
    """An editor as the user asked for it: its name, its settings in full, the thing itself."""

    name: str
    settings: dict[str, Any]
    #: Tells this editor from another of the same name; empty for built-in ones.
    origin: str
    editor: Editor
    control: bool
    sees: tuple[str, ...]


def find_editor(call: str, given: dict[str, Any] | None = None) -> Chosen:
    """`NAME[:key=value,...]` (and `given`, from a plan), checked and made ready."""
    name, settings = split_call(call)
    kind = EDITORS.find(name)
    if not callable(getattr(kind, "edit", None)):
        raise InputError(f"editor '{name}': has no method edit(request)")
    model = getattr(kind, "Settings", Settings)
    checked = read_settings(model, {**settings, **(given or {})}, f"editor '{name}'")
    try:
        editor = kind(checked)
    except MedebenchError:
        raise
    except Exception as error:
        raise InputError(f"editor '{name}': {type(error).__name__}: {error}") from error
    return Chosen(
        name=name.rpartition(":")[2] if ".py:" in name else name,
        settings=checked.model_dump(mode="json"),
        origin=EDITORS.origin(name),
        editor=editor,
        control=bool(getattr(kind, "control", False)),
        sees=tuple(getattr(kind, "sees", ())),
    )


__all__ = [
    "EDITORS",
    "Chosen",
    "Edit",
    "Editor",
    "Refused",
    "Request",
    "Settings",
    "case_seed",
    "find_editor",
]
