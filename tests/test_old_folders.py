"""Folders that older trees left half done: the present one does the rest, and only the rest."""

from __future__ import annotations

import importlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from tests.conftest import REPOSITORY, load_tool

DATA = REPOSITORY / "tests" / "data" / "old_folders"
#: Scores whose definition never changed: they are kept whatever tree wrote them.
PIXELS = ("cp", "cp_published", "ssim", "psnr", "change_inside", "change_outside")

#: The folders were made on another machine, whose processor may round the last digit otherwise.
ROUNDING = 1e-9


@pytest.fixture
def thaw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A copy of an old folder, in which the test then stands."""

    def copied(name: str) -> Path:
        folder = tmp_path / name
        shutil.copytree(DATA / name, folder)
        for path in folder.rglob("run.json"):
            path.write_text(path.read_text("utf-8").replace("@here@", str(folder)), "utf-8")
        monkeypatch.chdir(folder)
        return folder

    return copied


@pytest.fixture
def trees(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools"))
    return lambda name: importlib.import_module(f"trees.{name}")


def call(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.stdout


def finished(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "finished.json").read_text("utf-8"))
    return found


def pictures(run: Path) -> dict[str, tuple[bytes, int]]:
    return {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in (run / "edits").glob("*.png")
    }


def values(run: Path) -> dict[tuple[str, int, str], float | None]:
    rows = mb.open_run(run).frame().iter_rows(named=True)
    return {
        (row["case"], row["k"], row["metric"]): row["value"]
        for row in rows
        if row["reason"] != "not made yet"
    }


@pytest.mark.parametrize("name", ["run", "run_ledger_1"])
def test_a_run_is_continued(name, thaw, trees):
    folder = thaw(name)
    before, made = values(folder / "run"), pictures(folder / "run")
    rows = trees("ledger_diff").read_ledgers(folder)
    assert {case for case, _, _ in before} == {"1", "2", "3"}
    assert set(made) == {"1_0.png", "3_0.png", "4_0.png"}
    edit = ("edit", "cases/cases.jsonl", "--editor", "editor.py:Half", "--out", "run")
    (folder / "upto").write_text("6")
    call(*edit)
    call("score", "run", "--judge", "offline")
    call("ground", "run")
    now = pictures(folder / "run")
    assert set(now) - set(made) == {"5_0.png", "6_0.png"}
    assert {picture: now[picture] for picture in made} == made
    after = values(folder / "run")
    known = {(case, k, metric): value for case, k, metric, value in finished(folder)["scores"]}
    kept = set(PIXELS) if name == "run_ledger_1" else {metric for _, _, metric in known}
    expected = {key: v for key, v in known.items() if key[2] in kept}
    present = {key: v for key, v in after.items() if key[2] in kept}
    assert present.keys() == expected.keys()
    for key, value in expected.items():
        near = None if value is None else pytest.approx(value, rel=ROUNDING)
        assert present[key] == near, key
    assert {key: after[key] for key in before if key[2] in kept} == {
        key: v for key, v in before.items() if key[2] in kept
    }
    # The time it took is that of the old tree: it was not computed again.
    again = trees("ledger_diff").read_ledgers(folder)
    old = [key for key in rows if key.table == "outputs" or key.key[-1] in PIXELS]
    assert len(old) == 4 + 3 * len(PIXELS)
    for key in old:
        for column in ("value", "reason", "seconds", "sha256"):
            assert again[key].get(column) == rows[key].get(column), key
    call("report", "run", "--out", "report")
    table = (folder / "report" / "table.csv").read_text("utf-8")
    assert "scored 5 of 6" in table


@pytest.mark.parametrize("name", ["run", "run_ledger_1"])
def test_a_run_that_nobody_continues_can_be_looked_at(name, thaw):
    folder = thaw(name)
    call("report", "run", "--out", "report")
    call("export", "run", "--out", "scores.csv")
    lines = (folder / "scores.csv").read_text("utf-8").splitlines()
    assert sum(",ssim,0." in line for line in lines) == 2
    assert "scored 2 of" in (folder / "report" / "table.csv").read_text("utf-8")


def test_a_study_goes_on(thaw, trees):
    from medebench.study.server.answer_store import open_store
    from medebench.study.server.stored_answers import Save, Saved

    folder = thaw("study")
    differences = _compared_with(finished(folder)["half"], trees)
    call("study", "results", "study", "--out", "half")
    assert differences(folder / "half") == []
    study = mb.open_study(folder / "study")
    bob = study.design.annotator("Bob")
    assert bob is not None
    ranks = load_tool("old_folders").ranks
    with open_store(study) as store:
        assert store.states("Bob") == {0: "done", 1: "done", 2: "done", 3: "skipped", 4: "draft"}
        for place in range(3, len(bob.tasks)):
            given = ranks("Bob", place, bob.tasks[place].order, study.design.dimensions)
            base = 1 if place < 5 else 0
            save = Save("Bob", place, base, f"new-{place}", "done", given, seconds=10.0 + place)
            assert isinstance(store.save(save), Saved)
        assert [one.state for one in store.versions("Bob", 3)] == ["skipped", "done"]
        assert store.versions("Ann", 0)[0].saved_at == "2026-01-01T00:00:00+00:00"
    call("study", "results", "study", "--out", "whole")
    assert _compared_with(finished(folder)["whole"], trees)(folder / "whole") == []
    assert differences(folder / "whole") != [], "Bob's new answers count"
    assert "Ann" in call("study", "invite", "study")


def _compared_with(known: dict[str, Any], trees) -> Callable[[Path], list[str]]:
    def differences(folder: Path) -> list[str]:
        found = trees("differences").Found(rounding=ROUNDING)
        for name, rows in known.items():
            trees("table_diff").compare_csv(name, rows, read(folder / name), found)
        assert found.checked["numbers"] > 50
        return list(found.differences)

    read = trees("table_diff").read_table
    return differences


def test_a_stress_test_goes_on(thaw, trees, monkeypatch):
    folder = thaw("stress")
    made = pictures(folder / "test" / "run")
    assert set(made) == {"1_0.png", "3_0.png"}
    assert not (folder / "test" / "report").exists()
    monkeypatch.setenv("ASKED", str(folder / "asked"))
    (folder / "upto").write_text("6")
    call("stress", "plan.yaml")
    now = pictures(folder / "test" / "run")
    assert set(now) - set(made) == {"4_0.png", "5_0.png"}
    assert {picture: now[picture] for picture in made} == made
    known = finished(folder)
    assert _compared_with(known["tables"], trees)(folder / "test" / "report") == []
    rows = trees("ledger_diff").read_ledgers(folder / "test")
    hashes = [[*key.key, row["sha256"]] for key, row in rows.items() if key.table == "outputs"]
    assert sorted(hashes) == known["outputs"]
    # The first picture to see whether it works, one of the six to see whether it says the same as
    # then, and the four edits.
    assert len((folder / "asked").read_text()) == 1 + 1 + 4
