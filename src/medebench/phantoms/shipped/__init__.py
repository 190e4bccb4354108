"""The weights that ship; `builtin:NAME` stands for each, see pyproject.toml."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent
PHANTOM_EDITOR = _HERE / "phantom_editor"
CHEST_MODEL = _HERE / "chest_model"
CHEST_ENCODER = _HERE / "chest_encoder"
