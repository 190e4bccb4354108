"""Inception features: torch-fidelity's network, one picture at a time, against medebench.

python bench/features_bench.py     both in this process, taking turns, on the same decoded pictures
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

from medebench.cases import load_cases
from medebench.encoders.extractor import Extractor
from medebench.encoders.inception import InceptionEncoder
from medebench.encoders.inception_weights import NAMES
from medebench.images.picture import Picture, read_picture, resize
from medebench.parallel import in_parallel

REPOSITORY = Path(__file__).parent.parent
WEIGHTS = REPOSITORY / ".venv" / "weights" / "inception.pt"
EXCERPT = REPOSITORY.parent / "shared" / "medebench-sample"
COUNT = 48


def pictures() -> list[Picture]:
    """Outputs of the paper's models; phantoms where they are not here."""
    if EXCERPT.is_dir():
        paths = sorted((EXCERPT / "generated_images").glob("*/*.png"))[:COUNT]
    else:
        paths = [case.files()["reference"] for case in load_cases(f"phantoms:count={COUNT}")]
    return [read_picture(path) for path in paths]


def package(scratch: Path) -> Callable[[Picture], np.ndarray[Any, Any]]:
    """torch-fidelity's network with the weights that ours reads, brought into its layout."""
    import torch

    let_others_in()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script = torch.jit.load(str(WEIGHTS), map_location="cpu").state_dict()
        module = importlib.import_module("torch_fidelity.feature_extractor_inceptionv3")
    state = {"fc.weight": torch.zeros(1008, 2048), "fc.bias": torch.zeros(1008)}
    for name, own in NAMES.items():
        parts = {word: script[f"net.layers.{own}.{word}"] for word in ("weight", "beta", "mean")}
        state[f"{name}.conv.weight"] = parts["weight"]
        state[f"{name}.bn.weight"] = torch.ones_like(parts["beta"])
        state[f"{name}.bn.bias"] = parts["beta"]
        state[f"{name}.bn.running_mean"] = parts["mean"]
        state[f"{name}.bn.running_var"] = script[f"net.layers.{own}.var"]
        state[f"{name}.bn.num_batches_tracked"] = torch.tensor(0)
    torch.save(state, scratch / "inception.pth")
    network = module.FeatureExtractorInceptionV3("inception", ["2048"], scratch / "inception.pth")

    def vector(picture: Picture) -> np.ndarray[Any, Any]:
        with torch.no_grad():
            shown = torch.from_numpy(picture.copy()).permute(2, 0, 1)[None]
            return np.asarray(network(shown)[0][0])

    return vector


def extract(extractor: Extractor, given: Sequence[Picture]) -> None:
    """Prepared on all cores, as `medebench score` does, in whatever order they are ready."""
    extractor.features(list(in_parallel(lambda one: extractor.show(one, 255), given)))


def bench_networks(scratch: Path) -> None:
    theirs, encoder = package(scratch), InceptionEncoder(str(WEIGHTS))
    first, second = Extractor(encoder, scratch), Extractor(encoder, scratch)
    everything = pictures()
    square = [resize(one, 299, 299) for one in everything[:2]]
    expected = np.stack([theirs(one) for one in square])
    # The first call loads the network; where nothing is resized, both must say the same.
    found = first.features([first.show(one, 255) for one in square])
    worst = np.abs(found - expected).max() / expected.max()
    slow = fast = again = 0.0
    for start in range(0, len(everything), encoder.batch):
        part = everything[start : start + encoder.batch]
        begin = time.perf_counter()
        for one in part:
            theirs(one)
        middle = time.perf_counter()
        extract(first, part)
        end = time.perf_counter()
        extract(second, part)
        slow, fast = slow + middle - begin, fast + end - middle
        again += time.perf_counter() - end
    assert second.extracted == 0
    count = len(everything)
    print(
        f"Inception features, {count} pictures: torch-fidelity's network, one at a time, "
        f"{count / slow:.1f} a second; medebench {count / fast:.1f} a second (resizing and store "
        f"included): {slow / fast:.1f} times as fast; a second time, from the store, "
        f"{count / again:.0f} a second: {slow / again:.0f} times; largest difference {worst:.0e}"
    )


def bench_features() -> None:
    """In a process of its own: with torchvision half there, other packages stumble."""
    if not WEIGHTS.is_file() or not (REFERENCES / "torch_fidelity").is_dir():
        print("Inception features: package or weights are not here (make bench gets them)")
        return
    subprocess.run([sys.executable, __file__], check=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        os.environ["MEDEBENCH_CACHE"] = name
        bench_networks(Path(name))


if __name__ == "__main__":
    main()
