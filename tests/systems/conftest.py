"""What the tests of the diffusion family share: tiny pipelines, a hub's cache, requests."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.cases.case import Case
from medebench.systems import find_system
from tests.conftest import draw

COMMIT = "0123456789abcdef0123456789abcdef01234567"
#: Small and quick, whatever the pipeline.
QUICK = "steps=2,size=64"


def same_image(one: np.ndarray, other: np.ndarray) -> bool:
    """Equal but for rounding: a batch adds in another order, and each processor in its own.

    An untrained network turns the last bits of a float into a level or two at a few pixels; another
    seed moves the mean by 30 levels and more, another instruction by 0.2 and more.
    """
    gap = np.abs(one.astype(int) - other)
    return one.shape == other.shape and gap.mean() < 0.02 and gap.max() <= 8


@pytest.fixture(scope="session")
def pipelines(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny pipeline, made when it is first asked for; not to be written to."""
    tiny = pytest.importorskip("tests.tiny_pipelines", exc_type=ImportError)
    base = tmp_path_factory.mktemp("pipelines")

    def get(name: str) -> Path:
        folder = base / name
        if not folder.is_dir():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                getattr(tiny, f"tiny_{name}")(folder)
        return folder

    return get


@pytest.fixture
def pix2pix(pipelines: Callable[[str], Path]) -> Path:
    return pipelines("instruct_pix2pix")


@pytest.fixture
def kontext(pipelines: Callable[[str], Path]) -> Path:
    return pipelines("flux_kontext")


@pytest.fixture
def own_copy(tmp_path: Path) -> Callable[[Path], Path]:
    """A copy of a pipeline to be damaged."""
    return lambda folder: Path(shutil.copytree(folder, tmp_path / f"copy-of-{folder.name}"))


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tiny products are not worth a second thread, which waits where the machine is busy."""
    try:
        import torch
    except ImportError:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub."""
    folder = tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder))
    return folder


def into_cache(source: Path, cache: Path, name: str) -> Path:
    """Put a folder where `hf download name` would."""
    repository = cache / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    return Path(shutil.copytree(source, repository / "snapshots" / COMMIT))


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., mb.Request]:
    """A request for a picture of a given size."""

    def make(
        width: int = 64,
        height: int = 64,
        seed: int = 1,
        drawn: int = 3,
        prompt: str = "Remove the scar.",
    ) -> mb.Request:
        path = tmp_path / f"{width}x{height}-{drawn}.png"
        Image.fromarray(draw(drawn, height, width)).save(path)
        return mb.Request(mb.open_case(Case(path.stem, path, prompt)), 0, seed)

    return make


def editor(call: str) -> Any:
    """The editor itself, ready."""
    chosen = find_system(call)
    chosen.require_ready()
    chosen.system.prepare()
    return chosen.system


def pixels(call: str, *requests: mb.Request) -> list[np.ndarray[Any, Any]]:
    return [made.image for made in editor(call).edit_batch(requests)]


@pytest.fixture
def qwen(pipelines: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Qwen-Image-Edit, whose real processor wants torchvision: ours is put in its place."""
    from diffusers.pipelines.qwenimage import pipeline_qwenimage_edit_plus as module

    from tests.tiny_pipelines import load_qwen_edit

    monkeypatch.setattr(module, "VAE_IMAGE_SIZE", 64 * 64)
    monkeypatch.setattr(module, "CONDITION_IMAGE_SIZE", 32 * 32)
    monkeypatch.setattr(
        "medebench.systems.diffusion.diffusion_device.is_installed", lambda name: True
    )
    monkeypatch.setattr(
        "medebench.systems.diffusion.pipeline_loader.open_pipeline",
        lambda weights, *_: load_qwen_edit(weights.path),
    )
    return pipelines("qwen_edit")


@pytest.fixture
def flux2(pipelines: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """FLUX.2 [dev], whose real processor wants torchvision: a tokenizer is put in its place."""
    from medebench.systems.diffusion import diffusion_device, pipeline_loader
    from tests.tiny_pipelines import load_flux2

    monkeypatch.setattr(diffusion_device, "is_installed", lambda name: True)
    monkeypatch.setattr(
        pipeline_loader, "open_pipeline", lambda weights, *_: load_flux2(weights.path)
    )
    return pipelines("flux2")
