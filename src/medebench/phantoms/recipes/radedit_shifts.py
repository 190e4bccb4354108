"""The three shifts of the RadEdit paper on phantoms, with what the paper reports for each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.phantoms.chest.chest_edit import ShiftName
from medebench.phantoms.recipes.recipe_files import EDITOR, write_recipe
from medebench.stresstest.recipe import Published, PublishedRow, Shift

SOURCE = "RadEdit"


@dataclass(frozen=True)
class PhantomRecipe:
    name: ShiftName
    editor: str = EDITOR

    @property
    def shift(self) -> Shift:
        return Shift(self.name, _published(self.name))

    def write(self, folder: Path, **options: Any) -> Path:
        return write_recipe(self.name, folder, **options)


def _published(name: ShiftName) -> Published:
    data = json.loads(Path(__file__).with_name("radedit.json").read_text("utf-8"))
    found = data["shifts"][name]
    title, measure = found["title"], found["measure"]
    caption = (
        f"published, {SOURCE}, {title}, {measure}; real pictures and "
        "other predictors: context, not comparable"
    )
    rows = []
    for row in found["rows"]:
        original, edited = (_text(row[which], measure) for which in ("original", "edited"))
        rows.append(PublishedRow(row["predictor"], original, edited, row["kind"]))
    return Published(title, caption, tuple(rows))


def _text(percent: list[float], measure: str) -> str:
    """ "99.1 ± 0.2", or the mean alone where the paper gives no deviation; Dice as ours, 0 to 1."""
    dice = measure == "Dice"
    return " ± ".join(f"{one / 100:.3f}" if dice else f"{one:.1f}" for one in percent)


ACQUISITION = PhantomRecipe("acquisition")
MANIFESTATION = PhantomRecipe("manifestation")
POPULATION = PhantomRecipe("population")
