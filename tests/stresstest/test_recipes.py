"""Which recipes a word stands for, and what is said of one that is none."""

from __future__ import annotations

import pytest

from medebench.errors import InputError, UnknownNameError
from medebench.stresstest.recipe import find_recipe, recipe_names


def test_a_word_stands_for_recipes_or_is_a_plans_file():
    assert recipe_names("demo") == ["acquisition", "manifestation", "population"]
    assert recipe_names("population") == ["population"]
    assert recipe_names("mine.py:DRIFT") == ["mine.py:DRIFT"]
    assert recipe_names("plan.yaml") == []


def test_a_recipe_of_a_users_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from medebench.stresstest.recipe import Shift\n"
        "class Drift:\n"
        "    shift, editor = Shift('drift'), 'identity'\n"
        "    def write(self, folder, **options): return folder / 'plan.yaml'\n"
        "DRIFT, HALF = Drift(), Shift('half')\n"
    )
    assert find_recipe(f"{file}:DRIFT").shift.published is None
    with pytest.raises(InputError, match="needs shift, editor and a method write"):
        find_recipe(f"{file}:HALF")
    with pytest.raises(UnknownNameError, match="did you mean 'acquisition'"):
        find_recipe("aquisition")
