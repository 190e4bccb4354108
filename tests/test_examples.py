from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import medebench

PACKAGE = Path(medebench.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str, tmp_path: Path) -> None:
    """Examples may use `mb`, the package, and `tmp`, an empty folder."""
    given = {"mb": medebench, "tmp": tmp_path}
    found = doctest.testmod(
        importlib.import_module(name), extraglobs=given, optionflags=doctest.ELLIPSIS
    )
    assert found.attempted > 0
    assert found.failed == 0
