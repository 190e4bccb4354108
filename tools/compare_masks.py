"""What the second mask is good for, in numbers: `python tools/compare_masks.py --out masks`.

Chest phantoms with a pneumothorax and a drain. The pneumothorax is edited away with two masks, with
one (nothing is kept, or all outside the edit mask is, as DiffEdit does) and with none (as LANCE
does), all by the same code, at several weights of guidance. Of each edit is measured

    removed    the share of the intended change that was made, over the pixels of the air that are
               not the drain's: <m, t> / <t, t>, m = output - input, t = truth - input; the truth is
               the same patient drawn without the air
    drain      mean change of the drain's own pixels, in grey levels of 255
    elsewhere  mean change outside the edit mask, likewise

A method may remove more at the same weight, so all are compared at equal removal: each one's curve
over the weights is read where it first removes 0.8 of the change, or as much as all of them can.
Intervals: bootstrap over patients, the level and the curves found anew in each resample.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.cases import load_cases
from medebench.cli.console import progress_bar
from medebench.images.picture import read_picture
from medebench.phantoms.chest.chest_edit import chest_edit
from medebench.runs import Run, edit

Floats = NDArray[np.float64]

#: Neither trained on, nor used to choose settings, nor part of a recipe.
SEED = 70_000
METHODS = {
    "two masks": "both",
    "one mask, rest kept": "complement",
    "one mask": "edit",
    "no mask": "none",
}
WEIGHTS = (0.25, 0.5, 1.0, 1.5, 2.5)
MEASURES = ("removed", "drain", "elsewhere")
RESAMPLES = 2000
#: The removal at which methods are compared, if all reach it.
LEVEL = 0.8


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--out", type=Path, required=True, help="runs; an existing one continues")
    given.add_argument("--count", type=int, default=40, help="patients")
    given.add_argument("--weights", type=float, nargs="+", default=WEIGHTS)
    options = given.parse_args()
    source = f"chest-phantoms:count={options.count},seed={SEED},shift=manifestation"
    table = np.empty((len(METHODS), len(options.weights), len(MEASURES), options.count))
    for row, (method, masks) in enumerate(METHODS.items()):
        for column, weight in enumerate(options.weights):
            name = f"{masks}-{weight:g}"
            with progress_bar(f"{method}, guidance {weight:g}") as progress:
                settings = {"masks": masks, "guidance": weight}
                run = edit(
                    load_cases(source),
                    "chest-editor",
                    options.out / name,
                    settings=settings,
                    progress=progress,
                )
            table[row, column] = _measured(run, options.count)
    _print_curves(table, options.weights)
    _print_equal(table)
    _write(table, options.weights, options.out / "masks.csv")


def _measured(run: Run, count: int) -> Floats:
    found = np.empty((len(MEASURES), count))
    for index in range(count):
        one = chest_edit(index, SEED, "manifestation")
        before, truth = (x.picture.astype(np.float64) for x in (one.before, one.after))
        made = read_picture(run.output_path(str(index + 1), 0))[..., 0].astype(np.float64)
        drain = one.before.cores["chest drain"]
        air = one.before.cores["pneumothorax"] & ~drain
        way = (truth - before)[air]
        found[:, index] = (
            ((made - before)[air] @ way) / (way @ way),
            np.abs(made - before)[drain].mean(),
            np.abs(made - before)[~one.edit].mean(),
        )
    return found


def _print_curves(table: Floats, weights: list[float]) -> None:
    print(f"{'':22}{'guidance':>9}" + "".join(f"{name:>12}" for name in MEASURES))
    for method, rows in zip(METHODS, table, strict=True):
        for weight, values in zip(weights, rows.mean(axis=-1), strict=True):
            print(f"{method:22}{weight:9g}" + "".join(f"{value:12.2f}" for value in values))


def _print_equal(table: Floats) -> None:
    level, at = _at_equal(table)
    draws = np.random.default_rng(0).integers(table.shape[-1], size=(RESAMPLES, table.shape[-1]))
    drawn = np.array([_at_equal(table[..., one])[1] for one in draws])
    print(f"\nwhere each removes {level:.2f} of the change:")
    print(f"{'':22}" + "".join(f"{name:>26}" for name in MEASURES[1:]))
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    for row, method in enumerate(METHODS):
        cells = (
            f"{at[row, k]:8.2f} ({low[row, k]:.2f} to {high[row, k]:.2f})".rjust(26)
            for k in range(2)
        )
        print(f"{method:22}" + "".join(cells))
    print("\nchange of the drain, less that with two masks:")
    for row, method in list(enumerate(METHODS))[1:]:
        low_, high_ = np.quantile(drawn[:, row, 0] - drawn[:, 0, 0], (0.025, 0.975))
        print(f"{method:22}{at[row, 0] - at[0, 0]:8.2f} ({low_:.2f} to {high_:.2f})")


def _at_equal(table: Floats) -> tuple[float, Floats]:
    """The removal that every method reaches, and the other measures there, by interpolation."""
    means = table.mean(axis=-1)
    removed = means[:, :, 0]
    level = float(min(LEVEL, removed.max(axis=1).min()))
    if level < (least := removed[:, 0].max()):
        sys.exit(f"at the smallest weight one removes {least:.2f} already; give smaller --weights")
    return level, np.array([[_read(level, row, k) for k in (1, 2)] for row in means])


def _read(level: float, curve: Floats, measure: int) -> float:
    """A measure where the removal first reaches `level` along the weights."""
    after = int(np.argmax(curve[:, 0] >= level))
    if after == 0:
        return float(curve[0, measure])
    (low, high), share = curve[after - 1 : after + 1, [0, measure]], 0.0
    share = (level - low[0]) / (high[0] - low[0])
    return float(low[1] + share * (high[1] - low[1]))


def _write(table: Floats, weights: list[float], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["method", "guidance", "patient", *MEASURES])
        for method, by_weight in zip(METHODS, table, strict=True):
            for weight, values in zip(weights, by_weight, strict=True):
                rows.writerows(
                    [method, weight, index, *map(float, one)] for index, one in enumerate(values.T)
                )


if __name__ == "__main__":
    sys.exit(main())
