"""Tiny pipelines, and cases with masks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.cases.case import Case
from tests.conftest import draw

#: Small and quick, whatever the pipeline.
QUICK = "steps=2,size=32"


@pytest.fixture(scope="session")
def made(pipelines: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny pipeline, of this folder's or of the common ones."""
    tiny = pytest.importorskip("tests.systems.radedit.tiny", exc_type=ImportError)
    base = tmp_path_factory.mktemp("radedit")

    def get(name: str) -> Path:
        if not hasattr(tiny, f"tiny_{name}"):
            return Path(pipelines(name))
        if not (folder := base / name).is_dir():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                getattr(tiny, f"tiny_{name}")(folder)
        return folder

    return get


def box(width: int, height: int, *at: int) -> np.ndarray[Any, Any]:
    """True in the rows and columns from (top, left) to (bottom, right)."""
    mask = np.zeros((height, width), bool)
    top, left, bottom, right = at
    mask[top:bottom, left:right] = True
    return mask


def save_mask(path: Path, mask: np.ndarray[Any, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(mask.astype(np.uint8) * 255).save(path)
    return path


@pytest.fixture
def request_for(tmp_path: Path) -> Callable[..., mb.Request]:
    """A request with an edit mask and a line to keep in it; None leaves a mask out."""

    def make(
        name: str = "one",
        width: int = 64,
        height: int = 64,
        seed: int = 1,
        edit: Any = (16, 16, 48, 48),
        keep: Any = (0, 30, 64, 32),
        pixels: Any = None,
        prompt: str = "whiten the stained teeth",
        **more: Any,
    ) -> mb.Request:
        path = tmp_path / f"{name}.png"
        Image.fromarray(draw(seed, height, width) if pixels is None else pixels).save(path)
        for role, at in (("roi", edit), ("keep", keep)):
            if at is not None:
                mask = at if isinstance(at, np.ndarray) else box(width, height, *at)
                more[role] = save_mask(tmp_path / f"{name}-{role}.png", mask)
        return mb.Request(mb.open_case(Case(name, path, prompt, **more)), 0, seed)

    return make
