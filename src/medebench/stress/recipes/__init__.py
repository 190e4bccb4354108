"""The three shifts of RadEdit as stress tests on phantoms, written as a user would write theirs."""

from __future__ import annotations

from medebench.cases.phantoms.chest.shifts import SHIFTS, Shift
from medebench.stress.recipes.writing import EDITOR, write_recipe

__all__ = ["EDITOR", "SHIFTS", "Shift", "write_recipe"]
