"""A TorchScript file."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.device import TORCH, choose_device, exact, missing_releases, release_memory
from medebench.errors import one_line
from medebench.stresstest.predictors.network_predictor import NetworkPredictor


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
