"""`medebench weights list|get|where`: what is printed, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from medebench.systems import SYSTEMS
from medebench.weights import KNOWN
from tests.cli.test_cli import call
from tests.conftest import REPOSITORY

# The fixtures `machine` (autouse) and `registry` are those of the weights' tests.
from tests.weights.conftest import (  # noqa: F401
    CONTENT,
    machine,
    ran,
    registry,
    write_files,
)


def rows():
    done = call("weights", "list", "--json")
    assert done.exit_code == 0 and done.stderr == ""
    return {row["weights"]: row for row in json.loads(done.stdout)}


def one_line(done, code):
    assert done.exit_code == code and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("medebench: ")
    return line


def test_all_weights_are_listed_and_nobody_is_asked(no_network):
    listed = rows()
    assert list(listed)[: len(KNOWN)] == list(KNOWN)
    for name in ("timbrooks/instruct-pix2pix", "CompVis/stable-diffusion-v1-4"):
        assert listed[name]["hub"] == name and listed[name]["summary"].startswith("editor ")
    editors = {word for row in listed.values() for word in row["summary"].split(", ")}
    assert "editor imagic" in editors and "instruct-diffusion" in editors
    assert set(SYSTEMS.builtin) >= {"imagic", "instruct-diffusion"}
    for row in listed.values():
        assert not row["here"] and row["path"] is None and row["problem"]
    assert no_network == []


def test_what_is_here_is_shown(registry, machine, monkeypatch):  # noqa: F811
    named = write_files(machine / "named", {"tiny.bin": CONTENT, "tiny-wheel.bin": b"damaged"})
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(named))
    listed = rows()
    assert listed["tiny"]["here"] and listed["tiny"]["path"] == str(named / "tiny.bin")
    assert listed["tiny"]["origin"] == "$MEDEBENCH_WEIGHTS"
    assert "damaged or another version" in listed["tiny-wheel"]["problem"]
    lines = call("weights", "list").stdout.splitlines()
    (tiny,) = [line for line in lines if line.split()[:1] == ["tiny"]]
    assert tiny.rstrip().endswith("$MEDEBENCH_WEIGHTS") and "package tiny-weights 1.0" in tiny
    (wheel,) = [line for line in lines if line.split()[:1] == ["tiny-wheel"]]
    assert f"no: {named / 'tiny-wheel.bin'} is damaged or another version" in wheel
    (clip,) = [line for line in lines if line.split()[:1] == ["clip-vit-l14"]]
    assert "1.71 GB" in clip and clip.split()[-1] == "no"


def test_get_and_where(registry, machine):  # noqa: F811
    assert one_line(call("weights", "where", "tiny"), 2) == (
        "medebench: tiny: the weights are not on this machine; "
        "get them with 'medebench weights get tiny'"
    )
    path = machine / "cache" / "weights" / "tiny.bin"
    done = call("weights", "get", "tiny", "tiny-wheel", "tiny")
    assert done.exit_code == 0 and done.stdout == ""
    assert done.stderr.splitlines() == [
        f"tiny: now in {path}",
        f"tiny-wheel: now in {path.with_name('tiny-wheel.bin')}",
    ]
    done = call("weights", "get", "tiny", "--json")
    assert json.loads(done.stdout) == [{"weights": "tiny", "path": str(path), "fetched": False}]
    assert done.stderr == f"tiny: already in {path}\n"
    done = call("weights", "where", "tiny")
    assert done.stdout == f"{path}\n" and done.stderr.startswith("medebench's folder; sha256 ")
    facts = json.loads(call("weights", "where", "tiny", "--json").stdout)
    assert facts["path"] == str(path) and facts["identity"].startswith("sha256 ")
    assert call("weights", "where", str(path)).stderr.startswith("given path; ")


def test_a_folder_and_a_file(registry, machine):  # noqa: F811
    out, archive = machine / "out", registry / "tiny_weights-1.0.tar.gz"
    done = call("weights", "get", "tiny", "--from", str(archive), "--folder", str(out))
    assert done.exit_code == 0 and (out / "tiny.bin").read_bytes() == CONTENT
    archive.write_bytes(b"damaged")
    words = ("weights", "get", "tiny", "--from", str(archive))
    assert "is neither tiny_weights-1.0.tar.gz nor tiny.bin" in one_line(call(*words), 2)


def test_one_that_fails_does_not_stop_the_others(registry, machine):  # noqa: F811
    (registry / "tiny_weights-1.0.tar.gz").unlink()
    done = call("weights", "get", "tiny", "tiny-wheel", "--from", "package", "--json")
    assert done.exit_code == 1
    first, second = json.loads(done.stdout)
    assert first["path"] is None and "pip could not download it" in first["problem"]
    assert second["fetched"] and "pip could not download it" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tiny", "lpips"), "did you mean lpips-"),
        (("tiny", "--from", "no-such.tar.gz"), "--from no-such.tar.gz: no such file or folder"),
        (("tiny", "clip-vit-l14", "--from", "package"), "clip-vit-l14: no package contains it"),
        (("tiny", "--from", "hub"), "not on the hub"),
        (("medclip",), "cannot be downloaded; its authors publish"),
    ],
)
def test_a_wrong_call_fetches_nothing(registry, machine, words, said):  # noqa: F811
    assert said in one_line(call("weights", "get", *words), 2)
    assert not (machine / "cache" / "weights").exists()


def test_as_make_does_with_all_there(real_weights):
    """Quick, and nothing is fetched: pip would fail."""
    names = [one.name for one in KNOWN.values() if one.package]
    folder = {real_weights(KNOWN[name].kept_as).parent for name in names}.pop()
    words = ["weights", "get", *names, "--from", "package", "--folder", str(folder)]
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_PROCESSES, *words], capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stderr.count(": already in ") == len(names), done.stderr


_WITHOUT_PROCESSES = """
import subprocess
subprocess.run = None
from medebench.cli import main
main()
"""


def test_the_docs_name_all_weights():
    text = (REPOSITORY / "docs" / "weights.md").read_text("utf-8")
    table = [line for line in text.splitlines() if line.startswith("| `")]
    assert [line.split("`")[1] for line in table] == list(KNOWN)
    for line, known in zip(table, KNOWN.values(), strict=True):
        assert known.licence in line
        assert not known.hub or f"`{known.hub.id}`" in line
        if known.package:
            assert f"`{known.package.archive}`" in line and f"`{known.kept_as}`" in line
