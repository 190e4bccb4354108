"""A TorchScript or an ONNX file."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.device import TORCH, choose_device, exact, missing_releases, release_memory
from medebench.errors import one_line
from medebench.parallel import core_count
from medebench.stresstest.predictors.network_predictor import NetworkPredictor

_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}
_PROVIDERS = {"cuda": "CUDAExecutionProvider", "mps": "CoreMLExecutionProvider"}
_CPU = "CPUExecutionProvider"


class TorchScriptPredictor(NetworkPredictor):
    """Saved with `torch.jit.trace(model.eval(), example).save(path)`, or scripted."""

    _network: Any = None
    _device = "cpu"

    def lacking(self) -> str | None:
        return missing_releases(TORCH, "metrics")

    def load(self) -> None:
        if self._network is not None:
            return
        import torch

        self._device = choose_device(self.settings.device)
        try:
            with warnings.catch_warnings():
                # torch would rather see another format; the user's file is the one there is.
                warnings.simplefilter("ignore")
                network = torch.jit.load(str(self.path), map_location=self._device)
                self._network = network.eval()
        except Exception as error:
            why = one_line(str(error), 120)
            raise self.wrong(
                f"{self.path}: not a TorchScript file ({why}); save it with"
                " torch.jit.trace(...).save(...), or give a file.py:Name that builds the network"
            ) from error

    def run(self, batch: NDArray[np.float32]) -> Any:
        import torch

        pixels = torch.from_numpy(batch).to(self._device)
        with torch.inference_mode(), exact(self._device), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._network(pixels)

    def close(self) -> None:
        self._network = None
        release_memory()


class OnnxPredictor(NetworkPredictor):
    """Size and batch are taken from the file where it fixes them."""

    _session: Any = None

    def lacking(self) -> str | None:
        if find_spec("onnxruntime") is None:
            return "needs onnxruntime; install with: pip install 'medebench[onnx]'"
        return None

    def load(self) -> None:
        if self._session is not None:
            return
        # By name: whoever has no such package can still check the types.
        onnxruntime: Any = import_module("onnxruntime")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = core_count()
        try:
            session = onnxruntime.InferenceSession(
                str(self.path), options, providers=self._providers(onnxruntime)
            )
        except Exception as error:
            why = one_line(str(error), 160)
            raise self.wrong(f"{self.path}: cannot be loaded ({why}); export it again") from error
        self._look_at_input(session.get_inputs())
        self._session = session

    @property
    def files(self) -> list[Path]:
        """Exporters put large weights beside the file, under one of these names."""
        beside = [self.path.with_name(self.path.name + end) for end in (".data", "_data")]
        return [self.path, *(one for one in beside if one.is_file())]

    @property
    def size(self) -> tuple[int, int] | None:
        return super().size or self._fixed_size

    def run(self, batch: NDArray[np.float32]) -> Any:
        return self._session.run(None, {self._input: batch.astype(self._type)})[:1]

    def close(self) -> None:
        self._session = None

    _fixed_size: tuple[int, int] | None = None
    _input = ""
    _type: Any = np.float32

    def _look_at_input(self, inputs: Any) -> None:
        if len(inputs) != 1:
            names = ", ".join(one.name for one in inputs)
            raise self.wrong(f"{self.path}: has {len(inputs)} inputs ({names}), not one picture")
        (wanted,) = inputs
        if wanted.type not in _TYPES:
            raise self.wrong(f"{self.path}: wants {wanted.type}, not floating-point pixels")
        if len(wanted.shape) != 4:
            raise self.wrong(f"{self.path}: wants {wanted.shape}, not (count, channels, h, w)")
        count, channels, *sides = wanted.shape
        if isinstance(channels, int) and channels != self.settings.channels:
            raise self.wrong(f"channels: the file wants {channels}, not {self.settings.channels}")
        if all(isinstance(side, int) for side in sides):
            self._fixed_size = (sides[0], sides[1])
            if self.size != self._fixed_size:
                raise self.wrong(f"size: the file wants {sides[0]} x {sides[1]}; leave it out")
        if isinstance(count, int):
            self.batch = min(self.batch, count)
            if count != 1:
                raise self.wrong(
                    f"{self.path}: takes exactly {count} pictures; export it with batch size 1"
                )
        self._input, self._type = wanted.name, _TYPES[wanted.type]

    def _providers(self, onnxruntime: Any) -> list[str]:
        there = onnxruntime.get_available_providers()
        wanted = self.settings.device
        if wanted in _PROVIDERS and _PROVIDERS[wanted] not in there:
            raise self.wrong(f"device: this onnxruntime has no {wanted}; leave it at auto")
        if wanted == "auto":
            wanted = "cuda" if _PROVIDERS["cuda"] in there else "cpu"
        return [_PROVIDERS[wanted], _CPU] if wanted in _PROVIDERS else [_CPU]
