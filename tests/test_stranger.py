"""A package that nobody here knows brings all that `phantoms/` brings, by the same entry points."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from medebench.phantoms import shipped
from tests.conftest import REPOSITORY

pytest.importorskip("diffusers")

PACKAGE = """
from pathlib import Path

from medebench.cases.drawn_set import DrawnSet
from medebench.encoders.encoder_lookup import EncoderKind
from medebench.stresstest.recipe import Published, PublishedRow, Shift
from medebench.systems.diffusion.diffusion_editor import DiffusionEditor
from medebench.systems.diffusion.diffusion_settings import DiffusionSettings

from tests.conftest import write_set
from tests.stresstest.own_data import write_data, write_plan, write_table

PIPELINE, EYES = Path(__file__).with_name("pipeline"), Path(__file__).with_name("eyes")


def draw(folder, count, seed, *, progress, workers):
    write_set(folder, count, url=str(seed))
    progress(count)


class Painter(DiffusionEditor):
    summary, needs = "paints", "nothing"

    class Settings(DiffusionSettings):
        model: str = "builtin:painter"
        steps: int = 1
        size: int = 64
        attention: bool = False


class Drift:
    editor = "painter"
    shift = Shift("drift", Published("old", "as it was", (PublishedRow("theirs", "9.0", "1.0"),)))

    def write(self, folder, *, progress, count=6, seed=0, editor=editor):
        folder.mkdir(parents=True, exist_ok=True)
        write_table(folder, write_data(folder, count))
        edit = {"prompt": "none", "label": "normal", "editor": editor}
        return write_plan(folder, name="drift", edit=edit, edit_score="none")


CASES = DrawnSet("oddities", 7, draw)
ENCODER = EncoderKind("medebench.encoders.dual:DualEncoder", "sees", weights="builtin:eyes")
RECIPE = Drift()
"""
POINTS = """
[medebench.case_sets]
oddities = stranger:CASES
[medebench.editors]
painter = stranger:Painter
[medebench.encoders]
eyes = stranger:ENCODER
[medebench.shipped_weights]
painter = stranger:PIPELINE
eyes = stranger:EYES
[medebench.stress_recipes]
drift = stranger:RECIPE
"""
MAIN = "import sys; from medebench.cli import main; main()"


@pytest.fixture
def medebench(tmp_path):
    """The command line, where that package is installed."""
    site = tmp_path / "site"
    info = site / "stranger-3.dist-info"
    info.mkdir(parents=True)
    (site / "stranger.py").write_text(PACKAGE)
    (site / "pipeline").symlink_to(shipped.PHANTOM_EDITOR)
    (site / "eyes").symlink_to(shipped.CHEST_ENCODER)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 3\n")
    (info / "entry_points.txt").write_text(POINTS)
    paths = [str(site), str(REPOSITORY), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    path = os.pathsep.join(str(Path(one).absolute()) for one in paths if one)

    def call(*words):
        done = subprocess.run(
            [sys.executable, "-c", MAIN, *words, "--json"],
            env={**os.environ, "PYTHONPATH": path, "MEDEBENCH_CACHE": str(tmp_path / "cache")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


def test_a_strangers_cases_editor_and_encoder(medebench, tmp_path):
    made = medebench("cases", "make", "oddities", "--count", "3", "--out", "made")
    assert made["count"] == 3
    assert len(list((tmp_path / "made" / "editing" / "previous").iterdir())) == 3
    assert "painter" in [row["editor"] for row in medebench("editors")]
    medebench("edit", "oddities:count=2", "--editor", "painter", "--out", "run")
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    # Another's entry point could be another thing tomorrow; of our own, the version says it.
    assert run["origin"].startswith("stranger:Painter of stranger 3, sha256 ")
    assert run["cases"]["count"] == 2
    medebench("score", "run", "--metrics", "isim:eyes")
    medebench("export", "run", "--format", "jsonl", "--out", "scores.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [(row["metric"], row["reason"]) for row in rows] == [("isim_eyes", None)] * 2
    assert medebench("weights", "where", "builtin:eyes")["path"] == str(tmp_path / "site" / "eyes")


def test_a_strangers_stress_recipe(medebench, tmp_path):
    told = medebench("stress", "drift", "--count", "9", "--out", "stress")
    (test,) = told["tests"]
    assert (test["shift"], test["pictures"], test["edits_failed"]) == ("drift", 9, 0)
    assert test["how"]["Edits"]["editor"] == "painter"
    page = tmp_path / "stress" / "drift" / "test" / "report" / "index.html"
    assert told["page"] == str(page) and "as it was" in page.read_text("utf-8")
