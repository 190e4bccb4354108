"""What all tests share: small case sets drawn here, and the real excerpt where it is present."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import typer.testing
from hypothesis import HealthCheck, settings
from PIL import Image

# Half of the usual examples keep the whole suite short; HYPOTHESIS_EXAMPLES asks for more.
# However busy the machine is, an example that takes long is no failure.
settings.register_profile(
    "suite",
    max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES", "50")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")

# The runner builds all commands anew for every call, which takes longer than many of them.
typer.testing._get_command = functools.cache(typer.testing._get_command)  # type: ignore[attr-defined]

REPOSITORY = Path(__file__).parent.parent
EXCERPT = REPOSITORY.parent / "shared" / "medebench-sample"


def load_tool(name: str) -> ModuleType:
    """A script of the tools folder, as a module."""
    path = REPOSITORY / "tools" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def excerpt() -> Path:
    if not EXCERPT.is_dir():
        pytest.skip(
            "the excerpt of the MedEBench release is not here (it belongs into "
            "../shared/medebench-sample, beside the checkout)"
        )
    return EXCERPT


WEIGHTS = REPOSITORY / ".venv" / "weights"


@pytest.fixture(scope="session")
def real_weights() -> Callable[[str], Path]:
    """Weights as published, which `make test` gets from package registries."""

    def find(file: str) -> Path:
        if not (WEIGHTS / file).is_file():
            pytest.skip(f"the weights {file} are not here (make test gets them)")
        return WEIGHTS / file

    return find


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was skipped for want of what; a file that is skipped as a whole counts as one."""
    skipped = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", ()))
    if skipped:
        terminalreporter.section("skipped")
    for reason, count in skipped.most_common():
        terminalreporter.write_line(
            f"{count} {'test' if count == 1 else 'tests'} skipped: {reason}"
        )


def _reason(report: Any) -> str:
    told = report.longrepr
    text = told[-1] if isinstance(told, tuple) else str(told)
    text = text.removeprefix("Skipped: ")
    if missing := re.match(r"could not import '([\w.]+)'", text):
        return f"{missing[1].partition('.')[0]} is not installed (make test installs it)"
    return text


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests never write into the user's cache; phantoms are drawn once per session."""
    cache = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("MEDEBENCH_CACHE", str(cache))
    monkeypatch.delenv("MEDEBENCH_WEIGHTS", raising=False)


def draw(seed: int, height: int = 48, width: int = 64) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A smooth random picture: SSIM of two of them is far from 0 and from 1."""
    generator = np.random.default_rng(seed)
    coarse = generator.integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC))


def write_set(folder: Path, count: int = 4, **changes: Any) -> Path:
    """A small set in the layout of the release; `changes` are put into every record."""
    editing = folder / "editing"
    for name in ("previous", "changed", "previous_mask"):
        (editing / name).mkdir(parents=True, exist_ok=True)
    samples = []
    for number in range(1, count + 1):
        previous = draw(number)
        mask = np.zeros((48, 64), np.uint8)
        mask[10:30, 12 + number : 40] = 255
        reference = previous.copy()
        reference[mask > 0] = 255 - reference[mask > 0]
        Image.fromarray(previous).save(editing / "previous" / f"{number}.png")
        Image.fromarray(reference).save(editing / "changed" / f"{number}.png")
        Image.fromarray(mask).save(editing / "previous_mask" / f"{number}.png")
        samples.append(
            {
                "id": number,
                "Organ": "Skin" if number % 2 else "Teeth",
                "Task": "Remove moles" if number % 2 else "Whiten teeth",
                "prompt": f"Remove the mole number {number}.",
                "rephrased_prompt": f"Take mole {number} away.",
                "detailed_prompt": "A photograph in which a mole is removed and skin is left.",
                "previous_image": f"editing/previous/{number}.png",
                "changed_image": f"editing/changed/{number}.png",
                "previous_mask": f"editing/previous_mask/{number}.png",
                "url": "",
                **changes,
            }
        )
    (editing / "editing_metadata.json").write_text(json.dumps({"samples": samples}))
    return folder


@pytest.fixture
def small_set(tmp_path: Path) -> Path:
    return write_set(tmp_path / "set")


@pytest.fixture
def make_set(tmp_path: Path) -> Callable[..., Path]:
    return lambda count=4, name="set", **changes: write_set(tmp_path / name, count, **changes)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Where somebody wanted to connect to; the hub's own offline switch is not set."""
    tried: list[Any] = []

    def refuse(_socket: Any, address: Any) -> None:
        tried.append(address)
        raise OSError("no network in this test")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", lambda *words, **_: refuse(None, words))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    return tried
