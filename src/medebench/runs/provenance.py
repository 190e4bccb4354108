"""What must be written down so that a run can be repeated."""

from __future__ import annotations

import platform
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version

import medebench

_PACKAGES = ("numpy", "opencv-python-headless", "Pillow", "numba", "torch", "diffusers")


def versions() -> dict[str, str]:
    found = {"medebench": medebench.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
