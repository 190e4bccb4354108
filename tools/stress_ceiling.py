"""How far the predictors of the demonstration fall when edits are perfect.

`python tools/stress_ceiling.py` trains them as `medebench stress` does and shows them validation
patients: as they are, with the confounder by chance, and their exact counterfactuals in place of an
edit; then all of these once more as the chest model's autoencoder gives them back. Prints the
tables of docs/stress.md in two or three minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import medebench.systems
from medebench.phantoms.chest import render
from medebench.phantoms.chest.chest_edit import ADDED, CONFOUNDED, ShiftName, member
from medebench.phantoms.chest.patients import confounded
from medebench.phantoms.patch_autoencoder import PatchAutoencoder
from medebench.phantoms.recipes import predictor_networks
from medebench.phantoms.recipes.recipe_predictors import (
    PREDICTORS,
    SETTINGS,
    VALIDATION,
    TrainJob,
    train_in_processes,
)
from medebench.stresstest.predictor_measures import dice

Pictures = list[NDArray[np.uint8]]


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--seeds", type=int, nargs="+", default=[0, 1], help="of the recipes")
    given.add_argument("--patients", type=int, default=120, help="in a validation set")
    options = given.parse_args()
    shifts: tuple[ShiftName, ...] = ("acquisition", "manifestation")
    for seed in options.seeds:
        print(f"seed {seed}: accuracy in percent (through the autoencoder)")
        print(f"{'':28}{'biased set':>18}{'by chance':>18}{'counterfactual':>18}")
        for shift in shifts:
            sets = _classification(shift, VALIDATION + seed, options.patients)
            for name, predictor in _taught(shift, seed).items():
                cells = [_accuracy(predictor, *one) for one in sets]
                print(f"{shift:16}{name:12}" + "".join(f"{one:>18}" for one in cells))
        _print_dice(seed, options.patients // 2)


def _taught(shift: ShiftName, seed: int) -> dict[str, Any]:
    made, *names = PREDICTORS[shift]
    with TemporaryDirectory() as folder:
        jobs = [TrainJob(shift, name, seed, SETTINGS[shift]) for name in names]
        files = [Path(folder) / f"{name}.safetensors" for name in names]
        train_in_processes(list(zip(jobs, files, strict=True)), lambda: None)
        return {
            name: getattr(predictor_networks, made)(str(file))
            for name, file in zip(names, files, strict=True)
        }


def _classification(shift: ShiftName, seed: int, count: int) -> list[tuple[Pictures, list[bool]]]:
    ill, with_it, _ = CONFOUNDED[shift]
    members = [member(shift, seed, index) for index in range(count)]
    chance = [confounded(seed, index, ill, with_it, 0.0) for index in range(count)]
    exact = [edit.after.picture for one in members for edit in one.edits]
    return [
        ([one.drawn.picture for one in members], [bool(one.edits) for one in members]),
        ([render(spec).picture for spec, _ in chance], [sick for _, sick in chance]),
        (exact, [False] * len(exact)),
    ]


def _accuracy(predictor: Any, pictures: Pictures, truth: Sequence[bool]) -> str:
    def percent(shown: Pictures) -> float:
        said = np.array(predictor.predict(shown)) >= 0.5
        return 100 * float(np.mean(said == np.array(truth)))

    return f"{percent(pictures):.1f} ({percent(_through(pictures)):.1f})"


def _print_dice(seed: int, count: int) -> None:
    members = [member("population", VALIDATION + seed, index) for index in range(count)]
    sets = [[one.drawn.picture for one in members]]
    sets += [[one.edits[place].after.picture for one in members] for place in range(len(ADDED))]
    lungs = [one.drawn.masks["lungs"] for one in members]
    print(f"seed {seed}: mean Dice over {count} patients (through the autoencoder)")
    print(f"{'':28}" + "".join(f"{name:>18}" for name in ("healthy", *ADDED)))
    for name, predictor in _taught("population", seed).items():
        cells = []
        for pictures in sets:
            means = [
                np.mean([dice(*pair) for pair in zip(said, lungs, strict=True)])
                for said in map(predictor.predict, (pictures, _through(pictures)))
            ]
            cells.append(f"{means[0]:.3f} ({means[1]:.3f})")
        print(f"{'population':16}{name:12}" + "".join(f"{one:>18}" for one in cells))


def _through(pictures: Pictures) -> Pictures:
    """As the chest model's autoencoder gives them back."""
    folder = Path(medebench.systems.__file__).parent / "chest_model" / "vae"
    network = PatchAutoencoder.from_pretrained(folder, torch_dtype=torch.float32)
    given = torch.from_numpy(np.stack(pictures))[:, None].repeat(1, 3, 1, 1).float() / 127.5 - 1
    with torch.inference_mode():
        made = network.decode(network.encode(given).latents).sample[:, 0]
    grey = ((made + 1) * 127.5).round().clamp(0, 255).to(torch.uint8)
    return list(grey.numpy())


if __name__ == "__main__":
    main()
