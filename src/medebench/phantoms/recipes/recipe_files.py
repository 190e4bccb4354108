"""A recipe as a folder: everything a user would bring to a stress test, with its plan."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from medebench.device import TORCH, missing_releases
from medebench.errors import InputError, NotReadyError
from medebench.files import alone, sweep, whole_folder, write_bytes, write_json, write_text
from medebench.images.picture import encode_png
from medebench.page.table import csv_records
from medebench.phantoms.chest import VERSION
from medebench.phantoms.chest.captions import caption
from medebench.phantoms.chest.chest_edit import ADDED, CONFOUNDED, SHIFTS, Member, ShiftName, member
from medebench.phantoms.recipes.recipe_predictors import (
    PREDICTORS,
    SEEDS,
    SETTINGS,
    TEST,
    Tick,
    TrainJob,
    TrainSettings,
    train_in_processes,
    train_predictor,
)
from medebench.progress import Progress, silent

PLAN, STAMP, DATA, TABLE = "plan.yaml", "recipe.json", "data", "images.csv"
NETWORKS = "networks.py"
_HEAD = "# A stress test on phantoms. A plan for your own pictures and predictor looks the same.\n"
_SOURCE = Path(__file__).with_name("predictor_networks.py")
#: Changes whenever the same settings give other files.
_RECIPE = 2
EDITOR, ENCODER = "chest-editor", "chest-phantoms"
#: Pictures in the test sets: 120 edits of each classification, which is what it takes to show that
#: a loss is small, and 180 of the segmentation.
COUNTS: dict[ShiftName, int] = {"acquisition": 240, "manifestation": 240, "population": 60}


def write_recipe(
    shift: ShiftName,
    folder: Path,
    *,
    editor: str = EDITOR,
    count: int | None = None,
    seed: int = 0,
    encoder: str = ENCODER,
    training: TrainSettings | None = None,
    apart: bool = True,
    progress: Progress = silent,
) -> Path:
    """Write pictures, masks, table, trained predictors and plan into `folder`; returns the plan.

    `count` is the number of pictures in the test set; of a classification every second one is
    edited, of the segmentation each one in three ways. A folder that holds a part of the same
    recipe is completed; what is there is not done again. With another editor or encoder only the
    plan is written anew. `seed` gives other patients, for test and training alike.
    """
    count = COUNTS.get(shift, 0) if count is None else count
    _check(shift, count, seed)
    if lacking := missing_releases(TORCH, "metrics"):
        raise NotReadyError(f"the predictors of the recipe {shift}: {lacking}")
    chosen = training or SETTINGS[shift]
    jobs = [TrainJob(shift, name, seed, chosen) for name in PREDICTORS[shift][1:]]
    tally = _Tally(progress, count + sum(one.ticks for one in jobs))
    settings: dict[str, Any]
    settings = {"recipe": _RECIPE, "phantoms": VERSION, "shift": shift, "count": count}
    settings |= {"seed": seed, "training": asdict(chosen)}
    with _alone(folder):
        _stamp(folder, settings)
        if not (folder / DATA).is_dir():
            with whole_folder(folder / DATA) as staging:
                _write_data(shift, staging, count, TEST + seed, tally.tick)
        else:
            tally.skip(count)
        _write_predictors(folder, jobs, tally, apart)
        _write_plan(folder, shift, editor, encoder, settings)
    return folder / PLAN


def _check(shift: str, count: int, seed: int) -> None:
    if shift not in SHIFTS:
        raise InputError(f"no recipe {shift!r}; there are: {', '.join(SHIFTS)}")
    if count < 4:
        raise InputError(f"count={count}: a test set needs at least four pictures")
    if not 0 <= seed < SEEDS:
        raise InputError(
            f"seed={seed}: expected 0 to {SEEDS - 1}; larger seeds are reserved for other patients"
        )


class _Tally:
    """Progress over all work, safe for several threads."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0
        self._lock = threading.Lock()

    def tick(self) -> None:
        self.skip(1)

    def skip(self, number: int) -> None:
        with self._lock:
            self._done += number
            self._progress(self._done, self._total)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; choose another folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / STAMP).is_file():
        raise InputError(f"{folder}: contains other files; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    # Beside the folder: so the folder itself holds nothing but the recipe.
    with alone(folder.with_name(f".{folder.name}"), folder):
        yield


def _stamp(folder: Path, settings: dict[str, Any]) -> None:
    """A folder belongs to one recipe: half of another must not end up in this test."""
    stamp = folder / STAMP
    if stamp.is_file():
        try:
            there = json.loads(stamp.read_text("utf-8"))
            differing = [name for name in settings if there.get(name) != settings[name]]
        except (ValueError, AttributeError):
            raise InputError(f"{stamp}: is damaged; remove the folder and run again") from None
        if differing:
            raise InputError(
                f"{folder}: contains a recipe with another {differing[0]}; choose another folder,"
                " or remove this one"
            )
        sweep(folder)
    else:
        write_json(stamp, settings)


def _write_data(shift: ShiftName, folder: Path, count: int, seed: int, tick: Tick) -> None:
    rows = []
    for index in range(count):
        rows.append(_write_member(folder, f"p{index:04d}", member(shift, seed, index)))
        tick()
    write_text(folder / TABLE, csv_records(rows))


def _write_member(folder: Path, name: str, one: Member) -> dict[str, str]:
    def file(role: str, pixels: Any) -> str:
        grey = pixels.astype(np.uint8) * 255 if pixels.dtype == np.bool_ else pixels
        write_bytes(folder / role / f"{name}.png", encode_png(grey))
        return f"{role}/{name}.png"

    drawn, image = one.drawn, file("images", one.drawn.picture)
    row = {"id": name, "image": image, "caption": caption(drawn.spec, hospital=True)}
    row |= {"label": one.label} if one.label else {"mask": file("lungs", drawn.masks["lungs"])}
    for edit in one.edits:
        before = "" if one.label else f"{edit.thing.name}_"
        row[f"{before}prompt"] = caption(edit.after.spec, hospital=True)
        shown = {"edit_mask": edit.edit, "keep_mask": edit.keep, "reference": edit.after.picture}
        for role, pixels in shown.items():
            row[f"{before}{role}"] = file(f"{before}{role}", pixels)
    return row


def _write_predictors(folder: Path, jobs: list[TrainJob], tally: _Tally, apart: bool) -> None:
    if not (folder / NETWORKS).is_file():
        write_bytes(folder / NETWORKS, _SOURCE.read_bytes())
    missing = [(one, folder / _weights(one.name)) for one in jobs]
    missing = [(one, target) for one, target in missing if not target.is_file()]
    tally.skip(sum(one.ticks for one in jobs) - sum(one.ticks for one, _ in missing))
    if apart:
        train_in_processes(missing, tally.tick)
    else:
        for one, target in missing:
            train_predictor(one, target, tally.tick)


def _weights(name: str) -> str:
    return f"{name}.safetensors"


def _write_plan(
    folder: Path, shift: ShiftName, editor: str, encoder: str, settings: dict[str, Any]
) -> None:
    """Written once for each editor and encoder, so that changes by hand stay."""
    import yaml

    now = {**settings, "editor": editor, "encoder": encoder}
    there = json.loads((folder / STAMP).read_text("utf-8"))
    if (folder / PLAN).is_file() and there == now:
        return
    plan = _plan(shift, editor, encoder)
    text = yaml.safe_dump(plan, sort_keys=False, allow_unicode=True, width=100)
    write_text(folder / PLAN, _HEAD + text)
    write_json(folder / STAMP, now)


def _plan(shift: ShiftName, editor: str, encoder: str) -> dict[str, Any]:
    made, tested, other = PREDICTORS[shift]

    def predictor(name: str) -> dict[str, Any]:
        weights = {"weights": _weights(name)}
        return {"model": f"{NETWORKS}:{made}", "name": name, "settings": weights}

    plan: dict[str, Any] = {"name": shift, "data": f"{DATA}/{TABLE}"}
    if shift == "population":
        roles = ("edit_mask", "keep_mask", "reference")
        kinds = [
            {"kind": kind, "prompt_column": f"{kind}_prompt", **{r: f"{kind}_{r}" for r in roles}}
            for kind in ADDED
        ]
        plan |= {"task": "segmentation", "edit": {"editor": editor, "kinds": kinds}}
    else:
        ill, _, healthy = CONFOUNDED[shift]
        plan |= {"task": "classification", "positive": ill}
        plan["edit"] = {"which": ill, "label": healthy, "reference": "reference", "editor": editor}
    plan["edit_score"] = {"encoder": encoder} if encoder else "none"
    return plan | {"predictor": predictor(tested), "reference": predictor(other)}
