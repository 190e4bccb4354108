"""`stress`: what a plan's file says, or recipes by name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.errors import InputError
from medebench.progress import Bar, no_bar
from medebench.runs.failed_calls import Failures
from medebench.stresstest.page import write_overview
from medebench.stresstest.recipe import find_recipe, recipe_names
from medebench.stresstest.stress_plan import editor_seen_from, read_stress
from medebench.stresstest.stress_run import StressResult, run_stress
from medebench.systems import find_system

#: What a recipe writes: pictures, masks, table, predictors and plan, as a user would bring them.
BROUGHT = "brought"


@dataclass(frozen=True)
class StressResults:
    """Stress tests that were carried out, one for a plan, one for each recipe."""

    tests: tuple[StressResult, ...]
    #: The page to open first.
    index: Path

    def __repr__(self) -> str:
        names = ", ".join(one.outcome.name for one in self.tests)
        return f"StressResults({names}; {self.index})"

    @property
    def failures(self) -> Failures:
        """Edits and scores that failed now, not in an earlier command."""
        found = Failures()
        for one in self.tests:
            found.update(one.failures)
        return found

    @property
    def without_output(self) -> int:
        return sum(not edit.output for one in self.tests for edit in one.outcome.edits)


def stress(
    plan: str | Path,
    out: str | Path | None = None,
    *,
    count: int | None = None,
    seed: int | None = None,
    editor: str | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    bar: Bar = no_bar,
) -> StressResults:
    """Find out whether a predictor sees the disease, or what usually comes with it.

    Images of the test set are edited so that only one of the two is left, and the predictor is
    asked again. Interrupted, the same call continues.

    Args:
        plan: a YAML file, or a recipe on phantoms: acquisition, manifestation, population, or
            demo for all of them.
        out: folder for everything; by default the plan's, or `stress-NAME`.
        count: phantoms in the test set, 4 or more (recipes only).
        seed: phantom seed, 0-4999 (recipes only).
        editor: another editor than the recipe's (recipes only).
        workers: threads; all cores by default.
        retry_failed: also retry edits that failed before.
        bar: opens a progress bar for each part of the work.

    Returns:
        The tests with their verdicts, and the page to open.

    >>> mb.stress("plan.yaml", count=8)
    Traceback (most recent call last):
    medebench.errors.InputError: count: is for recipes; set it in plan.yaml
    """
    asked = {"count": count, "seed": seed, "editor": editor}
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    how: dict[str, Any] = {"bar": bar, "workers": workers, "retry_failed": retry_failed}
    folder = None if out is None else Path(out).expanduser().absolute()
    if names := recipe_names(str(plan)):
        called = str(plan).rpartition(":")[2]
        own = folder or Path(f"stress-{called}").absolute()
        tests, index = _run_recipes(names, own, how, given)
        return StressResults(tuple(tests), index)
    for name in given:
        raise InputError(f"{name}: is for recipes; set it in {plan}")
    one = run_stress(read_stress(plan, folder), **how)
    return StressResults((one,), one.index)


def _run_recipes(
    names: Sequence[str], folder: Path, how: dict[str, Any], options: dict[str, Any]
) -> tuple[list[StressResult], Path]:
    """Each recipe in a folder of its own, and the page to open.

    `options` (count, seed, editor) are the recipe's.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; choose another --out")
    if given := options.get("editor"):
        # Before minutes of drawing and training; paths are seen from here, not from the recipe.
        options["editor"] = editor_seen_from(Path.cwd(), given)
    recipes = {name: find_recipe(name) for name in names}
    for editor in {options.get("editor", one.editor) for one in recipes.values()}:
        find_system(editor).require_ready()
    done = []
    for name, recipe in recipes.items():
        shift = recipe.shift
        own = folder / shift.name
        with how["bar"](f"{shift.name}: pictures and predictors") as progress:
            plan = recipe.write(own / BROUGHT, progress=progress, **options)
        read, command = read_stress(plan, own / "test"), f"medebench stress {name}"
        done.append(run_stress(read, shift=shift, command=command, **how))
    if len(done) == 1:
        return done, done[0].index
    links = [(one.outcome, Path(os.path.relpath(one.index, folder)).as_posix()) for one in done]
    return done, write_overview(links, folder)
