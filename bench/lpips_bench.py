"""LPIPS: the package of its authors, one pair at a time as scripts call it, against medebench.

python bench/lpips_bench.py        both in this process, taking turns, on the same decoded pictures
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from others import REFERENCES, let_others_in

from medebench.cases import load_cases, open_case
from medebench.images.picture import Picture, read_picture
from medebench.metrics.metric import Measured, Subject
from medebench.metrics.perceptual import lpips_metric
from medebench.metrics.perceptual.backbones import BACKBONES
from medebench.metrics.perceptual.lpips_weights import read_weights

REPOSITORY = Path(__file__).parent.parent
WEIGHTS = REPOSITORY / ".venv" / "weights"
EXCERPT = REPOSITORY.parent / "shared" / "medebench-sample"
#: Cases with seven outputs each; VGG16 takes twenty times as long.
CASES = {"alex": 9, "vgg": 1}


def outputs(count: int) -> list[list[Subject]]:
    """Outputs of the paper's models, case by case; noise on phantoms where they are not here."""
    made: list[list[Subject]] = []
    if EXCERPT.is_dir():
        paths = sorted((EXCERPT / "generated_images").glob("*/*.png"))
        for case in load_cases(EXCERPT):
            own = [path for path in paths if path.stem.split("_")[0] == case.id]
            opened = open_case(case)
            made.append([Subject(opened, opened.fit(read_picture(path))) for path in own])
    else:
        for case in list(load_cases("phantoms"))[:count]:
            opened = open_case(case)
            generator = np.random.default_rng(0)
            noise = generator.normal(0, 30, (7, *opened.reference.shape))
            noisy = np.clip(opened.reference + noise, 0, 255).astype(np.uint8)
            made.append([Subject(opened, one) for one in noisy])
    return [subjects for subjects in made if subjects][:count]


def package(net: str) -> Callable[[Picture, Picture], float]:
    """`lpips`, with the weights that ours reads."""
    import torch

    let_others_in()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = importlib.import_module("lpips").LPIPS(net=net, pnet_rand=True, verbose=False)
    weights = read_weights(WEIGHTS / f"lpips-{net}.ckpt", BACKBONES[net])
    layers = [one for one in made.net.modules() if isinstance(one, torch.nn.Conv2d)]
    for layer, kernel, bias in zip(layers, weights.kernels, weights.biases, strict=True):
        layer.weight.data.copy_(torch.from_numpy(kernel))
        layer.bias.data.copy_(torch.from_numpy(bias))

    def shown(picture: Picture) -> Any:
        return torch.from_numpy(picture.copy()).permute(2, 0, 1)[None].float() / 255 * 2 - 1

    def distance(first: Picture, second: Picture) -> float:
        with torch.no_grad():
            return float(made(shown(first), shown(second)))

    return distance


def measured(metric: Any, subjects: Sequence[Subject]) -> list[float]:
    found = metric.measure([metric.prepare(one) for one in subjects])
    return [one.value for one in found if isinstance(one, Measured)]


def bench_net(net: str) -> None:
    theirs, ours = package(net), lpips_metric(f"lpips_{net}", str(WEIGHTS / f"lpips-{net}.ckpt"))
    slow = fast = again = worst = 0.0
    count = 0
    small = np.zeros((2, 64, 64, 3), np.uint8)
    small[1] += 1
    theirs(*small)
    for number, subjects in enumerate(outputs(CASES[net])):
        if not number:
            # The first call loads the network.
            measured(ours, [Subject(subjects[0].case, 255 - subjects[0].output)])
        begin = time.perf_counter()
        expected = [theirs(one.case.reference, one.output) for one in subjects]
        middle = time.perf_counter()
        found = measured(ours, subjects)
        end = time.perf_counter()
        measured(ours, [Subject(one.case, one.output) for one in subjects])
        slow, fast = slow + middle - begin, fast + end - middle
        again += time.perf_counter() - end
        worst = max(worst, *np.abs(np.subtract(expected, found)))
        count += len(subjects)
    print(
        f"LPIPS ({net}), {count} outputs: lpips, one pair at a time, {count / slow:.2f} a second; "
        f"medebench {count / fast:.2f} a second: {slow / fast:.1f} times as fast; a second time "
        f"{count / again:.0f} a second; largest difference {worst:.1e}"
    )


def bench_lpips() -> None:
    """In a process of its own: with torchvision half there, other packages stumble."""
    here = all((WEIGHTS / f"lpips-{net}.ckpt").is_file() for net in CASES)
    if not here or not (REFERENCES / "lpips").is_dir():
        print("LPIPS: the package or the weights are not here (make bench gets them)")
        return
    subprocess.run([sys.executable, __file__], check=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        # What was computed before would be very fast.
        os.environ["MEDEBENCH_CACHE"] = cache
        for net in CASES:
            bench_net(net)


if __name__ == "__main__":
    main()
