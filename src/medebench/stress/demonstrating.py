"""The recipes on phantoms, one after the other, and the page that shows them side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medebench.editors import find_editor
from medebench.errors import InputError
from medebench.stress.page import write_overview
from medebench.stress.plan import editor_seen_from, read_stress
from medebench.stress.recipes import EDITOR, Shift, write_recipe
from medebench.stress.running import Bar, Stressed, run_stress

#: What a recipe writes: pictures, masks, table, predictors and plan, as a user would bring them.
BROUGHT = "brought"


def run_recipes(
    shifts: Sequence[Shift],
    folder: Path,
    *,
    bar: Bar,
    workers: int | None = None,
    retry_failed: bool = False,
    **options: Any,
) -> tuple[list[Stressed], Path]:
    """Each shift in a folder of its own, and the page to open.

    `options` (count, seed, editor) are the recipe's.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; choose another --out")
    if given := options.get("editor"):
        # Before minutes of drawing and training; paths are seen from here, not from the recipe.
        options["editor"] = editor_seen_from(Path.cwd(), given)
    find_editor(options.get("editor", EDITOR)).require_ready()
    done = []
    for shift in shifts:
        own = folder / shift
        with bar(f"{shift}: pictures and predictors") as progress:
            plan = write_recipe(shift, own / BROUGHT, progress=progress, **options)
        read = read_stress(plan, own / "test")
        test = run_stress(
            read,
            bar=bar,
            workers=workers,
            retry_failed=retry_failed,
            shift=shift,
            command=f"medebench stress {shift}",
        )
        done.append(test)
    if len(done) == 1:
        return done, done[0].index
    links = [(one.outcome, Path(os.path.relpath(one.index, folder)).as_posix()) for one in done]
    return done, write_overview(links, folder)
