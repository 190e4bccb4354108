"""Fetching MedGEN-Bench: which files, how much, and large ones that go on where they broke off."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from medebench.cases import hub_sets as hub_module
from medebench.cases import load_cases
from medebench.cases.hub_sets import get_cases
from medebench.cli import app
from medebench.errors import InputError, MedebenchError
from tests.cases.medgen_sets import records, write_canonical, write_parquet
from tests.fake_hub import FakeHub, half, refuse, replace
from tests.patience import PATIENCE


def _files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Both layouts in one repository, beside things that nobody asked for."""
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    made = records(1, metadata=False)
    files = _files(write_canonical(tmp_path / "canonical", made))
    files |= _files(write_parquet(tmp_path / "parquet", made))
    files |= {"README.md": b"# MedGEN", "data/other/x.parquet": b"PAR1", "scripts/run.py": b"run"}
    monkeypatch.setattr(hub_module, "PAUSES", (0.01, 0.01))
    for name in ("REACH_TIMEOUT", "LIST_TIMEOUT", "FILE_TIMEOUT"):
        monkeypatch.setattr(hub_module, name, PATIENCE)
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    shards = frozenset(name for name in files if name.endswith(".parquet"))
    with FakeHub(files, "Jack04810/MedGEN-Bench", lfs=shards).serve() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.endpoint)
        yield running


@pytest.fixture
def out(tmp_path):
    return tmp_path / "sets" / "MedGEN"


def test_the_shards_are_fetched_where_there_are_some(hub, out):
    said = []
    cases = get_cases("medgen", out, tell=said.append)
    assert len(cases) == 16 and cases.task == "medgen" and not cases.problems
    expected = {name for name in hub.files if name.startswith("parquet/")} | {"README.md"}
    assert set(hub.downloads()) == expected
    size = sum(len(hub.files[name]) for name in expected)
    assert len(said) == 1 and f"7 files, {-(-size // 1000)} kB" in said[0]
    hub.requests.clear()
    assert get_cases("medgen", out).fingerprint == cases.fingerprint
    assert not hub.requests


def test_the_other_layout_is_the_same_set(hub, out):
    cases = get_cases("medgen", out, layout="jsonl")
    assert not [name for name in hub.downloads() if name.endswith((".parquet", ".py"))]
    assert "manifest.json" in hub.downloads()
    assert cases.fingerprint == get_cases("medgen", out.with_name("other")).fingerprint


@pytest.mark.parametrize("layout", ["jsonl", "parquet"])
def test_some_formats_alone(hub, out, layout):
    cases = get_cases("medgen", out, parts=["VQA", "image_editing"], layout=layout)
    assert {case.group("format") for case in cases} == {"vqa", "editing"} and len(cases) == 10
    assert not [name for name in hub.downloads() if "eneration/" in name and "parquet/" in name]
    source = json.loads((out / "medebench-source.json").read_text())
    assert source["parts"] == ["vqa", "editing"] and source["layout"] == layout
    # Another choice is another set.
    with pytest.raises(InputError, match="not empty"):
        get_cases("medgen", out, layout=layout)
    assert len(get_cases("medgen", out, parts=["editing", "vqa"], layout=layout)) == 10


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"parts": ["video"]}, "part 'video': no format of MedGEN-Bench"),
        ({"layout": "zip"}, "layout 'zip': expected parquet or jsonl"),
    ],
)
def test_a_choice_that_is_none(hub, out, options, words):
    with pytest.raises(InputError, match=words):
        get_cases("medgen", out, **options)
    assert not hub.requests


def test_a_repository_without_the_layout(hub, out):
    hub.files = {name: body for name, body in hub.files.items() if not name.endswith(".parquet")}
    with pytest.raises(InputError, match="in that choice"):
        get_cases("medgen", out, layout="parquet")
    assert len(get_cases("medgen", out)) == 16


def test_a_large_file_goes_on_where_it_broke_off(hub, out, monkeypatch):
    monkeypatch.setattr(hub_module, "LARGE", 1000)
    hub.on("train-00000-of-00002", half, times=3)
    cases = get_cases("medgen", out, parts=["vqa"])
    assert len(cases) == 4
    name = "parquet/vqa/train-00000-of-00002.parquet"
    assert (out / name).read_bytes() == hub.files[name]
    assert hub.downloads().count(name) >= 2
    assert not list(out.rglob("*.part"))


def test_a_large_file_is_kept_over_an_interruption(hub, out, monkeypatch):
    monkeypatch.setattr(hub_module, "LARGE", 1000)
    monkeypatch.setattr(hub_module, "WORKERS", 1)
    name = "parquet/vqa/train-00000-of-00002.parquet"
    hub.on(name, half, times=1)
    hub.on(name, refuse(404), times=1)
    with pytest.raises(MedebenchError, match="run again"):
        get_cases("medgen", out, parts=["vqa"])
    begun = list(out.parent.rglob(".train-00000*.part"))
    assert len(begun) == 1 and 0 < begun[0].stat().st_size < len(hub.files[name])
    sent = begun[0].stat().st_size
    hub.requests.clear()
    assert len(get_cases("medgen", out, parts=["vqa"])) == 4
    asked = [headers for path, headers in hub.requests if path.endswith(name)]
    assert [one.get("range") for one in asked] == [f"bytes={sent}-"]


def test_a_server_that_cannot_go_on_begins_again(hub, out, monkeypatch):
    monkeypatch.setattr(hub_module, "LARGE", 1000)
    hub.ranges = False
    hub.on("train-00000-of-00002", half, times=1)
    assert len(get_cases("medgen", out, parts=["vqa"])) == 4


def test_a_large_file_with_other_bytes_is_refused(hub, out, monkeypatch):
    monkeypatch.setattr(hub_module, "LARGE", 1000)
    name = "parquet/vqa/train-00000-of-00002.parquet"
    for body in (hub.files[name][:-1] + b"?", hub.files[name] + b"more" * 100_000):
        hub.rules.clear()
        hub.on(name, replace(body), times=1)
        cases = None
        try:
            cases = get_cases("medgen", out, parts=["vqa"])
        except MedebenchError as error:
            assert "came damaged" in str(error)
        # What came too much is cut off; what is left must still be the file.
        assert cases is None or (out / name).read_bytes() == hub.files[name]
    assert len(get_cases("medgen", out, parts=["vqa"])) == 4


def test_more_than_fits_on_the_disk_is_not_begun(hub, out, monkeypatch):
    import shutil
    from collections import namedtuple

    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 9, 1000))
    with pytest.raises(MedebenchError, match=r"are needed and 1 kB are free; free some space"):
        get_cases("medgen", out)
    assert not hub.downloads()


def test_the_command_says_how_much_it_is(hub, out):
    done = CliRunner().invoke(
        app, ["cases", "get", "medgen", "--parts", "vqa", "--out", str(out), "--json"]
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["cases"] == 4
    assert "files, " in done.stderr and "MedGEN-Bench" in done.stderr
    assert len(load_cases(out)) == 4
    wrong = CliRunner().invoke(app, ["cases", "get", "medgen", "--parts", "x", "--out", str(out)])
    assert wrong.exit_code == 2 and "no format of MedGEN-Bench" in wrong.stderr
