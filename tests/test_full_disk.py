"""A disk that is full or cannot be written is named as such; nothing is called damaged."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.errors import InputError, MedebenchError
from medebench.files import disk_trouble, unwritable, write_bytes
from medebench.runs.ledger import Ledger, OutputRow
from tests.conftest import write_set

FULL = "the disk is full; free some space, then run again"
READ_ONLY = "the file system is read-only; choose another folder"
Mount = Callable[..., Path]


def call(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert "unexpected" not in done.stderr and "damaged" not in done.stderr, done.stderr
    return done.exit_code, done.stderr


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Mount]:
    """A real file system of so many kB; `options=ro` makes it one that cannot be written."""
    path = tmp_path / "disk"
    path.mkdir()

    def mount(options: str) -> Path:
        words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
        program = shutil.which("mount")
        done = subprocess.run(words, capture_output=True) if program else None
        if done is None or done.returncode:
            pytest.skip("a small disk cannot be mounted here (run the tests as root)")
        return path

    yield mount
    if os.path.ismount(path):
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def remount(path: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(path)], check=True)


def fill(path: Path) -> Path:
    filler = path / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filler


def test_every_command_says_so_and_goes_on_once_there_is_room(disk, tmp_path):
    path = disk("size=4m")
    cases = write_set(tmp_path / "set", 4)
    run = path / "run"
    filler = fill(path)
    code, said = call("edit", cases, "--editor", "noise", "--out", run)
    assert code in (1, 2) and FULL in said and str(path) in said and said.count("\n") == 1
    filler.unlink()
    assert call("edit", cases, "--editor", "noise", "--out", run)[0] == 0
    filler = fill(path)
    for words in (
        ["score", run],
        ["report", run, "--out", path / "report"],
        ["export", run, "--out", path / "x.csv"],
        ["cases", "make", "phantoms", "--count", 2, "--out", path / "phantoms"],
        ["edit", cases, "--editor", "blur", "--out", path / "other"],
    ):
        code, said = call(*words)
        assert code and (FULL in said or "no scores" in said), (words, said)
        assert str(path) in said and said.count("\n") == 1
    filler.unlink()
    assert call("edit", cases, "--editor", "noise", "--out", run)[0] == 0
    assert call("score", run)[0] == 0
    assert mb.open_run(run).frame()["value"].is_not_null().any()


def test_adopting_stops_where_the_disk_is_full_and_goes_on(disk, tmp_path):
    path, cases = disk("size=4m"), write_set(tmp_path / "set", 6)
    made = tmp_path / "made"
    made.mkdir()
    for number in range(1, 7):
        noise = np.random.default_rng(number).integers(0, 256, (300, 300, 3), dtype=np.uint8)
        Image.fromarray(noise).save(made / f"{number}.png")
    words = ["adopt", made, "--cases", cases, "--out", path / "run"]
    filler = path / "filler"
    filler.write_bytes(b"x" * (shutil.disk_usage(path).free - 900_000))
    code, said = call(*words)
    assert code == 1 and FULL in said and said.count("\n") == 1 and str(path / "run") in said
    filler.unlink()
    code, said = call(*words)
    assert code == 0 and "6 outputs, 6 of 6 cases, 0 failed" in said


def test_folders_are_named_as_the_user_named_them(disk, tmp_path):
    path, cases = disk("size=4m"), write_set(tmp_path / "set", 2)
    for words in (
        ["cases", "check", cases, "--fix", "--out", path / "fixed"],
        ["cases", "show", cases, "1", "--out", path / "1.png"],
    ):
        filler = fill(path)
        code, said = call(*words)
        assert code and FULL in said and str(words[-1]) in said and "tmp-" not in said
        filler.unlink()
        remount(path, "ro")
        code, said = call(*words)
        assert code and READ_ONLY in said and str(words[-1]) in said and "tmp-" not in said
        remount(path, "rw")


def test_a_read_only_disk_is_named_and_can_be_read(disk, tmp_path):
    path = disk("size=8m")
    cases = write_set(tmp_path / "set", 4)
    run = path / "run"
    mb.score(mb.edit(cases, "noise", run), ["cp"])
    remount(path, "ro")
    for words in (
        ["edit", cases, "--editor", "noise", "--out", run, "--outputs", 2],
        ["score", run, "--metrics", "psnr"],
        ["report", run, "--out", path / "report"],
        ["export", run, "--out", path / "x.csv"],
        ["edit", cases, "--editor", "blur", "--out", path / "other"],
    ):
        code, said = call(*words)
        assert code and READ_ONLY in said and str(path) in said, (words, said)
    assert call("export", run, "--out", tmp_path / "x.csv")[0] == 0


def row(number: int) -> OutputRow:
    return OutputRow(str(number), 0, None, "x" * 5000)


def test_a_ledger_that_cannot_grow_is_not_damaged(tmp_path):
    """SQLite's own limit, which it reports with the words for a full disk."""
    with Ledger(tmp_path / "ledger.sqlite", create=True) as ledger:
        ledger.write(*map(row, range(5)))
        pages = ledger._db.execute("PRAGMA page_count").fetchone()[0]
        ledger._db.execute(f"PRAGMA max_page_count = {pages + 3}")
        with pytest.raises(MedebenchError) as caught:
            ledger.write(*map(row, range(5, 50)))
        assert str(caught.value) == f"{tmp_path}: {FULL}"
        assert not isinstance(caught.value, InputError)
        ledger._db.execute("PRAGMA max_page_count = 100000")
        assert len(ledger.outputs()) == 5
        ledger.write(*map(row, range(5, 50)))
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        assert len(ledger.outputs()) == 50


def test_other_troubles_keep_their_words(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError) as caught:
        write_bytes(tmp_path / "file" / "x", b"")
    assert disk_trouble(caught.value, tmp_path) is None
    assert "cannot be written (" in str(unwritable(tmp_path / "x", caught.value))
    with pytest.raises(sqlite3.Error) as odd:
        sqlite3.connect(":memory:").execute("SELECT")
    assert disk_trouble(odd.value, tmp_path) is None
