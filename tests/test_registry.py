"""Names are found the same way in every process, and the package's own cannot be taken over."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest

from medebench.errors import InputError
from medebench.registry import Registry

THINGS = Registry("thing", "medebench.no_such_group")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Writes a distribution with entry points of one group, in front of all that are installed."""

    def write(name, points):
        info = tmp_path / name / f"{name}-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(
            "[medebench.toys]\n" + "".join(f"{key} = {value}\n" for key, value in points.items())
        )
        monkeypatch.syspath_prepend(info.parent)

    return write


def test_the_packages_own_entry_points_are_built_in(site):
    site("medebench", {"spinner": "math:pi", "ball": "math:e"})
    site("stranger", {"spinner": "math:nan", "kite": "math:tau", "block": "math:inf"})
    toys = Registry("toy", "medebench.toys", {"yoyo": 3, "block": "math:e"})
    assert toys.names() == ["yoyo", "block", "ball", "spinner", "kite"]
    assert toys.own_names() == ["yoyo", "block", "ball", "spinner"]
    assert [toys.find(name) for name in ("yoyo", "block", "spinner")] == pytest.approx(
        [3, 2.71828183, 3.14159265]
    )
    assert toys.origin("spinner") == toys.origin("block") == ""
    assert toys.origin("kite") == "math:tau of stranger 1"
    assert "kite" in toys and "doll" not in toys


def test_a_users_file_is_run_once_and_travels(tmp_path):
    file = tmp_path / "own.py"
    file.write_text("class Box:\n    inside = 1\nbox = Box()\nbox.inside = 2\n")
    box = THINGS.find(f"{file}:box")
    assert type(box) is THINGS.find(f"{file}:Box")
    code = (
        "import pickle, sys; from medebench.registry import Registry\n"
        f"Registry('thing', 'none').find({f'{file}:Box'!r})\n"
        "print(pickle.load(sys.stdin.buffer).inside)"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=pickle.dumps(box),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        assert done.stdout.strip() == b"2"


def test_a_changed_file_is_another_module(tmp_path):
    file = tmp_path / "own.py"
    file.write_text("value = 1")
    assert THINGS.find(f"{file}:value") == 1
    file.write_text("value = 2")
    assert THINGS.find(f"{file}:value") == 2
    file.write_text("value = 3\nraise OSError('not today')")
    for _ in range(2):
        with pytest.raises(InputError, match=r"own\.py: OSError: not today"):
            THINGS.find(f"{file}:value")
