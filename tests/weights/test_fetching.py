"""Models from the hub, against a real HTTP server that can misbehave."""

from __future__ import annotations

import pytest

from medebench.errors import BusyError, InputError, MedebenchError, NotReadyError
from medebench.weights import Found, find_weights
from medebench.weights.acquisition import get_weights
from tests.fake_hub import COMMIT, closed_port, half, refuse, replace
from tests.weights.conftest import safetensors, write_files
from tests.weights.model_hub import ModelHub

WEIGHTS = "model.safetensors"


@pytest.fixture
def hub(tiny_model, monkeypatch):
    """owner/name, known as tiny-model, with files that nobody needs."""
    files = tiny_model | {"pytorch_model.bin": b"the same, as a pickle", "tf_model.h5": b"again"}
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    with ModelHub(files, large=frozenset({WEIGHTS})).serve() as running:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", running.endpoint)
        template = running.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(
            "huggingface_hub.file_download.HUGGINGFACE_CO_URL_TEMPLATE", template, raising=False
        )
        yield running


@pytest.fixture
def out(machine):
    return machine / "out"


def fails(name="tiny-model", error=MedebenchError, **options):
    with pytest.raises(error) as caught:
        get_weights(name, **options)
    text = str(caught.value)
    assert "\n" not in text and len(text) < 400
    return text


@pytest.mark.parametrize("name", ["tiny-model", "owner/name"])
def test_into_the_hubs_cache(hub, machine, name, capfd):
    seen = []
    found = get_weights(name, progress=lambda done, total: seen.append((done, total)))
    assert found.origin == "hub's cache" and found.path.name == COMMIT
    assert found.identity == f"owner/name@{COMMIT[:12]}" and seen[-1] == (1, 1)
    assert hub.downloads() == {"config.json", "README.md", WEIGHTS}
    assert (found.path / WEIGHTS).read_bytes() == hub.files[WEIGHTS]
    # Though not all of the repository is there, it is found again, and nobody is asked.
    before = len(hub.requests)
    assert get_weights(name) == find_weights(name) == found and len(hub.requests) == before
    assert not (machine / "cache" / "weights").exists() and capfd.readouterr() == ("", "")


def test_into_a_folder(hub, out, machine, monkeypatch):
    found = get_weights("tiny-model", folder=out)
    assert found.path == out / "tiny-model"
    names = {one.name for one in found.path.rglob("*")}
    assert names == {"config.json", "README.md", WEIGHTS}
    assert [one.name for one in out.iterdir()] == ["tiny-model"]
    before = len(hub.requests)
    assert get_weights("tiny-model", folder=out) == found and len(hub.requests) == before
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(out))
    assert isinstance(find_weights("owner/name"), Found)


def test_a_model_that_nobody_knows(hub, out):
    hub.repo = "some/model"
    assert get_weights("some/model", folder=out).path == out / "some--model"


@pytest.mark.parametrize("where", ["cache", "folder"])
def test_what_broke_off_is_continued(hub, out, where, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between the hub's own tries
    options = {"folder": out} if where == "folder" else {}
    hub.files[WEIGHTS] = safetensors(100_000)
    hub.behaviours[WEIGHTS] = lambda answer: half(answer) if answer.body else None
    said = fails(**options)
    assert "could not be downloaded" in said or "was not downloaded" in said or "damaged" in said
    assert not isinstance(find_weights("tiny-model"), Found)
    assert not (out / "tiny-model").exists()
    del hub.behaviours[WEIGHTS]
    found = get_weights("tiny-model", **options)
    assert (found.path / WEIGHTS).read_bytes() == hub.files[WEIGHTS]
    if where == "folder":
        assert [one.name for one in out.iterdir()] == ["tiny-model"]


@pytest.mark.parametrize("where", ["cache", "folder"])
def test_another_content_than_the_hub_states(hub, out, where):
    """Of the right length, and a whole file by its looks."""
    options = {"folder": out} if where == "folder" else {}
    wrong = hub.files[WEIGHTS][:-1] + b"\1"
    hub.behaviours[f"resolve/{COMMIT}/{WEIGHTS}"] = replace(wrong)
    assert f"{WEIGHTS} arrived damaged (wrong checksum)" in fails(**options)
    assert not isinstance(find_weights("tiny-model"), Found) and not (out / "tiny-model").exists()
    hub.behaviours.clear()
    found = get_weights("tiny-model", **options)
    assert (found.path / WEIGHTS).read_bytes() == hub.files[WEIGHTS]


def test_what_is_damaged_in_a_folder_is_put_right(hub, out):
    write_files(out / "tiny-model", {"config.json": b"{}", WEIGHTS: b"cut"})
    found = get_weights("tiny-model", folder=out)
    assert (found.path / WEIGHTS).read_bytes() == hub.files[WEIGHTS]


def test_what_broke_off_in_the_cache_is_finished(hub, into_cache):
    snapshot = into_cache({"config.json": b"{}"}, "owner/name")
    assert not isinstance(find_weights("tiny-model"), Found)
    assert get_weights("tiny-model").path == snapshot
    assert hub.downloads() == {"README.md", WEIGHTS}


def test_the_hub_says_no(hub, out):
    hub.behaviours["/owner/name"] = refuse(404, X_Error_Code="RepoNotFound")
    assert "not found on the hub" in fails(error=InputError, folder=out)
    hub.behaviours["/owner/name"] = refuse(403, X_Error_Code="GatedRepo")
    assert "access must be requested" in fails(error=NotReadyError, folder=out)
    hub.behaviours["/owner/name"] = refuse(500)
    said = fails(folder=out)
    assert "could not be downloaded from the hub (" in said
    assert find_weights("tiny-model") and not (out / "tiny-model").exists()


def test_no_connection(hub, monkeypatch, out):
    nowhere = f"http://127.0.0.1:{closed_port()}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", nowhere)
    assert "could not be downloaded from the hub (ConnectError" in fails(folder=out)


def test_offline_is_offline(hub, monkeypatch, out):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE is set" in fails(error=InputError, folder=out)
    assert "HF_HUB_OFFLINE is set" in fails(error=InputError)
    assert hub.requests == []


def test_two_at_once_in_one_folder(hub, out):
    from filelock import FileLock

    out.mkdir()
    with FileLock(out / ".tiny-model.partial.lock"):
        assert "another medebench" in fails(error=BusyError, folder=out)
    assert hub.requests == []


def test_a_folder_that_was_carried_here(tiny_model, machine, out, no_network):
    usb = write_files(machine / "usb" / "tiny-model", tiny_model | {".cache/notes": b"x"})
    for number, source in enumerate((usb, usb.parent)):
        found = get_weights("tiny-model", source=source, folder=out / str(number))
        assert {one.name for one in found.path.rglob("*")} == set(tiny_model)
    (usb / WEIGHTS).unlink()
    said = fails(error=InputError, source=usb, folder=out / "3")
    assert "model.safetensors or pytorch_model.bin is missing; copy the model again" in said
    said = fails(error=InputError, source=usb / "config.json", folder=out / "3")
    assert "is a folder; pass the folder" in said
    assert no_network == [] and not (out / "3").exists()


def test_a_repository_without_anything_usable(hub, out):
    hub.files = {"tf_model.h5": b"x", ".gitattributes": b"y"}
    assert "no usable files" in fails(error=InputError, folder=out)


def test_a_repository_that_lacks_what_is_needed(hub, out):
    del hub.files["config.json"]
    said = fails(folder=out)
    assert "cannot be used" in said and "config.json is missing" in said
