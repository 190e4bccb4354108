"""What each tree has to do: only commands, so that no module's place matters."""

from __future__ import annotations

import csv
import hashlib
import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from trees.environment import Tree
from trees.odd_judge import odd_judge

#: An editor that fails now and then, in each of the ways an editor can.
OWN = """
import medebench as mb


class Moody:
    summary = "fails now and then"
    sees = ()
    control = False

    class Settings(mb.Settings):
        pass

    def __init__(self, settings):
        pass

    def edit(self, request):
        mood = int(request.generator().integers(6))
        if mood == 0:
            raise mb.Refused("not in the mood", {"mood": mood})
        if mood == 1:
            raise ValueError("broken inside")
        picture = request.case.previous.copy()
        if mood == 2:
            return picture[:-8]
        picture[::mood] = 255 - picture[::mood]
        return mb.Edit(picture, {"mood": mood})


@mb.metric("darkness", "share of dark pixels inside", better="lower", needs=("roi",))
def darkness(case, output):
    inside = output[case.roi]
    if inside.mean() > 200:
        raise mb.Undefined("too bright inside")
    return float((inside < 64).mean())
"""
#: A probability from the picture alone, and a second opinion.
PREDICTOR = """
class Bright:
    def predict(self, pictures):
        return [float(one.mean()) / 255 for one in pictures]


class Left:
    def predict(self, pictures):
        return [float(one[:, : one.shape[1] // 2].mean()) / 255 for one in pictures]
"""
DEMO_PLAN = """
cases: phantoms:count=13,seed=3
editors: [phantom-editor, inpaint, identity, reference, noise, "blur:sigma=2"]
judge: offline
report:
  title: small demo
"""
STUDY_PLAN = """
cases: phantoms:count=26,seed=4
editors: [inpaint, identity, noise, "blur:sigma=2"]
judge: offline
report: false
"""
STRESS_PLAN = """
data: images.csv
task: classification
positive: {positive}
edit:
  prompt: as it was before
  label: {negative}
  editor: "blur:sigma=2"
edit_score: none
predictor: predictor.py:Bright
reference: {{model: "predictor.py:Left", name: left, threshold: 0.4}}
"""
PIXELS = "cp,cp_published,ssim,psnr,change_inside,change_outside,edit_completion,edit_residual"
#: What is scored besides, where the weights are there.
WEIGHTS = {"lpips_alex": "lpips-alex", "niqe": "niqe", "kid_inception": "inception"}


@dataclass
class Part:
    """A folder in which one tree does one part of the work."""

    tree: Tree
    folder: Path
    exits: list[str] = field(default_factory=list)

    def call(self, *words: str) -> None:
        """A command; what it prints for machines is kept, and 2 ends the part."""
        place = f"{len(self.exits):02}-{words[0]}"
        done = self.tree.medebench(*words, cwd=self.folder)
        self.exits.append(f"{place}: exit code {done.returncode}")
        printed = self.folder / "printed"
        printed.mkdir(exist_ok=True)
        ending = "json" if "--json" in words else "txt"
        (printed / f"{place}.{ending}").write_text(done.stdout, "utf-8")
        if done.returncode not in (0, 1):
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            self.exits.append(f"medebench {' '.join(words)}: {' '.join(said)}")
            raise CommandError(self.exits[-1])

    def report(self, *words: str) -> None:
        """A report of all runs; without the rows that only the new tree adds unasked."""
        has = "--no-scale" in self.tree.medebench("report", "--help", cwd=self.folder).stdout
        lean = ("--no-scale",) if has else ()
        self.call("report", *self.runs(), *words, *lean, "--out", "report", "--json")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, "utf-8")

    def runs(self, folder: str = "runs") -> list[str]:
        return sorted(f"{folder}/{one.name}" for one in (self.folder / folder).iterdir())


class CommandError(Exception):
    """A command ended with 2 or worse."""


def demo(part: Part, _sample: Path | None) -> None:
    part.write("plan.yaml", DEMO_PLAN)
    part.call("run", "plan.yaml", "--out", "demo", "--json")
    part.call("export", *part.runs("demo/runs"), "--out", "scores.csv", "--json")


def excerpt(part: Part, sample: Path | None) -> None:
    """The published models' outputs, adopted."""
    assert sample is not None
    for model in sorted((sample / "generated_images").iterdir()):
        words = ("--cases", str(sample), "--out", f"runs/{model.name}", "--json")
        part.call("adopt", str(model), *words)
    there = part.tree.weights.iterdir() if part.tree.weights else ()
    stems = {path.stem for path in there}
    metrics = [PIXELS, *(metric for metric, file in WEIGHTS.items() if file in stems)]
    part.call("score", *part.runs(), "--metrics", ",".join(metrics), "--judge", "offline", "--json")
    part.call("ground", *part.runs(), "--json")
    part.report()
    part.call("export", *part.runs(), "--out", "scores.csv", "--json")


def judge(part: Part, _sample: Path | None) -> None:
    """A model as judge that misbehaves, over runs with failed outputs."""
    part.write("own.py", OWN)
    cases = "phantoms:count=13,seed=6"
    for editor, name in (("noise", "noise"), ("own.py:Moody", "moody"), ("inpaint", "inpaint")):
        words = ("--editor", editor, "--outputs", "2", "--out", f"runs/{name}", "--json")
        part.call("edit", cases, *words)
    # The address is part of a judge's identity: both trees must see the same.
    with odd_judge(part.tree.port) as address:
        model = ("--judge", "openai:odd", "--base-url", address)
        part.call("score", *part.runs(), "--metrics", "default,own.py:darkness", *model, "--json")
        part.call("score", *part.runs(), "--metrics", "cp", *model, "--repeats", "2", "--json")
        part.call("ground", *part.runs(), "--json")
        part.report()
        part.call("judge", "audit", *model, "--cases", cases, "--limit", "4", "--json")
    part.call("export", *part.runs(), "--out", "scores.csv", "--json")


def study(part: Part, _sample: Path | None) -> None:
    part.write("plan.yaml", STUDY_PLAN)
    part.call("run", "plan.yaml", "--out", ".", "--json")
    people = ("--annotators", "Ann,Bob,Cyd")
    part.call("study", "new", *part.runs(), *people, "--per-organ", "1", "--out", "study", "--json")
    part.call("study", "invite", "study")
    (part.folder / "printed").joinpath(f"{len(part.exits) - 1:02}-study.txt").unlink()
    answer_all(part.folder / "study")
    part.call("study", "results", "study", "--json")
    part.call("study", "export", "study", "--out", "rankings.csv", "--json")
    words = ("--runs", *part.runs(), "--out", "by-table", "--json")
    part.call("study", "results", "rankings.csv", *words)
    part.report("--study", "study")


def answer_all(folder: Path) -> None:
    """Everybody's ranks, drawn from the names of annotator, case and model, into the database."""
    design = json.loads((folder / "study.json").read_text("utf-8"))
    with closing(sqlite3.connect(folder / "answers.sqlite")) as db, db:
        for annotator in design["annotators"]:
            for place, task in enumerate(annotator["tasks"]):
                case = design["cases"][task["case"]]["id"]
                ranks = {
                    dimension: drawn_ranks(annotator["name"], case, dimension, task["order"])
                    for dimension in design["dimensions"]
                }
                row = {
                    "annotator": annotator["name"],
                    "place": place,
                    "version": 1,
                    "key": f"{annotator['name']}-{place}",
                    "state": "done",
                    "ranks": json.dumps(ranks),
                    "reason": "",
                    "seconds": 10.0 + place,
                    "saved_at": "2026-01-01T00:00:00+00:00",
                }
                marks = ", ".join(f":{name}" for name in row)
                db.execute(
                    f"INSERT INTO medebench_answers ({', '.join(row)}) VALUES ({marks})", row
                )


def drawn_ranks(annotator: str, case: str, dimension: str, order: list[str]) -> list[list[str]]:
    """Groups of letters, best first; people mostly agree, and sometimes see no difference."""

    def liking(model: str) -> int:
        taste = hashlib.sha256(f"{case} {dimension} {model}".encode()).digest()[0] // 40
        own = hashlib.sha256(f"{annotator} {case} {dimension} {model}".encode()).digest()[0] // 90
        return -1 if model == "(ruined)" else taste + own

    groups: dict[int, list[str]] = {}
    for letter, model in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", order, strict=False):
        groups.setdefault(-liking(model), []).append(letter)
    return [groups[key] for key in sorted(groups)]


def stress(part: Part, _sample: Path | None) -> None:
    """The smallest recipe, and a user's own table and predictors."""
    words = ("--count", "13", "--seed", "5", "--out", "cases", "--json")
    part.call("cases", "make", "phantoms", *words)
    write_stress_plan(part.folder, part.folder / "cases")
    part.call("stress", "plan.yaml", "--out", "own", "--json")
    part.call("stress", "acquisition", "--count", "6", "--out", "recipe", "--json")


def write_stress_plan(folder: Path, cases: Path) -> None:
    """A plan over the previous images of a case set; every second one counts as ill."""
    rng = random.Random(1)
    rows = []
    for number, image in enumerate(sorted((cases / "editing" / "previous").glob("*.png"))):
        name = image.stem
        mask = cases / "editing" / "previous_mask" / image.name
        ill = number % 2 == 0
        rows.append(
            {
                "id": name,
                "image": str(image.relative_to(folder)),
                "label": "ill" if ill else "well",
                "caption": "an ill one" if ill else "a healthy one",
                "edit_mask": str(mask.relative_to(folder)),
                "group": f"patient{rng.randrange(9)}",
            }
        )
    with (folder / "images.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (folder / "predictor.py").write_text(PREDICTOR, "utf-8")
    (folder / "plan.yaml").write_text(STRESS_PLAN.format(positive="ill", negative="well"), "utf-8")


PARTS: dict[str, Callable[[Part, Path | None], None]] = {
    "demo": demo,
    "excerpt": excerpt,
    "judge": judge,
    "study": study,
    "stress": stress,
}
