"""Names that were changed: ledgers, plans and command lines that say the old one are understood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

#: Old name -> the one it has now; metrics and thresholds.
RENAMED = {
    "done": "edit_completion",
    "missed": "edit_residual",
    "ea_offline": "intended_offline",
    "good_missed": "good_residual",
}

Value = TypeVar("Value")


def current_name(name: str) -> str:
    """
    >>> current_name("missed"), current_name("cp")
    ('edit_residual', 'cp')
    """
    return RENAMED.get(name, name)


def old_names(name: str) -> list[str]:
    """What a thing was called before.

    >>> old_names("edit_residual")
    ['missed']
    """
    return [old for old, new in RENAMED.items() if new == name]


def with_current_names(values: Mapping[str, Value]) -> dict[str, Value]:
    """A value under its current name goes before one under an old name."""
    return {current_name(name): value for name, value in values.items()} | {
        name: value for name, value in values.items() if name not in RENAMED
    }
