"""What the tests of weights share: an empty machine, small archives, a way to make known ones."""

from __future__ import annotations

import io
import json
import os
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from medebench.files import sha256
from medebench.weights import KNOWN, Known
from medebench.weights.known_weights import Hub, Package

#: The content of small weights.
CONTENT = bytes(range(256)) * 40
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any weights: the folders that are looked into, all empty."""
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MEDEBENCH_WEIGHTS", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("medebench.weights.identity_hash._known", {})
    return tmp_path


def safetensors(count: int = 100) -> bytes:
    """A whole file of zeros in that format."""
    entry = {"dtype": "F32", "shape": [count], "data_offsets": [0, count * 4]}
    header = json.dumps({"x": entry}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(count * 4)


def tar_archive(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def zip_archive(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


def age(path: Path, seconds: float = 1000.0) -> Path:
    """As if written a while ago: young files are never remembered."""
    os.utime(path, (time.time() - seconds,) * 2)
    return path


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """Appears if the code in the source archive is ever run."""
    return tmp_path / "the-setup-script-ran"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: Path) -> Path:
    """A folder of packages that the user's pip is set up for, and nothing else.

    `tiny` is in a source archive and `tiny-wheel` in a wheel; both are known by these names.
    """
    folder = tmp_path / "registry"
    folder.mkdir()
    setup = f"open({str(ran)!r}, 'w').close()\nfrom setuptools import setup\nsetup()\n"
    base = "tiny_weights-1.0"
    source = tar_archive(
        {
            f"{base}/PKG-INFO": b"Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n",
            f"{base}/setup.py": setup.encode(),
            f"{base}/tiny/data.bin": CONTENT,
        }
    )
    told = "dist-info"
    wheel = zip_archive(
        {
            "tiny/other.bin": CONTENT[::-1],
            f"tiny_wheel-1.0.{told}/METADATA": b"Metadata-Version: 2.1\nName: tiny-wheel\n"
            b"Version: 1.0\n",
            f"tiny_wheel-1.0.{told}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"
            b"Tag: py3-none-any\n",
            f"tiny_wheel-1.0.{told}/RECORD": b"",
        }
    )
    (folder / f"{base}.tar.gz").write_bytes(source)
    (folder / "tiny_wheel-1.0-py3-none-any.whl").write_bytes(wheel)
    name, member = f"{base}.tar.gz", f"{base}/tiny/data.bin"
    know(monkeypatch, "tiny", "tiny.bin", CONTENT, name, source, member)
    name, member = "tiny_wheel-1.0-py3-none-any.whl", "tiny/other.bin"
    know(monkeypatch, "tiny-wheel", "tiny-wheel.bin", CONTENT[::-1], name, wheel, member)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def know(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    kept_as: str,
    content: bytes,
    archive: str,
    packed: bytes,
    member: str,
) -> None:
    package = archive.partition("-")[0].replace("_", "-")
    told = Package(package, "1.0", archive, len(packed), sha256(packed), member, sha256(content))
    known = Known(name, "for tests", "none", len(content), kept_as, package=told)
    monkeypatch.setitem(KNOWN, name, known)


@pytest.fixture
def tiny_model(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The files of a model of the hub that is known as `tiny-model`, owner/name."""
    needs = (("config.json",), ("model.safetensors", "pytorch_model.bin"))
    hub = Hub("owner/name", formerly=("before/name",), needs=needs)
    known = Known("tiny-model", "for tests", "none", 500, "tiny-model", hub=hub)
    monkeypatch.setitem(KNOWN, "tiny-model", known)
    return {"config.json": b"{}", "model.safetensors": safetensors(), "README.md": b"# tiny"}


def write_files(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def into_cache(machine: Path) -> Callable[[dict[str, bytes], str], Path]:
    """Put files where the hub's own tools would, and give the snapshot's folder."""

    def put(files: dict[str, bytes], name: str) -> Path:
        repository = machine / "hub" / f"models--{name.replace('/', '--')}"
        write_files(repository, {"refs/main": COMMIT.encode()})
        return write_files(repository / "snapshots" / COMMIT, files)

    return put
