"""A task whose outputs are a text with an image, made from words alone, in this one file.

Cases, system, metrics, rubric and card are found as `file.py:Name`; nothing under src/ knows them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from typer.testing import CliRunner

import medebench as mb
from medebench.cases import Case, CaseSet
from medebench.cli import app
from medebench.files import cache_folder, write_bytes
from medebench.images.picture import encode_png
from medebench.tasks import Card, CardImage, CardText, Task
from tests.models.server import FakeServer

HERE = Path(__file__)
COLOURS = {"red": (200, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 200)}


class Painting(Task):
    def card(self, case, output=None):
        texts = [CardText("Wish", case.case.prompt)]
        images = [CardImage("Wanted", case.reference, "reference")]
        if output is not None and output.text is not None:
            texts.append(CardText("Caption", output.text, "output"))
        if output is not None and output.image is not None:
            images.append(CardImage("Painted", output.image, "output"))
        return Card(f"Painting {case.case.id}", tuple(texts), tuple(images))


class Illustrated(Painting):
    """As a class: it is made where it is found."""

    def __init__(self):
        super().__init__(
            "painting",
            "paint what is wished for and say what it is",
            gives=("image", "text"),
            takes=("prompt", "reference"),
            metrics=("ssim", f"{HERE}:named", f"{HERE}:agrees"),
            headline=("agrees", "harmony"),
            groups=("modality", "subtask"),
            rubric=f"{HERE}:RUBRIC",
            noun="painting",
        )


RUBRIC = {
    "name": "harmony",
    "version": 2,
    "guide": "prompt",
    "reference": "optional",
    "scores": ["harmony"],
    "system": "You assess a painting with its caption.",
    "captions": {"output": "The painting:", "output_text": "Its caption:", "reference": "Good:"},
    "step2": "The wish was: {expected}\n{criteria}",
    "criteria": {"harmony": "Harmony: do painting and caption go together?"},
    "answer": "Answer with JSON:\n{skeleton}",
}


def cases(text, progress):
    folder = cache_folder() / "paintings"
    made = []
    for name, colour in COLOURS.items():
        path = folder / f"{name}.png"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            write_bytes(path, encode_png(np.full((16, 20, 3), colour, np.uint8)))
        words = {"prompt": f"Something {name}", "answer": f"all {name}", "modality": "oil"}
        made.append(Case(name, None, reference=path, groups={"subtask": name[0]}, **words))
    return CaseSet("paintings", folder, tuple(made), text, task=f"{HERE}:Illustrated")


class Painter:
    """Of green it has run out, and it has no words for blue."""

    summary, sees, control, Settings = "paints in one colour", (), False, mb.Settings
    gives = ("image", "text")

    def __init__(self, settings):
        pass

    def edit(self, request):
        name = request.instruction.rpartition(" ")[2]
        image = np.full((16, 20, 3), COLOURS[name], np.uint8)
        if name == "green":
            return mb.Output(text=f"would be {name}", detail={"out of": "green"})
        return mb.Output(image, None if name == "blue" else f"all {name}")


@mb.metric("named", "whether the caption names the colour", of="text")
def named(case, text):
    return float(case.case.id in text)


@mb.metric("agrees", "whether caption and painting are those of the reference", of="output")
def agrees(case, output):
    if output.image is None or output.text is None:
        raise mb.Undefined("half a painting")
    same = np.array_equal(output.image, case.reference)
    return float(same and output.text == case.expected.text)


def call(*said):
    return CliRunner().invoke(app, [str(one) for one in said])


@pytest.fixture(autouse=True)
def _own_place(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-0123456789")


@pytest.fixture
def run(tmp_path):
    return mb.edit(f"{HERE}:cases", f"{HERE}:Painter", tmp_path / "painter")


def found(run):
    return {
        (row["case"], row["metric"]): row["value"] if row["kind"] is None else row["kind"]
        for row in run.frame().iter_rows(named=True)
    }


EXPECTED = {
    ("red", "ssim"): 1.0,
    ("red", "named"): 1.0,
    ("red", "agrees"): 1.0,
    ("green", "ssim"): "no-part",
    ("green", "named"): 1.0,
    ("green", "agrees"): "undefined",
    ("blue", "ssim"): 1.0,
    ("blue", "named"): "no-part",
    ("blue", "agrees"): "undefined",
}


def test_each_part_has_its_file_and_its_scores(run, tmp_path):
    names = {path.name for path in run.edits.iterdir()}
    assert names == {"red_0.png", "red_0.txt", "green_0.txt", "blue_0.png"}
    mb.score(run)
    assert found(run) == EXPECTED
    frame = run.frame()
    assert frame.columns[-2:] == ["modality", "subtask"]
    assert set(frame.select("case", "modality", "subtask").rows()) == {
        (name, "oil", name[0]) for name in COLOURS
    }


def test_a_part_that_is_replaced_or_added_makes_it_another_output(run):
    mb.score(run)
    run.output_files("blue", 0).path("text").write_text("all blue")
    stale = run.frame().filter(case="blue")
    assert set(stale["kind"]) == {"stale"}
    mb.score(run)
    assert found(run) == EXPECTED | {("blue", "named"): 1.0, ("blue", "agrees"): 1.0}
    # Edited again, what is there stays.
    mb.edit(f"{HERE}:cases", f"{HERE}:Painter", run.path)
    assert run.output_files("blue", 0).path("text").read_text() == "all blue"
    # And with one part taken away it is the half again.
    run.output_files("blue", 0).path("text").unlink()
    mb.score(run)
    assert found(run) == EXPECTED


def test_judge_and_export(run, tmp_path, monkeypatch):
    answer = json.dumps({"harmony": {"reason": "they do", "score": 9}})
    with FakeServer(answer=lambda call: answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url("openai"))
        mb.score(run, judge="openai:test")
        (sent,) = server.calls
        mb.score(run, judge="openai:test", retry_failed=True)
    assert len(server.calls) == 1
    assert len(sent.images) == 2 and any("all red" in text for text in sent.texts)
    name = "harmony_openai:test+harmony"
    judged = {case: value for (case, metric), value in found(run).items() if metric == name}
    assert judged == {"red": 0.9, "green": "no-part", "blue": "no-part"}
    for form in ("csv", "jsonl", "parquet"):
        out = tmp_path / f"scores.{form}"
        assert call("export", run.path, "--out", out, "--format", form).exit_code == 0
    table = pl.read_parquet(tmp_path / "scores.parquet")
    assert table.columns[-4:] == ["kind", "cause", "modality", "subtask"] and table.height == 12
    assert table.equals(pl.read_ndjson(tmp_path / "scores.jsonl", schema=table.schema))


def test_groups_that_another_run_has_not_are_empty_there(run, small_set, tmp_path):
    other = mb.score(mb.edit(small_set, "identity", tmp_path / "other"), "psnr")
    mb.score(run)
    words = ["--format", "parquet", "--out", tmp_path / "both.parquet"]
    assert call("export", other.path, run.path, *words).exit_code == 0
    table = pl.read_parquet(tmp_path / "both.parquet")
    assert set(table.filter(run="other")["subtask"]) == {""}
    assert set(table.filter(run="painter")["subtask"]) == {"r", "g", "b"}


def test_both_parts_are_adopted(run, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "red_0.txt").write_text("all red")
    image = np.full((16, 20, 3), COLOURS["red"], np.uint8)
    Image.fromarray(image).save(theirs / "red_0.bmp")
    (theirs / "green_0.txt").write_text("no image")
    adopted = mb.score(mb.adopt(theirs, f"{HERE}:cases", tmp_path / "adopted"))
    assert {path.name for path in adopted.edits.iterdir()} == {
        "red_0.png",
        "red_0.txt",
        "green_0.txt",
    }
    mine = {key: value for key, value in EXPECTED.items() if key[0] != "blue"}
    assert found(adopted) == mine | {("green", "named"): 0.0}
    again = mb.score(mb.adopt(theirs, f"{HERE}:cases", tmp_path / "adopted"))
    assert found(again) == found(adopted)


def test_its_card(run):
    case = mb.open_case(run.cases["red"])
    card = run.task.card(case, mb.Output(case.reference, "all red"))
    assert card.title == "Painting red"
    assert [one.label for one in card.of("output").texts] == ["Caption"]
    assert [one.label for one in card.images] == ["Wanted", "Painted"]
    assert card._repr_html_().count("<img") == 2


def test_cases_without_an_input_image_are_shown_and_audited(tmp_path):
    assert call("cases", "check", f"{HERE}:cases").exit_code == 0
    shown = call("cases", "show", f"{HERE}:cases", "red", "--json")
    assert json.loads(shown.stdout)["answer"] == "all red"
    strip = call("cases", "show", f"{HERE}:cases", "red", "--out", tmp_path / "red.png")
    assert strip.exit_code == 2 and "has no input image to show" in strip.stderr


def test_report(run, tmp_path):
    mb.score(run)
    page = mb.report(run, tmp_path / "report")
    assert (tmp_path / "report" / "modalities.csv").is_file()
    assert (tmp_path / "report" / "subtasks.csv").is_file()
    text = page.index.read_text("utf-8")
    assert text.index("agrees") < text.index("ssim") and "Modality" in text


def test_study(run, tmp_path):
    """Captions stand beside the paintings; both are one thing to rank."""
    other = mb.generate(f"{HERE}:cases", f"{HERE}:Painter", tmp_path / "other", seed=1)
    made = mb.new_study([run, other], tmp_path / "study", annotators=1, controls=0, repeats=0)
    design = made.study.design
    assert design.grouping == "modality" and tuple(design.dimensions) == ("harmony",)
    (red,) = [case for case in design.cases if case.id == "red"]
    assert [one.label for one in red.texts] == ["Wish"]
    for output in red.outputs.values():
        folder = made.study.pictures
        assert (folder / output.text).read_text("utf-8") == "all red"
        assert (folder / output.picture).stat().st_size
