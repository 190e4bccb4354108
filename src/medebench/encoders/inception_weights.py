"""Reading the weights of FID's Inception, in either of the two layouts they are published in.

One is TorchScript: of a program with its numbers only the numbers are read, nothing is run. The
other is a state dict with torchvision's names, as pytorch-fid and torch-fidelity have it.
"""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from medebench.errors import InputError, one_line
from medebench.weights.state_dicts import read_state_dict

#: What the publishers call each convolution: torchvision's name, which pytorch-fid and
#: torch-fidelity use as well, and that of the first TensorFlow graph, in the TorchScript file.
NAMES: dict[str, str] = json.loads(
    Path(__file__).with_name("inception_names.json").read_text("utf-8")
)
#: What batch normalisation adds to the variances.
_EPSILON = 1e-3
#: Numbers in all kernels together: another network has others.
_KERNELS = 21_751_136
#: torchvision's own Inception has the same names and kernels; its classifier tells it from FID's.
_CLASSES = 1008
_KINDS = {"HalfStorage": "<f2", "FloatStorage": "<f4", "DoubleStorage": "<f8"}
_GET = "get the Inception of FID with 'medebench weights get inception'"


@dataclass(frozen=True)
class FoldedConvolution:
    """A convolution with the batch normalisation after it multiplied in."""

    kernel: NDArray[np.float32]
    bias: NDArray[np.float32]


def read_inception(path: Path) -> dict[str, FoldedConvolution]:
    """The convolutions by their names in torchvision; InputError says what is wrong."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder; pass the file with the Inception weights")
    try:
        tensors = _read_script(path) if _is_script(path) else read_state_dict(path)
        folded = _fold_script(tensors) if "conv.weight" in tensors else _fold_state(tensors)
        if sum(one.kernel.size for one in folded.values()) != _KERNELS:
            raise ValueError("a different number of weights")
    except Exception as error:
        # Readers raise whatever a file that is not theirs makes them stumble over.
        why = f"lacks {error}" if isinstance(error, KeyError) else one_line(str(error), 160)
        raise InputError(
            f"{path}: not the Inception of FID ({why or type(error).__name__}); {_GET}"
        ) from error
    return folded


def _fold_script(tensors: Mapping[str, NDArray[Any]]) -> dict[str, FoldedConvolution]:
    return {
        name: _fold(
            tensors[f"{script}.weight"],
            None,
            *(tensors[f"{script}.{word}"] for word in ("beta", "mean", "var")),
        )
        for name, script in NAMES.items()
    }


def _fold_state(tensors: Mapping[str, NDArray[Any]]) -> dict[str, FoldedConvolution]:
    classes = tensors.get("fc.bias")
    if classes is not None and len(classes) != _CLASSES:
        raise ValueError(f"a different network with {len(classes)} classes instead of {_CLASSES}")
    words = ("weight", "bias", "running_mean", "running_var")
    return {
        name: _fold(
            tensors[f"{name}.conv.weight"], *(tensors[f"{name}.bn.{word}"] for word in words)
        )
        for name in NAMES
    }


def _fold(
    kernel: NDArray[Any],
    scale: NDArray[Any] | None,
    shift: NDArray[Any],
    mean: NDArray[Any],
    variance: NDArray[Any],
) -> FoldedConvolution:
    # What is not finite is said below, by one line.
    with np.errstate(all="ignore"):
        factor = 1 / np.sqrt(variance.astype(np.float64) + _EPSILON)
        if scale is not None:
            factor = factor * scale
        multiplied = kernel * factor[:, None, None, None]
        bias = shift - mean * factor
    if not (np.isfinite(multiplied).all() and np.isfinite(bias).all()):
        raise ValueError("values that are not finite numbers")
    return FoldedConvolution(multiplied.astype(np.float32), bias.astype(np.float32))


def _is_script(path: Path) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any("/code/" in name for name in archive.namelist())


def _read_script(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors below `layers`, which others may have wrapped into modules of their own."""
    with zipfile.ZipFile(path) as archive:
        top = archive.namelist()[0].split("/")[0]
        with archive.open(f"{top}/data.pkl") as file:
            tree = _Tensors(file, archive, f"{top}/data").load()
        return {
            name.rpartition("layers.")[2]: one for name, one in _flat(tree) if "layers." in name
        }


def _flat(part: Any, before: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    for name, one in vars(part).items():
        if isinstance(one, np.ndarray):
            yield before + name, one
        elif isinstance(one, _Part):
            yield from _flat(one, f"{before}{name}.")


class _Part:
    """Stands in for any module of the program: it has names and what they stand for."""


class _Tensors(pickle.Unpickler):
    """A pickle is a program. This one knows how to make tensors, and no other word."""

    def __init__(self, file: IO[bytes], archive: zipfile.ZipFile, folder: str) -> None:
        super().__init__(file)
        self._archive, self._folder = archive, folder

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] == "__torch__":
            return _Part
        if module == "torch" and name in _KINDS:
            return _KINDS[name]
        known: dict[tuple[str, str], Any] = {
            ("torch._utils", "_rebuild_tensor_v2"): _tensor,
            ("torch.jit._pickle", "build_intlist"): list,
            ("collections", "OrderedDict"): dict,
        }
        if (module, name) not in known:
            raise ValueError(f"refers to {module}.{name}, but only tensors are read")
        return known[module, name]

    def persistent_load(self, pid: Any) -> NDArray[Any]:
        _, kind, key, _, count = pid
        numbers = np.frombuffer(self._archive.read(f"{self._folder}/{key}"), kind)
        if len(numbers) != count:
            raise ValueError(f"tensor {key} has {len(numbers)} numbers instead of {count}")
        return numbers


def _tensor(
    numbers: NDArray[Any], offset: int, size: tuple[int, ...], strides: tuple[int, ...], *_: Any
) -> NDArray[Any]:
    last = offset + sum((n - 1) * step for n, step in zip(size, strides, strict=True))
    if min((offset, *strides), default=0) < 0 or min(size, default=1) < 1 or last >= len(numbers):
        raise ValueError("a tensor is larger than its numbers")
    steps = [one * numbers.itemsize for one in strides]
    return np.lib.stride_tricks.as_strided(numbers[offset:], size, steps, writeable=False)
