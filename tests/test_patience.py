"""No test may depend on how fast the machine is, or be skipped without a word.

What gives haste away is found in the tests' source.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.patience import PATIENCE

CLOCKS = {"monotonic", "perf_counter", "time", "process_time", "thread_time"}
#: Ends of waiting for processes and threads: hang protection, and never tight.
WAITS = {"communicate": None, "result": None, "join": 0, "run": None, "WebDriverWait": 1}
SHORTEST = 60


def reads_clock(node: ast.AST, known: set[str]) -> bool:
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and one.id in known:
            return True
        if isinstance(one, ast.Call):
            called = one.func
            if isinstance(called, ast.Attribute) and called.attr in CLOCKS:
                owner = called.value
                if isinstance(owner, ast.Name) and owner.id == "time":
                    return True
    return False


def clock_names(function: ast.AST) -> set[str]:
    """Names that hold moments or durations, such as `began` and `seconds`."""
    known: set[str] = set()
    while True:
        before = len(known)
        for one in ast.walk(function):
            if isinstance(one, ast.Assign) and reads_clock(one.value, known):
                known |= {one.id for one in one.targets if isinstance(one, ast.Name)}
        if len(known) == before:
            return known


def upper_bounds(function: ast.AST) -> Iterator[int]:
    """Lines that assert that something took less than a number."""
    known = clock_names(function)
    for one in ast.walk(function):
        if not isinstance(one, ast.Assert):
            continue
        for compare in ast.walk(one.test):
            if not isinstance(compare, ast.Compare):
                continue
            parts = [compare.left, *compare.comparators]
            for left, kind, right in zip(parts, compare.ops, parts[1:], strict=False):
                small, large = (left, right) if isinstance(kind, ast.Lt | ast.LtE) else (None, None)
                if isinstance(kind, ast.Gt | ast.GtE):
                    small, large = right, left
                if small is None or large is None or reads_clock(large, known):
                    continue
                if reads_clock(small, known):
                    yield one.lineno


def short_waits(call: ast.Call) -> Iterator[str]:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name not in WAITS:
        return
    place = WAITS[name]
    given = [one.value for one in call.keywords if one.arg == "timeout"]
    if place is not None:
        given += call.args[place : place + 1]
    for one in given:
        seconds = one.value if isinstance(one, ast.Constant) else None
        if isinstance(seconds, int | float) and seconds < SHORTEST:
            yield f"{name} waits no longer than {seconds} s; use PATIENCE"


def hasty_settings(call: ast.Call) -> Iterator[str]:
    if getattr(call.func, "id", "") != "settings":
        return
    for one in call.keywords:
        value = ast.unparse(one.value)
        if one.arg == "deadline" and value != "None":
            yield "hypothesis gets a deadline"
        if one.arg == "suppress_health_check" and not re.search(r"too_slow|list\(H", value):
            yield "hypothesis checks again whether examples come fast; add HealthCheck.too_slow"


def haste(source: str) -> list[str]:
    tree = ast.parse(source)
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found |= {(line, "asserts that something is fast") for line in upper_bounds(node)}
        if isinstance(node, ast.Call):
            found |= {(node.lineno, what) for what in short_waits(node)}
            found |= {(node.lineno, what) for what in hasty_settings(node)}
    return [f"line {line}: {what}" for line, what in sorted(found)]


def test_no_test_depends_on_speed():
    here = Path(__file__).resolve()
    found = {
        str(path.relative_to(REPOSITORY)): lines
        for path in sorted((REPOSITORY / "tests").rglob("*.py"))
        if path != here and (lines := haste(path.read_text("utf-8")))
    }
    assert found == {}


HASTY = [
    "def f():\n    start = time.monotonic()\n    g()\n    assert time.monotonic() - start < 5\n",
    "def f():\n    a = time.time()\n    g()\n    b = time.time() - a\n    assert 1 <= b <= 3\n",
    "def f():\n    start = time.process_time()\n    assert x and 8 > time.process_time() - start\n",
    "def f():\n    thread.join(5)\n",
    "def f():\n    process.communicate(timeout=20)\n",
    "def f():\n    WebDriverWait(driver, 10, 0.03).until(x)\n",
    "@settings(max_examples=3, deadline=200)\ndef f(): pass\n",
    "@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])\ndef f(): pass\n",
]


@pytest.mark.parametrize("source", HASTY)
def test_haste_is_noticed(source):
    assert len(haste(source)) == 1


def test_patience_is_not():
    source = (
        "def f():\n    start = time.monotonic()\n    assert time.monotonic() - start >= 1\n"
        "    assert ', '.join(names) and thread.join(PATIENCE)\n"
        "@settings(deadline=None, suppress_health_check=list(HealthCheck))\ndef g(): pass\n"
    )
    assert haste(source) == []


def test_the_summary_names_what_was_skipped_and_how_to_get_it(tmp_path):
    """Real tests where no browser is installed, and one that asks for a package."""
    other = tmp_path / "test_other.py"
    other.write_text("def test():\n    __import__('pytest').importorskip('no_such.thing')\n")
    words = ["-n", "0", "-p", "no:cacheprovider", "tests/reporting/test_browser.py", str(other)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=REPOSITORY,
        env=os.environ | {"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    browser = r"\d+ tests skipped: chromium and chromedriver are not installed \(apt-get install "
    assert re.search(browser, done.stdout), done.stdout
    assert "1 test skipped: no_such is not installed (make test installs it)" in done.stdout
