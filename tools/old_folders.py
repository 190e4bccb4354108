"""Make small folders that are half done, by whatever tree is current, as data for tests.

    python tools/old_folders.py tests/data/old_folders
    PYTHONPATH=/older/checkout/src python tools/old_folders.py /tmp/older --only run

For each: a folder whose work was stopped in the middle, and `finished.json`, what the same tree
made of it when it went on. `tests/test_old_folders.py` lets the tree of today go on. In the files
of runs, the folder itself is called @here@.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

HERE = "@here@"
#: Does as many cases as the file `upto` beside it says; the second fails, the first shows where it
#: looked.
EDITOR = """
from pathlib import Path

import numpy as np

import medebench as mb


class Half:
    summary = "stops half way"
    sees = ("roi",)
    control = False

    class Settings(mb.Settings):
        strength: int = 40

    def __init__(self, settings):
        self.settings = settings

    def edit(self, request):
        number = int(request.case.case.id)
        if number > int(Path(__file__).with_name("upto").read_text()):
            raise mb.NotTried("no time left")
        if number == 2:
            raise mb.Refused("this one is too hard", {"said": "no"})
        picture = request.case.previous.copy()
        if request.case.roi is not None:
            picture[request.case.roi] //= 2
        picture[:4] += np.uint8(self.settings.strength // 4)
        if number > 1:
            return mb.Edit(picture, {"number": number})
        looked = np.zeros(picture.shape[:2], np.float32)
        looked[8:20, 10:30] = 1.0
        return mb.Edit(picture, {"number": number}, attention=looked)
"""
#: Writes down what it is asked, if the environment says where.
PREDICTOR = """
import os
from pathlib import Path


class Bright:
    def predict(self, pictures):
        if "ASKED" in os.environ:
            with Path(os.environ["ASKED"]).open("a") as file:
                file.write("x" * len(pictures))
        return [float(one.mean()) / 255 for one in pictures]
"""
PLAN = """
data: images.csv
task: classification
positive: ill
edit:
  prompt: a healthy one
  label: well
  editor: editor.py:Half
edit_score: none
predictor: predictor.py:Bright
out: test
"""


def medebench(folder: Path, *words: str, codes: tuple[int, ...] = (0, 1)) -> None:
    command = [sys.executable, "-m", "medebench", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        raise SystemExit(f"medebench {' '.join(words)}: {done.returncode}: {done.stderr[-300:]}")


def write_cases(folder: Path, count: int) -> None:
    """Plain shapes of 48 x 32 pixels, which take little room."""
    records = []
    for number in range(1, count + 1):
        previous = np.full((32, 48, 3), 60 + 10 * number, np.uint8)
        previous[6:26, 8:40] = (200, 150 + number, 120)
        roi = np.zeros((32, 48), np.uint8)
        roi[10:20, 12 + number : 30] = 255
        previous[roi > 0] = (90, 40, 30 + 8 * number)
        reference = previous.copy()
        reference[roi > 0] = (200, 150 + number, 120)
        for role, picture in (("previous", previous), ("reference", reference), ("roi", roi)):
            path = folder / role / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture).save(path, optimize=True)
        records.append(
            {
                "id": str(number),
                "organ": "Skin" if number % 2 else "Teeth",
                "task": "Remove moles" if number % 2 else "Whiten teeth",
                "prompt": f"Remove spot {number}.",
                "description": "The spot is gone.",
                **{role: f"{role}/{number}.png" for role in ("previous", "reference", "roi")},
            }
        )
    lines = "".join(json.dumps(one) + "\n" for one in records)
    (folder / "cases.jsonl").write_text(lines, "utf-8")


def run_half_done(folder: Path, keep: Callable[[], None]) -> dict[str, Any]:
    """Three cases made and scored, the fourth made, the last two not tried."""
    write_cases(folder / "cases", 6)
    (folder / "editor.py").write_text(EDITOR.lstrip(), "utf-8")
    edit = ("edit", "cases/cases.jsonl", "--editor", "editor.py:Half", "--out", "run")
    score = ("score", "run", "--judge", "offline")
    (folder / "upto").write_text("3")
    medebench(folder, *edit)
    medebench(folder, *score)
    medebench(folder, "ground", "run")
    (folder / "upto").write_text("4")
    medebench(folder, *edit)
    keep()
    (folder / "upto").write_text("6")
    medebench(folder, *edit)
    medebench(folder, *score)
    medebench(folder, "ground", "run")
    return {"scores": scores(folder / "run"), "outputs": outputs(folder / "run")}


def scores(run: Path) -> list[list[Any]]:
    """Case, k, metric, value; the value is null where there is a reason."""
    return _rows(run, "SELECT case_id, k, metric, value FROM scores ORDER BY 1, 2, 3")


def outputs(run: Path) -> list[list[Any]]:
    return _rows(run, "SELECT case_id, k, sha256 FROM outputs ORDER BY 1, 2")


def _rows(run: Path, wish: str) -> list[list[Any]]:
    with closing(sqlite3.connect(run / "ledger.sqlite")) as db:
        return [list(row) for row in db.execute(wish)]


def study_half_answered(folder: Path, keep: Callable[[], None]) -> dict[str, Any]:
    """Ann has ranked all, Bob a few: one skipped, one left as a draft. The runs are gone."""
    write_cases(folder / "cases", 6)
    runs = [f"runs/{one}" for one in ("blur", "identity", "reference")]
    for run in runs:
        editor = run.removeprefix("runs/")
        medebench(folder, "edit", "cases/cases.jsonl", "--editor", editor, "--out", run)
    words = ("--per-organ", "2", "--annotators", "Ann,Bob", "--repeats", "1", "--controls", "1")
    medebench(folder, "study", "new", *runs, *words, "--out", "study")
    # Its pictures and answers are all that it needs from here on.
    shutil.rmtree(folder / "runs")
    shutil.rmtree(folder / "cases")
    medebench(folder, "study", "invite", "study")
    with closing(sqlite3.connect(folder / "study" / "answers.sqlite")) as db:
        with db:
            # Nobody's invitation goes into test data.
            db.execute("DELETE FROM medebench_people")
        db.execute("VACUUM")
    people = {
        one["name"]: one["tasks"]
        for one in json.loads((folder / "study" / "study.json").read_text("utf-8"))["annotators"]
    }
    answer(folder / "study", "Ann", range(len(people["Ann"])))
    answer(folder / "study", "Bob", range(3))
    answer(folder / "study", "Bob", [3], state="skipped")
    answer(folder / "study", "Bob", [4], state="draft")
    results = ("study", "results", "study", "--out", "results")
    medebench(folder, *results)
    half = tables(folder / "results")
    shutil.rmtree(folder / "results")
    keep()
    answer(folder / "study", "Bob", range(3, len(people["Bob"])), version=2)
    medebench(folder, *results)
    return {"half": half, "whole": tables(folder / "results")}


def answer(
    study: Path, annotator: str, places: Any, *, state: str = "done", version: int = 1
) -> None:
    design = json.loads((study / "study.json").read_text("utf-8"))
    (tasks,) = [one["tasks"] for one in design["annotators"] if one["name"] == annotator]
    with closing(sqlite3.connect(study / "answers.sqlite")) as db, db:
        for place in places:
            given = ranks(annotator, place, tasks[place]["order"], design["dimensions"])
            ranked = json.dumps({} if state == "skipped" else given)
            reason = "too dark" if state == "skipped" else ""
            told = (annotator, place, version, f"{annotator}-{place}-{version}", state, ranked)
            db.execute(
                "INSERT INTO medebench_answers (annotator, place, version, key, state, ranks, "
                "reason, seconds, saved_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*told, reason, 10.0 + place, f"2026-01-01T00:00:{place:02}+00:00"),
            )


def ranks(
    annotator: str, place: int, order: list[str], dimensions: list[str]
) -> dict[str, list[list[str]]]:
    """The reference first and what is ruined last; Bob now and then sees it the other way."""
    taste = ["reference", "identity", "blur", "(ruined)"]
    if annotator == "Bob" and place % 3 == 1:
        taste = ["identity", "reference", "blur", "(ruined)"]
    letters = dict(zip(order, "ABCDEFG", strict=False))
    groups = [[letters[model]] for model in taste if model in letters]
    return dict.fromkeys(dimensions, groups)


def stress_half_done(folder: Path, keep: Callable[[], None]) -> dict[str, Any]:
    """The test set predicted and half of the edits made; none of those predicted."""
    write_cases(folder / "pictures", 6)
    (folder / "editor.py").write_text(EDITOR.lstrip(), "utf-8")
    (folder / "predictor.py").write_text(PREDICTOR.lstrip(), "utf-8")
    (folder / "plan.yaml").write_text(PLAN.lstrip(), "utf-8")
    with (folder / "images.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "image", "label", "caption", "edit_mask", "group"])
        for number in range(1, 7):
            label = "well" if number == 6 else "ill"
            picture, mask = f"pictures/previous/{number}.png", f"pictures/roi/{number}.png"
            caption = f"one that is {label}"
            writer.writerow([number, picture, label, caption, mask, f"patient{number // 2}"])
    (folder / "upto").write_text("3")
    medebench(folder, "stress", "plan.yaml")
    keep()
    (folder / "upto").write_text("6")
    medebench(folder, "stress", "plan.yaml")
    run = folder / "test" / "run"
    return {"tables": tables(folder / "test" / "report"), "outputs": outputs(run)}


def tables(folder: Path) -> dict[str, list[dict[str, str]]]:
    found = {}
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="", encoding="utf-8-sig") as file:
            found[path.name] = list(csv.DictReader(file))
    return found


FOLDERS = {"run": run_half_done, "study": study_half_answered, "stress": stress_half_done}


def make(name: str, out: Path) -> None:
    """Make one in a place of its own, so that only what was kept half done is seen outside."""
    # The same place every time: a study is known by a hash over its file, paths included.
    work = Path(tempfile.gettempdir()) / "medebench-old-folders" / name
    shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(out, ignore_errors=True)
    work.mkdir(parents=True)

    def keep() -> None:
        left_out = shutil.ignore_patterns(".lock", "__pycache__", "*-shm", "*-wal")
        shutil.copytree(work, out, ignore=left_out)
        for path in out.rglob("run.json"):
            path.write_text(path.read_text("utf-8").replace(str(work), HERE), "utf-8")

    finished = FOLDERS[name](work, keep)
    (out / "finished.json").write_text(json.dumps(finished) + "\n", "utf-8")
    shutil.rmtree(work)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default=",".join(FOLDERS), help=f"of {', '.join(FOLDERS)}")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in given.only.split(","):
        make(name, given.out / name)
        size = sum(path.stat().st_size for path in (given.out / name).rglob("*") if path.is_file())
        print(f"{given.out / name}: {size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
