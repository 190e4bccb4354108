"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from medebench.files import TEMPORARY, sweep, whole_folder, write_bytes, write_json


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "deep" / "x.json"
    write_json(path, {"a": 1})
    with pytest.raises(ValueError, match="JSON"):
        write_json(path, {"a": float("nan")})
    with pytest.raises(TypeError):
        write_bytes(path, "text")  # type: ignore[arg-type]
    assert path.read_text() == '{\n  "a": 1\n}\n'
    assert [p.name for p in path.parent.iterdir()] == ["x.json"]


def test_files_follow_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        write_bytes(tmp_path / "x", b"")
        assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(old)


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path / "out") as scratch:
        (scratch / "half").write_text("x")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
    with whole_folder(tmp_path / "out") as scratch:
        (scratch / "all").write_text("x")
        assert not (tmp_path / "out").exists()
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["all"]


def test_leftovers_of_the_dead_are_removed_and_the_living_kept(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    abandoned = tmp_path / f"{TEMPORARY}{dead.pid}-abc"
    at_work = tmp_path / f"{TEMPORARY}{os.getppid()}-abc"
    for folder in (abandoned, at_work):
        folder.mkdir()
        (folder / "x").write_text("x")
    with whole_folder(tmp_path / "out"):
        pass
    assert not abandoned.exists() and at_work.exists()
    sweep(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
