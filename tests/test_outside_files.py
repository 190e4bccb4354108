"""Files from outside that are none: pipes, sockets, devices. Nothing waits for them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench import files
from medebench.cli import app
from medebench.files import open_file, read_bytes
from medebench.stresstest.image_usability import size_of
from medebench.study.server.annotator_routes import read_picture
from tests.conftest import write_set

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def linked_pipe(path: Path) -> None:
    os.mkfifo(path.with_name(path.name + ".pipe"))
    path.symlink_to(path.name + ".pipe")


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def connection(path: Path) -> None:
    here = Path.cwd()
    # The name of a socket is short; it stays after its process.
    os.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def folder(path: Path) -> None:
    path.mkdir()


Kind = Callable[[Path], None]
KINDS: dict[Kind, str] = {
    pipe: "a pipe, not an ordinary file",
    linked_pipe: "a pipe, not an ordinary file",
    endless: "a device, not an ordinary file",
    connection: "a socket, not an ordinary file",
    sparse: "larger than 2,147,483,648 bytes",
    folder: "a folder, not an ordinary file",
}


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> Kind:
    made: Kind = request.param
    return made


def call(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code in (0, 1, 2) and "unexpected" not in done.stderr, done.stderr
    return done.stdout + done.stderr


def test_the_one_place_that_opens_files(kind, tmp_path):
    kind(tmp_path / "x.png")
    for read in (read_bytes, lambda path: open_file(path).__enter__()):
        with pytest.raises(OSError) as caught:
            read(tmp_path / "x.png")
        assert caught.value.strerror == KINDS[kind]
    with pytest.raises(mb.MedebenchError, match=KINDS[kind]):
        size_of(tmp_path / "x.png")
    with pytest.raises(OSError):
        read_picture(tmp_path, "x.png")


def test_links_to_files_are_files(tmp_path):
    (tmp_path / "x").write_bytes(b"abc")
    (tmp_path / "y").symlink_to("x")
    assert read_bytes(tmp_path / "y") == b"abc"
    assert read_bytes(tmp_path / "y", 3) == b"abc"
    with pytest.raises(OSError, match="larger than 2 bytes"):
        read_bytes(tmp_path / "y", 2)
    with pytest.raises(OSError), open_file(tmp_path / "y", links=False):
        pass


def test_a_file_of_the_kernel_that_waits_for_news(tmp_path, monkeypatch):
    """Such as /proc/kmsg: an ordinary file by its looks, without a byte to read as yet."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)

    @contextmanager
    def opened(path, most):
        with os.fdopen(reading, "rb") as file:
            yield file

    monkeypatch.setattr(files, "open_file", opened)
    with pytest.raises(OSError, match="nothing to read without waiting"):
        read_bytes(tmp_path / "kmsg")
    os.close(writing)


@pytest.mark.parametrize("name", ["previous", "changed", "previous_mask"])
def test_among_the_pictures_of_cases(kind, name, tmp_path):
    cases = write_set(tmp_path / "set", 3)
    run = tmp_path / "run"
    call("edit", cases, "--editor", "blur", "--out", run)
    loaded = mb.load_cases(cases)
    (cases / "editing" / name / "2.png").unlink()
    kind(cases / "editing" / name / "2.png")
    opened = mb.open_case(loaded["2"])
    with pytest.raises(mb.MedebenchError, match=KINDS[kind]):
        _ = opened.previous, opened.reference, opened.roi
    assert "case 2" in call("cases", "check", cases)
    call("cases", "check", cases, "--fix", "--out", tmp_path / "fixed")
    call("cases", "show", cases, "2", "--out", tmp_path / "case.png")
    call("edit", cases, "--editor", "blur", "--out", tmp_path / "other")
    call("score", run)
    call("report", run, "--out", tmp_path / "report")


def test_among_the_outputs_of_a_run(kind, tmp_path, small_set):
    runs = [tmp_path / name for name in ("one", "two")]
    for run, editor in zip(runs, ("blur", "noise"), strict=True):
        call("edit", small_set, "--editor", editor, "--out", run)
    call("score", *runs)
    (runs[0] / "edits" / "2_0.png").unlink()
    kind(runs[0] / "edits" / "2_0.png")
    call("score", *runs)
    call("ground", *runs)
    call("report", *runs, "--out", tmp_path / "report")
    call("export", *runs, "--out", tmp_path / "scores.csv")
    call("study", "new", *runs, "--out", tmp_path / "study", "--per-organ", "1")
    call("edit", small_set, "--editor", "blur", "--out", runs[0])
    frame = mb.open_run(runs[1]).frame()
    assert frame["value"].is_not_null().any()


def test_among_pictures_to_adopt(kind, tmp_path, small_set):
    made = tmp_path / "made"
    made.mkdir()
    kind(made / "1_0.png")
    (made / "2_0.png").write_bytes((small_set / "editing/previous/2.png").read_bytes())
    call("adopt", made, "--cases", small_set, "--out", tmp_path / "run")
    with mb.open_run(tmp_path / "run").ledger() as ledger:
        reasons = {case: row.reason for (case, _), row in ledger.outputs().items()}
    assert reasons["2"] is None and KINDS[kind] in reasons["1"]


@pytest.mark.parametrize("name", ["run.json", "ledger.sqlite"])
def test_in_place_of_what_a_run_is_known_by(kind, name, tmp_path, small_set):
    run = tmp_path / "run"
    call("edit", small_set, "--editor", "blur", "--out", run)
    (run / name).unlink()
    kind(run / name)
    for words in (["score", run], ["report", run, "--out", tmp_path / "report"]):
        said = call(*words)
        assert said.startswith("medebench: ") and str(run) in said, said


def test_as_metadata_of_cases_and_as_a_plan(kind, tmp_path):
    kind(tmp_path / "cases.jsonl")
    assert "cases.jsonl" in call("cases", "check", tmp_path / "cases.jsonl")
    kind(tmp_path / "plan.yaml")
    assert "plan.yaml" in call("run", tmp_path / "plan.yaml", "--out", tmp_path / "out")
