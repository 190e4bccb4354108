"""Recipes: complete stress tests that a package ships, with pictures, predictors and plan."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from medebench.errors import InputError
from medebench.registry import Registry

#: Entry points of other packages, and `file.py:NAME`, load a Recipe.
RECIPES = Registry("recipe", "medebench.stress_recipes")
#: All recipes of this package, one after the other.
DEMO = "demo"


@runtime_checkable
class Recipe(Protocol):
    @property
    def shift(self) -> Shift: ...

    @property
    def editor(self) -> str:
        """The default editor."""

    def write(self, folder: Path, **options: Any) -> Path:
        """Complete what a user would bring to the test in `folder`, and return its plan.

        `options` are `progress`, and of `count`, `seed` and `editor` those that the user gave.
        """


def recipe_names(plan: str) -> list[str]:
    """The recipes that `plan` stands for; none if it is the file of a plan."""
    if plan == DEMO:
        return RECIPES.own_names()
    return [plan] if plan in RECIPES or ".py:" in plan else []


def find_recipe(name: str) -> Recipe:
    found = RECIPES.find(name)
    if not isinstance(found, Recipe):
        raise InputError(f"recipe '{name}': needs shift, editor and a method write(folder)")
    return found


@dataclass(frozen=True)
class PublishedRow:
    """A predictor of a paper, printed as the column is; with a deviation where it gives one."""

    predictor: str
    original: str
    edited: str
    kind: str = ""


@dataclass(frozen=True)
class Published:
    """What a paper reports for a shift: context on the page of a test, never a yardstick."""

    title: str
    caption: str
    rows: tuple[PublishedRow, ...]


@dataclass(frozen=True)
class Shift:
    name: str
    published: Published | None = None
