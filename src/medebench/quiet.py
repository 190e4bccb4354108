"""Other libraries' bars, advice and warnings are not for our users."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet(*libraries: str) -> Iterator[None]:
    """Silence "transformers", "diffusers" for a while; both keep their logging in one place."""
    found = [importlib.import_module(f"{name}.utils.logging") for name in libraries]
    before = [(one.get_verbosity(), one.is_progress_bar_enabled()) for one in found]
    for one in found:
        one.set_verbosity_error()
        one.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for one, (level, bars) in zip(found, before, strict=True):
            one.set_verbosity(level)
            if bars:
                one.enable_progress_bar()
