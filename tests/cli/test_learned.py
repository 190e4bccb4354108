"""`score` with learned metrics from the command line, with real weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import medebench as mb
from tests.patience import PATIENCE

METRICS = "cp,lpips_alex,lpips_alex_roi,fid_inception,kid_inception"
#: Runs the command line in a process in which torch cannot be imported.
WITHOUT_TORCH = """
import builtins, sys
real = builtins.__import__
def refuse(name, *rest, **more):
    if name.split(".")[0] == "torch":
        raise AssertionError("torch was imported")
    return real(name, *rest, **more)
builtins.__import__ = refuse
from medebench.cli import main
sys.exit(main())
"""


@pytest.fixture
def medebench(tmp_path, real_weights):
    environment = os.environ | {
        "MEDEBENCH_CACHE": str(tmp_path / "cache"),
        "MEDEBENCH_WEIGHTS": str(real_weights("inception.pt").parent),
        "OMP_NUM_THREADS": "1",
    }

    def call(*words, torch=True, **changes):
        start = ["-m", "medebench"] if torch else ["-c", WITHOUT_TORCH]
        return subprocess.run(
            [sys.executable, *start, *map(str, words)],
            capture_output=True,
            text=True,
            env=environment | changes,
            timeout=PATIENCE,
        )

    return call


def test_scored_once_and_never_again(medebench, make_set, tmp_path):
    folder = make_set(10)
    run = mb.edit(mb.load_cases(folder), "blur", tmp_path / "run")
    done = medebench("score", run.path, "--metrics", METRICS, "--json")
    assert done.returncode == 0, done.stderr
    (facts,) = json.loads(done.stdout)["runs"]
    assert facts["scored"] == facts["of"] == 30
    sets = {row["metric"]: row for row in facts["sets"] if row["part"] == ""}
    assert set(sets) == {"fid_inception", "kid_inception"}
    assert sets["fid_inception"]["n"] == 10 and sets["fid_inception"]["value"] > 1
    with run.ledger() as ledger:
        before = {(r.case_id, r.metric): r.value for r in ledger.scores()}

    # Not in this run, and not in another one with the same pictures either.
    again = mb.adopt(run.edits, mb.load_cases(folder), tmp_path / "again")
    for path in (run.path, again.path):
        done = medebench("score", path, "--metrics", METRICS, torch=False)
        assert done.returncode == 0, done.stderr
    with again.ledger() as ledger:
        assert {(r.case_id, r.metric): r.value for r in ledger.scores()} == before
        values = {row.metric: row.value for row in ledger.sets() if not row.part}
    assert values == {name: row["value"] for name, row in sets.items()}


def test_the_controls_are_where_they_must_be(medebench, make_set, tmp_path):
    cases = mb.load_cases(make_set(10))
    runs = [mb.edit(cases, name, tmp_path / name) for name in ("reference", "identity")]
    done = medebench("score", *(run.path for run in runs), "--metrics", METRICS)
    assert done.returncode == 0, done.stderr
    found = {}
    for run in runs:
        frame, sets = run.frame(), run.sets().filter(part="")
        found[run.name] = {
            name: frame.filter(metric=name)["value"].to_list() for name in frame["metric"].unique()
        } | dict(sets.select("metric", "value").iter_rows())
    assert found["reference"]["lpips_alex"] == [0.0] * 10
    assert found["reference"]["lpips_alex_roi"] == [0.0] * 10
    assert found["reference"]["fid_inception"] == pytest.approx(0, abs=1e-6)
    assert found["reference"]["kid_inception"] == 0
    assert min(found["identity"]["lpips_alex"]) > 0.01 and found["identity"]["fid_inception"] > 1


def test_what_is_not_ready_is_said_before_any_work(medebench, make_set, tmp_path):
    run = mb.edit(mb.load_cases(make_set(2)), "identity", tmp_path / "run")
    nowhere = str(tmp_path / "nowhere")
    (tmp_path / "nowhere").mkdir()
    done = medebench("score", run.path, "--metrics", "cp,lpips_vgg", MEDEBENCH_WEIGHTS=nowhere)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert "metric 'lpips_vgg'" in line and "medebench weights get lpips-vgg" in line
    with run.ledger() as ledger:
        assert list(ledger.scores()) == []


def test_the_list_says_what_is_ready(medebench):
    done = medebench("metrics", "--json")
    ready = {row["metric"]: row["ready"] for row in json.loads(done.stdout)}
    assert ready["cp"] == ready["lpips_alex"] == "yes"
    assert "weights get clip-vit-l14" in ready["isim"]


@pytest.mark.parametrize("metric", ["lpips_alex", "fid_inception"])
def test_a_damaged_file_of_ones_own_is_told_before_any_work(metric, medebench, make_set, tmp_path):
    run = mb.edit(mb.load_cases(make_set(2)), "identity", tmp_path / "run")
    file = tmp_path / "mine.pt"
    file.write_bytes(b"PK\x03\x04 cut off")
    done = medebench("score", run.path, "--metrics", f"cp,{metric}:{file}")
    assert done.returncode == 2 and str(file) in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    with run.ledger() as ledger:
        assert list(ledger.scores()) == []


@pytest.mark.parametrize("words", [("--device", "tpu"), ("--metrics", "lpips_alex:nowhere.ckpt")])
def test_wrong_calls(words, medebench, make_set, tmp_path):
    run = mb.edit(mb.load_cases(make_set(2)), "identity", tmp_path / "run")
    done = medebench("score", run.path, *words)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1, done.stderr
