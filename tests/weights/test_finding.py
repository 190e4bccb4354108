"""Where weights are looked for, in which order, and what is said when they are not whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from medebench.weights import KNOWN, Absent, Found, find_weights
from tests.weights.conftest import COMMIT, CONTENT, age, safetensors, write_files


def problem(name: str | Path) -> str:
    found = find_weights(str(name))
    assert isinstance(found, Absent), found
    assert "\n" not in found.problem and found.problem.startswith(f"{name}: ")
    return found.problem


def found(name: str | Path) -> Found:
    weights = find_weights(str(name))
    assert isinstance(weights, Found), weights
    return weights


@pytest.fixture
def named(machine, monkeypatch):
    """The folder that the user's variable names."""
    folder = machine / "named"
    folder.mkdir()
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(folder))
    return folder


@pytest.fixture
def own(machine):
    folder = machine / "cache" / "weights"
    folder.mkdir(parents=True)
    return folder


def test_nothing_is_here_and_nobody_is_asked(no_network):
    for name, known in KNOWN.items():
        absent = find_weights(name)
        assert isinstance(absent, Absent) and "not on this machine" in absent.problem
        wanted = known.by_hand or f"get them with 'medebench weights get {name}'"
        assert wanted in absent.problem
        assert absent.downloadable == (known.hub is not None)
    assert problem("owner/name").endswith("get them with 'medebench weights get owner/name'")
    assert no_network == []


def test_a_file_is_looked_for_in_order(registry, named, own):
    for folder, origin in ((own, "medebench's folder"), (named, "$MEDEBENCH_WEIGHTS")):
        (folder / "tiny.bin").write_bytes(CONTENT)
        weights = found("tiny")
        assert weights.path == folder / "tiny.bin" and weights.origin == origin
    given = named.parent / "mine.bin"
    given.write_bytes(b"another version")
    assert found(given).path == given and found(given).origin == "given path"


def test_a_model_is_looked_for_in_order(tiny_model, named, own, into_cache):
    snapshot = into_cache(tiny_model, "owner/name")
    for name in ("tiny-model", "owner/name"):
        assert found(name).path == snapshot and found(name).origin == "hub's cache"
        assert found(name).identity == f"owner/name@{COMMIT[:12]}"
    for folder, origin in ((own, "medebench's folder"), (named, "$MEDEBENCH_WEIGHTS")):
        write_files(folder / "tiny-model", tiny_model)
        for name in ("tiny-model", "owner/name"):
            assert found(name).path == folder / "tiny-model" and found(name).origin == origin


def test_a_hub_id_nobody_knows_has_a_place_in_folders_too(named, into_cache):
    files = {"config.json": b"{}", "pytorch_model.bin": b"x"}
    snapshot = into_cache(files, "some/model")
    assert found("some/model").path == snapshot
    write_files(named / "some--model", files)
    assert found("some/model").path == named / "some--model"


def test_a_former_name_on_the_hub_counts(tiny_model, into_cache):
    snapshot = into_cache(tiny_model, "before/name")
    assert found("tiny-model").path == snapshot
    # The same commit under its new name is the same model.
    assert found("tiny-model").identity == f"owner/name@{COMMIT[:12]}"


def test_a_known_name_is_no_path(registry, machine, monkeypatch):
    monkeypatch.chdir(machine)
    Path("tiny").write_bytes(b"x")
    assert "not on this machine" in problem("tiny")
    assert found("./tiny").path == machine / "tiny"


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT[:-1] + b"x", b""])
def test_a_wrong_checksum_is_told_and_not_passed_over(registry, named, own, content):
    (own / "tiny.bin").write_bytes(CONTENT)
    (named / "tiny.bin").write_bytes(content)
    said = problem("tiny")
    assert f"{named / 'tiny.bin'} is damaged or another version" in said
    assert said.endswith(f"'medebench weights get tiny --folder {named}'")
    (named / "tiny.bin").unlink()
    (own / "tiny.bin").write_bytes(content)
    assert problem("tiny").endswith("replace it with 'medebench weights get tiny'")


def test_a_folder_that_was_named_and_is_not_there_is_told(machine, monkeypatch, registry):
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(machine / "typo"))
    for name in ("tiny", "clip-vit-l14", "owner/name"):
        assert "$MEDEBENCH_WEIGHTS names" in problem(name) and "not a folder" in problem(name)
    (machine / "mine.bin").write_bytes(b"x")
    assert found(machine / "mine.bin").origin == "given path"


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("config.json", "config.json is missing in the hub's cache"),
        ("model.safetensors", "model.safetensors or pytorch_model.bin is missing"),
    ],
)
def test_a_download_that_broke_off_is_told(tiny_model, into_cache, no_network, missing, words):
    snapshot = into_cache(tiny_model, "owner/name")
    (snapshot / missing).unlink()
    assert words in problem("tiny-model")
    assert "finish the download with 'medebench weights get tiny-model'" in problem("tiny-model")
    (snapshot / missing).symlink_to("../../blobs/nowhere")
    assert f"{missing} is missing in the hub's cache" in problem("tiny-model")
    assert no_network == []


def test_weights_that_are_cut_off_are_told(tiny_model, named):
    folder = write_files(named / "tiny-model", tiny_model)
    whole = (folder / "model.safetensors").read_bytes()
    for content, words in ((whole[:-1], "cut off"), (whole[:20], "damaged"), (b"", "empty")):
        (folder / "model.safetensors").write_bytes(content)
        said = problem("tiny-model")
        assert f"model.safetensors is {words} in {folder}" in said and f"--folder {named}" in said


def test_pieces_are_all_needed(into_cache):
    index = b'{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}'
    files = {"model.safetensors.index.json": index, "model-1.safetensors": safetensors()}
    # The index of another format, of which nothing was fetched, asks for nothing.
    files["pytorch_model.bin.index.json"] = b'{"weight_map": {"a": "pytorch_model-1.bin"}}'
    snapshot = into_cache(files, "some/model")
    assert "model-2.safetensors is missing in the hub's cache" in problem("some/model")
    (snapshot / "model-2.safetensors").write_bytes(safetensors())
    assert found("some/model").path == snapshot
    (snapshot / "model.safetensors.index.json").write_text("{")
    assert "model.safetensors is missing" in problem("some/model")


def test_a_pipeline_needs_its_parts(into_cache):
    index = b'{"_class_name": "P", "unet": ["diffusers", "U"], "extra": [null, null]}'
    snapshot = into_cache({"model_index.json": index, "x.safetensors": safetensors()}, "a/pipeline")
    assert "the part unet is missing in the hub's cache" in problem("a/pipeline")
    write_files(snapshot / "unet", {"diffusion_pytorch_model.safetensors": safetensors()})
    assert found("a/pipeline").path == snapshot


def test_a_folder_of_ones_own_must_hold_weights(machine):
    folder = write_files(machine / "model", {"config.json": b"{}"})
    assert "there are no weights" in problem(folder)
    (folder / "model.safetensors").write_bytes(safetensors()[:-4])
    assert "model.safetensors is cut off; copy the model again" in problem(folder)
    (folder / "model.safetensors").write_bytes(safetensors())
    assert found(folder).path == folder
    (machine / "empty.pt").touch()
    assert "empty.pt is empty" in problem(machine / "empty.pt")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lpips-alx", "did you mean lpips-alex?"),
        ("no/such/file.pt", "no such file or folder"),
        ("./clip", "'medebench weights list' shows the names"),
        ("../x", "no such file or folder"),
    ],
)
def test_names_that_mean_nothing(name, words):
    assert words in problem(name)


@pytest.mark.parametrize("name", ["", "  "])
def test_no_name_is_not_the_current_folder(name):
    assert isinstance(find_weights(name), Absent)


def test_other_peoples_copy_of_a_cache_is_used_as_it_is(tiny_model, into_cache):
    """A tokenizer alone, a file more: what counts is what is needed."""
    snapshot = into_cache(tiny_model | {"more.txt": b"x"}, "owner/name")
    (snapshot / "README.md").unlink()
    assert found("tiny-model").path == snapshot


def test_finding_imports_nothing_heavy(machine, real_weights):
    path = real_weights("inception.pt")
    code = (
        "import sys\nfrom medebench.weights import find_weights\n"
        f"found = find_weights({str(path)!r})\nassert found.identity\n"
        "print(sorted({'torch', 'numpy', 'transformers', 'requests'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", [one.name for one in KNOWN.values() if one.package])
def test_the_real_files_are_the_known_ones(name, real_weights, monkeypatch):
    known = KNOWN[name]
    path = real_weights(known.kept_as)
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(path.parent))
    assert found(name).path == path and path.stat().st_size == known.size
    assert found(name).identity == f"sha256 {known.package.sha256[:16]}"
    assert found(path).identity == found(name).identity


def test_a_file_that_was_remembered_and_then_changed_is_seen(registry, own):
    path = own / "tiny.bin"
    path.write_bytes(CONTENT)
    age(path)
    assert found("tiny")
    path.write_bytes(CONTENT[::-1])
    assert "damaged or another version" in problem("tiny")
