"""Weights shipped with a package, this one or another: `builtin:NAME` in place of a model.

An entry point of the group is called NAME and loads the path of the folder.
"""

from __future__ import annotations

from pathlib import Path

from medebench.registry import Registry

PREFIX = "builtin:"
SHIPPED = Registry("shipped model", "medebench.shipped_weights")


def shipped_folder(name: str) -> Path | None:
    """The folder of `builtin:NAME`; None for any other name, and for a package that is not here."""
    own = name.removeprefix(PREFIX)
    return Path(SHIPPED.find(own)) if own != name and own in SHIPPED else None
