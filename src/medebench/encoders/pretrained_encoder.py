"""Base of the encoders that transformers loads: a folder, its config, its network."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from medebench.device import choose_device, exact
from medebench.encoders.encoder import Features
from medebench.encoders.local_encoder import FramedEncoder
from medebench.encoders.preprocess import Preprocess
from medebench.errors import InputError, one_line
from medebench.quiet import quiet
from medebench.weights.model_settings import read_json

if TYPE_CHECKING:
    from torch import Tensor

#: Numbers beside the network that no vector depends on.
_BESIDE = re.compile(r"(^|\.)(logit_scale|logit_bias|position_ids)$")


class PretrainedEncoder(FramedEncoder):
    """A folder of transformers, given or in the hub's cache; code of strangers is never run."""

    #: The `model_type`s that are understood.
    kinds: ClassVar[frozenset[str]]

    @property
    def folder(self) -> Path:
        if not self.weights.path.is_dir():
            raise InputError(f"{self.name}: {self.weights.path} is a file; pass the model's folder")
        return self.weights.path

    @cached_property
    def config(self) -> dict[str, Any]:
        """What config.json says."""
        config = read_config(self.folder)
        if (kind := config.get("model_type")) not in self.kinds:
            known = ", ".join(sorted(self.kinds))
            raise InputError(
                f"{self.folder / 'config.json'}: model_type {kind!r} is not supported; "
                f"supported: {known}"
            )
        return config

    @property
    def kind(self) -> str:
        return str(self.config["model_type"])

    @cached_property
    def look(self) -> Preprocess:
        return Preprocess.read(self.folder, self.kind)

    @cached_property
    def identity(self) -> str:
        return f"{self.kind} {self.weights.identity} pictures-1 {self.look.digest}"

    def encode(self, prepared: Sequence[NDArray[Any]]) -> Features:
        import torch

        network, device = self.network(), choose_device(self.device)
        pixels = torch.from_numpy(self.look.finish(np.stack(prepared))).to(device)
        with torch.inference_mode(), exact(device):
            return as_rows(self._see(network, pixels))

    @abstractmethod
    def _see(self, network: Any, pixels: Tensor) -> Tensor:
        """A row for each picture."""

    def _load(self, device: str) -> Any:
        """Always in float32."""
        import torch
        from transformers import AutoModel

        how = {"local_files_only": True, "trust_remote_code": False, "weights_only": True}
        how |= {"output_loading_info": True}
        try:
            with quiet("transformers"):
                network, told = AutoModel.from_pretrained(
                    str(self.folder), dtype=torch.float32, **how
                )
        except Exception as error:
            raise self.broken("does not load", error) from error
        # transformers only warns and fills what is missing with random numbers.
        missing = sorted(one for one in told["missing_keys"] if not self._spare(one))
        if missing:
            raise InputError(
                f"{self.name}: {self.folder} lacks {len(missing)} of its parts, such as"
                f" {missing[0]}; download the complete model"
            )
        return network.eval().to(device)

    def _spare(self, key: str) -> bool:
        """Whether the vectors are the same without it."""
        return _BESIDE.search(key) is not None

    def broken(self, what: str, error: Exception) -> InputError:
        why = f"{type(error).__name__}: {one_line(str(error), 200)}"
        return InputError(f"{self.name}: {self.folder} {what} ({why}); download the model again")


def read_config(folder: Path) -> dict[str, Any]:
    """A model folder's config.json; InputError where there is none."""
    path = folder / "config.json"
    if not path.is_file():
        raise InputError(f"{folder}: has no config.json; pass a model's folder")
    return read_json(path)


def as_rows(vectors: Tensor) -> Features:
    rows: Features = vectors.float().cpu().numpy()
    return rows
