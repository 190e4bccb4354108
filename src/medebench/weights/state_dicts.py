"""Reading what `torch.save` wrote, so that no code in the file is ever run."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

REFUSED = "would run code, or is not a file of tensors"


def read_state_dict(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors by name, as arrays of 32 bits; a ValueError says what is wrong with the file."""
    import torch

    read = load(path)
    if not isinstance(read, Mapping):
        raise ValueError("contains no state dict")
    return {str(name): one.float().numpy() for name, one in read.items() if torch.is_tensor(one)}


def load(path: Path, *, mmap: bool = False) -> Any:
    """What the file holds, in main memory; ValueError where torch refuses it."""
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.load(path, map_location="cpu", weights_only=True, mmap=mmap)
    except Exception as error:
        # torch's own words advise to trust the file.
        if _is_refusal(error):
            raise ValueError(REFUSED) from error
        raise


def _is_refusal(error: Exception) -> bool:
    # A KeyError is how the reader of old files takes bytes that are no pickle.
    if isinstance(error, (pickle.UnpicklingError, KeyError)):
        return True
    said = str(error).lower()
    return any(words in said for words in ("weights_only", "weights only", "unpickl"))
