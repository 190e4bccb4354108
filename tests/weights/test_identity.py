"""What tells weights apart, and that a file is hashed once."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medebench.weights import Found, find_weights, identity_hash
from medebench.weights.identity_hash import content_identity, sha256_of
from tests.weights.conftest import age, safetensors, write_files


@pytest.fixture
def hashed(monkeypatch):
    """The files that were read to be hashed."""
    read: list[str] = []
    honest = identity_hash.hash_file

    def spy(path: Path) -> str:
        read.append(path.name)
        return honest(path)

    monkeypatch.setattr(identity_hash, "hash_file", spy)
    return read


def forget(monkeypatch):
    """As in a new process."""
    monkeypatch.setattr(identity_hash, "_known", {})


def test_it_is_the_sha256(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(b"abc" * 10**6)
    assert sha256_of(path) == hashlib.sha256(b"abc" * 10**6).hexdigest()


def test_a_file_is_read_once_even_by_other_processes(tmp_path, hashed, monkeypatch):
    path = tmp_path / "x.bin"
    path.write_bytes(b"one")
    age(path)
    first = sha256_of(path)
    assert sha256_of(path) == first and hashed == ["x.bin"]
    forget(monkeypatch)
    assert sha256_of(path) == first and hashed == ["x.bin"]
    path.write_bytes(b"two")
    age(path, 500)
    assert sha256_of(path) == hashlib.sha256(b"two").hexdigest()


@pytest.mark.parametrize("how", ["rewritten", "replaced"])
def test_other_content_of_the_same_size_and_time_is_told(tmp_path, monkeypatch, how):
    path = tmp_path / "x.bin"
    path.write_bytes(b"one")
    age(path)
    sha256_of(path)
    times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    target = path if how == "rewritten" else tmp_path / "y.bin"
    target.write_bytes(b"two")
    os.utime(target, ns=times)
    target.replace(path)
    assert path.stat().st_mtime_ns == times[1]
    for _ in range(2):
        assert sha256_of(path) == hashlib.sha256(b"two").hexdigest()
        forget(monkeypatch)


def test_a_young_file_is_not_trusted_to_stay(tmp_path, hashed):
    path = tmp_path / "x.bin"
    for content in (b"one", b"two", b"six"):
        path.write_bytes(content)
        assert sha256_of(path) == hashlib.sha256(content).hexdigest()
    assert len(hashed) == 3


@pytest.mark.parametrize(
    "damage",
    ["", "[]", '{"x": 1}', '{"x": [1, 2]}', '{"x": [1, 2, "3"]}', '{"x": [["1", 2, 3, 4], "5"]}'],
)
def test_a_damaged_memory_is_no_memory(tmp_path, machine, monkeypatch, hashed, damage):
    path = age(Path(write_files(tmp_path, {"x.bin": b"one"}), "x.bin"))
    memory = machine / "cache" / "weight-hashes.json"
    write_files(machine / "cache", {"weight-hashes.json": damage.encode()})
    assert sha256_of(path) == hashlib.sha256(b"one").hexdigest()
    assert list(json.loads(memory.read_text())) == [str(path)]


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "file" / "cache"))
    path = age(Path(write_files(tmp_path, {"x.bin": b"one"}), "x.bin"))
    assert sha256_of(path) == hashlib.sha256(b"one").hexdigest()


def test_models_of_the_same_shape_are_told_apart(tmp_path):
    """As after fine-tuning: same names, same sizes, same headers."""
    first = write_files(tmp_path / "a", {"config.json": b"{}", "model.safetensors": safetensors()})
    tuned = safetensors()[:-1] + b"\1"
    second = write_files(tmp_path / "b", {"config.json": b"{}", "model.safetensors": tuned})
    assert content_identity(first) != content_identity(second)
    (second / "model.safetensors").write_bytes(safetensors())
    assert content_identity(first) == content_identity(second)


def test_notes_and_hidden_files_do_not_count(tmp_path):
    folder = write_files(tmp_path / "a", {"model.safetensors": safetensors()})
    before = content_identity(folder)
    write_files(folder, {"README.md": b"x", "LICENSE.txt": b"y", ".cache/lock": b"z", ".git": b""})
    assert content_identity(folder) == before
    write_files(folder, {"sub/vocab.txt": b"a b"})
    assert content_identity(folder) != before


def test_the_identity_waits_until_it_is_asked_for(tmp_path, hashed):
    folder = write_files(tmp_path / "a", {"model.safetensors": safetensors()})
    found = find_weights(str(folder))
    assert isinstance(found, Found) and hashed == []
    assert found.identity == content_identity(folder) and found.identity == found.identity
    assert set(hashed) == {"model.safetensors"}


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_a_file_of_weights_or_a_reason(tmp_path, content):
    """No header, however odd, breaks the look."""
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    found = find_weights(str(path))
    assert isinstance(found, Found) or "x.safetensors is" in found.problem
