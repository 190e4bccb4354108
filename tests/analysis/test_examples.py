from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = ["aggregate", "bootstrap", "clean", "compare", "reliability", "signflip"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"medebench.analysis.{name}"))
    assert found.attempted > 0
    assert found.failed == 0
