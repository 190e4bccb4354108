"""A folder with a `system.json`, wherever a system can be named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import medebench as mb
from medebench.systems import find_system
from medebench.systems.system_folder import write_system
from medebench.systems.system_list import system_problems


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "soft"
    path.mkdir()
    write_system(path, "blur", {"sigma": 3}, ())
    return path


def test_a_folder_is_the_system_that_it_names(folder, tmp_path):
    run = mb.edit("phantoms:count=1", str(folder), out=tmp_path / "run")
    plain = mb.edit("phantoms:count=1", "blur:sigma=3", out=tmp_path / "plain")
    left, right = (next(one.path.rglob("*.png")).read_bytes() for one in (run, plain))
    assert left == right
    assert (run.info.editor, run.info.settings) == ("soft", {"sigma": 3.0})
    assert run.info.control
    # The folder may move, and the run goes on.
    moved = tmp_path / "elsewhere" / "soft"
    shutil.copytree(folder, moved)
    again = mb.edit("phantoms:count=1", str(moved), out=tmp_path / "run")
    assert len(again.frame()) == len(run.frame())


def test_settings_go_behind_the_path(folder, tmp_path, monkeypatch):
    assert find_system(f"{folder}:sigma=1").settings == {"sigma": 1.0}
    assert find_system(str(folder), {"sigma": 2}).settings == {"sigma": 2.0}
    monkeypatch.chdir(tmp_path)
    assert find_system("soft").name == "soft"
    (tmp_path / "noise").mkdir()
    write_system(tmp_path / "noise", "blur", {"sigma": 3}, ())
    assert "sigma" in find_system("./noise").settings
    assert find_system("noise").settings != find_system("./noise").settings


def test_in_processes_and_in_a_plan(folder, tmp_path):
    run = mb.edit("phantoms:count=2", str(folder), out=tmp_path / "run", executor="processes")
    assert run.frame()["reason"].null_count() == len(run.frame())
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "cases: phantoms:count=1\nout: out\n"
        "systems:\n  - {system: soft, settings: {sigma: 1.5}}\n"
        "metrics: [cp]\n"
    )
    from medebench.plan import run_plan

    done = run_plan(plan)
    assert any("soft" in str(path) for path in (tmp_path / "out").rglob("run.json")), done


def test_inside_another_system(folder):
    chosen = find_system(f"paired:{folder}:sigma=2")
    assert chosen.settings["system"] == {"name": "soft", "settings": {"sigma": 2.0}}


def test_settings_that_are_files_lie_within(tmp_path):
    (tmp_path / "one").mkdir()
    write_system(tmp_path / "one", "diffusers", {"model": "pipeline", "steps": 3}, ("model",))
    found = find_system(str(tmp_path / "one"))
    assert found.system.settings.model == str(tmp_path / "one" / "pipeline")
    assert (found.settings["model"], found.settings["steps"]) == ("pipeline", 3)
    with pytest.raises(mb.InputError, match="model: is the folder's own; leave it out"):
        find_system(f"{tmp_path / 'one'}:model=other")
    (problem,) = system_problems(str(tmp_path / "one"), type(found.system))
    assert "no such folder" in problem and "pipeline" in problem


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"system": "command"}, "runs other programs"),
        ({"system": "evil.py:Evil"}, "runs other programs"),
        ({"system": "refine"}, "has a system inside"),
        ({"system": "no-such"}, "no system 'no-such'"),
        ({"settings": {"sigma": 0.5, "nothing": 1}}, "no setting 'nothing'"),
        ({"settings": {"sigma": "../x"}, "files": ["sigma"]}, "leads out of the folder"),
        ({"settings": {"sigma": "/etc"}, "files": ["sigma"]}, "leads out of the folder"),
        ({"files": ["sigma"]}, "is no setting"),
        ({"settings": 3}, "needs system, settings and files"),
        ({"version": 9}, "of another version"),
    ],
)
def test_a_wrong_folder_is_refused_in_one_line(told, why, folder):
    right: dict[str, Any] = {"version": 1, "system": "blur", "settings": {}, "files": []}
    (folder / "system.json").write_text(json.dumps(right | told))
    with pytest.raises(mb.InputError, match=why) as found:
        find_system(str(folder))
    assert "\n" not in str(found.value)


def test_a_damaged_file_is_named(folder):
    (folder / "system.json").write_text("{")
    with pytest.raises(mb.InputError, match=r"system\.json: cannot be read"):
        find_system(str(folder))


def test_the_command_line_shows_it(folder):
    from typer.testing import CliRunner

    from medebench.cli import app

    done = CliRunner().invoke(app, ["systems", str(folder), "--json"])
    facts = json.loads(done.stdout)
    assert facts["settings"]["sigma"] == 3 and facts["required"] == [] and facts["ready"]
