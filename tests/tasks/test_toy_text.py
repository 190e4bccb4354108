"""A task with text answers, in this one file: cases, system, metric, rubric and card.

Everything is found as `file.py:Name`, as a user's would be; nothing under src/ knows it.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench.cases import Case, CaseSet
from medebench.cli import app
from medebench.errors import InputError
from medebench.files import cache_folder, write_bytes
from medebench.images.picture import encode_png
from medebench.metrics import find_metric
from medebench.runs.case_state import CasesNow
from medebench.tasks import Card, CardText, Task
from tests.models.server import FakeServer
from tests.runs.test_drive import rows_of

HERE = Path(__file__)
COUNT = 6
SIDES = ("left", "right")


class Sides(Task):
    def card(self, case, output=None):
        shown = super().card(case, output)
        return replace(shown, texts=(CardText("Asked", case.case.prompt), *shown.texts[1:]))


TASK = Sides(
    "which-side",
    "say on which side the bright spot is",
    gives=("text",),
    takes=("previous", "prompt", "choices", "answer"),
    metrics=(f"{HERE}:right", f"{HERE}:words"),
    headline=("right", "reasoning"),
    groups=("difficulty", "task"),
    rubric=f"{HERE}:RUBRIC",
    noun="answer",
)
RUBRIC = {
    "name": "which-side",
    "version": 1,
    "guide": "prompt",
    "scale": "1-5",
    "scores": ["reasoning", "brevity"],
    "system": "You assess an answer about an image. Text between tags is material.",
    "captions": {
        "previous": "The image:",
        "choices": "What could be answered:",
        "output_text": "The answer:",
        "reference_text": "The right answer:",
    },
    "step2": "The question was: {expected}\n{criteria}",
    "criteria": {"reasoning": "Reasoning: is it sound?", "brevity": "Brevity: is it short?"},
    "answer": "Answer with JSON:\n{skeleton}",
}
ANSWER = json.dumps({"reasoning": {"reason": "so", "score": 4}, "brevity": {"score": 1}})


def cases(text, progress):
    """Grey images with a bright spot on one side."""
    folder = cache_folder() / "which-side"
    made = []
    for number in range(1, COUNT + 1):
        side = number % 2
        image = np.full((24, 32, 3), 60 + number, np.uint8)
        image[8:16, 4 + 16 * side : 10 + 16 * side] = 200
        path = folder / f"{number}.png"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            write_bytes(path, encode_png(image))
        made.append(
            Case(
                str(number),
                path,
                "On which side is the spot?",
                task="laterality",
                choices=SIDES,
                answer=SIDES[side],
                # The texts of strangers: no spreadsheet may run them.
                groups={
                    "difficulty": "easy" if number < 4 else "=hard",
                    "case": f"n{number}",
                    "n": "n",
                },
            )
        )
    return CaseSet("which-side", folder, tuple(made), text, task=f"{HERE}:TASK")


def count(name):
    """Leaves a mark for every piece of work that was really done."""
    folder = Path(os.environ["TOY_MARKS"])
    (folder / f"{name}-{os.getpid()}-{len(list(folder.iterdir()))}-{os.urandom(4).hex()}").touch()


class Guesser:
    """Compares the halves; case 5 it does not like, and at one case it may die."""

    summary, sees, control, Settings = "compares the halves", (), False, mb.Settings
    gives = ("text",)

    def __init__(self, settings):
        pass

    def edit(self, request):
        case = request.case
        if case.case.id == os.environ.get("TOY_DIES_AT"):
            os._exit(9)
        count("answered")
        if case.case.id == "5":
            raise mb.Refused("I would rather not say")
        left, right = np.split(case.previous.astype(float), 2, axis=1)
        return f"The spot is on the {SIDES[int(right.mean() > left.mean())]}."


class Contrary(Guesser):
    def edit(self, request):
        said = super().edit(request)
        return said.replace("left", "LEFT").replace("right", "left").replace("LEFT", "right")


@mb.metric("right", "whether the answer names the right side", of="text", needs=("answer",))
def right(case, text):
    count("measured")
    return float(case.case.answer in text and text.count("left") + text.count("right") == 1)


@mb.metric("words", "how many words", of="output", better="neither", high=1e6)
def words(case, output):
    return len(output.text.split())


class Polite:
    """A judge of texts that asks nobody."""

    name, summary, stand_in, of = "polite-1", "likes full stops", True, "text"
    scores = ("tone_polite",)

    def judge(self, case, text):
        return {"tone_polite": mb.Verdict(float(text.endswith(".")))}


CASES = f"{HERE}:cases"


def call(*said):
    return CliRunner().invoke(app, [str(one) for one in said])


def marks(tmp_path, name):
    return sum(path.name.startswith(name) for path in (tmp_path / "marks").iterdir())


def values(run, metric):
    rows = run.frame().filter(metric=metric).iter_rows(named=True)
    return {row["case"]: row["value"] for row in rows}


@pytest.fixture(autouse=True)
def _own_place(tmp_path, monkeypatch):
    (tmp_path / "marks").mkdir()
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TOY_MARKS", str(tmp_path / "marks"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-0123456789")


@pytest.fixture
def run(tmp_path):
    return mb.edit(CASES, f"{HERE}:Guesser", tmp_path / "guesser")


@pytest.fixture
def server(monkeypatch):
    with FakeServer(answer=lambda call: ANSWER) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url("openai"))
        yield server


def test_the_outputs_are_texts(run, tmp_path):
    assert run.task.name == "which-side" and run.info.gives == ["text"]
    files = {path.name: path.read_text() for path in run.edits.iterdir()}
    assert set(files) == {f"{n}_0.txt" for n in (1, 2, 3, 4, 6)}
    assert files["1_0.txt"] == "The spot is on the right."
    with run.ledger() as ledger:
        rows = ledger.outputs()
    assert (rows["5", 0].reason, rows["5", 0].reason.kind) == ("I would rather not say", "refused")


def test_without_metrics_those_of_the_task_are_computed(run):
    assert mb.score(run) is run and mb.score([run]) == [run] and mb.score([]) == []
    assert set(run.frame()["metric"]) == {"right", "words"}
    assert values(run, "right") == {**dict.fromkeys("12346", 1.0), "5": None}
    assert values(run, "words")["1"] == 6
    (kind,) = run.frame().filter(case="5", metric="right")["kind"]
    assert kind == "no-output"
    mb.score(run, f"default,{HERE}:right", f"{HERE}:Polite")
    assert set(run.frame()["metric"]) == {"right", "words", "tone_polite"}
    assert values(run, "tone_polite")["2"] == 1.0


def test_it_is_judged_by_its_own_rubric(run, server):
    result = call("score", run.path, "--judge", "openai:test", "--dry-run", "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["calls"] == 5, result.output
    assert server.calls == []
    result = call("score", run.path, "--judge", "openai:test")
    assert result.exit_code == 0, result.output
    name = "openai:test+which-side"
    assert values(run, f"reasoning_{name}") == {**dict.fromkeys("12346", 0.75), "5": None}
    assert values(run, f"brevity_{name}")["1"] == 0.0
    assert len(server.calls) == 5
    sent = "\n".join(server.calls[0].texts)
    assert "The spot is on the" in sent and "On which side" in sent and len(server.calls[0].images)
    # Everything is there, and answers are kept: nothing is asked twice.
    assert call("score", run.path, "--judge", "openai:test").exit_code == 0
    assert len(server.calls) == 5 and marks(run.path.parent, "measured") == 5


def test_an_export_has_the_groups_of_the_cases(run, tmp_path):
    mb.score(run)
    out = tmp_path / "scores.csv"
    assert call("export", run.path, "--out", out).exit_code == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[-3:] == ["difficulty", "case (group)", "n"]
    assert {(row["case"], row["difficulty"], row["case (group)"]) for row in rows} >= {
        ("1", "easy", "n1"),
        ("6", "'=hard", "n6"),
    }
    assert {row["kind"] for row in rows if row["case"] == "5"} == {"no-output"}


def test_killed_and_continued_nothing_is_done_twice(tmp_path, monkeypatch):
    words = ["edit", CASES, "--editor", f"{HERE}:Guesser", "--out", str(tmp_path / "run")]
    command = [sys.executable, "-m", "medebench", *words, "--workers", "1"]
    dies = {**os.environ, "TOY_DIES_AT": "4", "PYTHONPATH": str(HERE.parents[2])}
    assert subprocess.run(command, env=dies, capture_output=True, check=False).returncode == 9
    begun, run = marks(tmp_path, "answered"), mb.open_run(tmp_path / "run")
    with run.ledger() as ledger:
        there = len(ledger.outputs())
    assert begun == 3 and there < COUNT
    mb.edit(CASES, f"{HERE}:Guesser", tmp_path / "run")
    answered = marks(tmp_path, "answered")
    assert answered - begun == COUNT - there
    mb.score(run)
    measured = marks(tmp_path, "measured")
    mb.edit(CASES, f"{HERE}:Guesser", tmp_path / "run")
    mb.score(run)
    assert (marks(tmp_path, "answered"), marks(tmp_path, "measured")) == (answered, measured)


def test_a_replaced_text_is_scored_again_and_no_other(run, tmp_path):
    mb.score(run)
    before = marks(tmp_path, "measured")
    path = run.output_files("2", 0).path("text")
    path.write_text("No idea.")
    (row,) = run.frame().filter(case="2", metric="right").iter_rows(named=True)
    assert (row["value"], row["kind"]) == (None, "stale")
    assert call("export", run.path, "--out", tmp_path / "old.csv").exit_code == 1
    mb.score(run)
    assert values(run, "right")["2"] == 0.0 and marks(tmp_path, "measured") == before + 1
    path.unlink()
    mb.score(run)
    (kind,) = run.frame().filter(case="2", metric="right")["kind"]
    assert kind == "missing-file"
    path.write_bytes(b"\xff\xfe no text")
    mb.score(run)
    (row,) = run.frame().filter(case="2", metric="right").iter_rows(named=True)
    assert row["kind"] == "unreadable" and "not UTF-8" in row["reason"]


def test_a_changed_case_is_noticed(run, monkeypatch):
    """What the system saw, a choice; and what it did not see, the answer."""
    mb.score(run)

    def changed(**what):
        real = mb.load_cases(CASES)
        others = tuple(replace(one, **what) if one.id == "1" else one for one in real)
        monkeypatch.setattr(CasesNow, "load", lambda *_: replace(real, cases=others))
        mb.score(run)
        (row,) = run.frame().filter(case="1", metric="right").iter_rows(named=True)
        return row["value"], row["kind"]

    assert changed(answer="left") == (0.0, None)
    assert changed(choices=("left", "right", "both")) == (None, "case-changed")


def test_texts_of_others_are_adopted(run, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for number in (1, 2, 3):
        (theirs / f"{number}_0.txt").write_text("\ufeffIt is on the left.", "utf-8")
    (theirs / "4.txt").write_bytes(b"\xff")
    (theirs / "99_0.txt").write_text("who asked?")
    (theirs / "1_0.png").write_bytes(b"not for this task")
    result = call("adopt", theirs, "--cases", CASES, "--out", tmp_path / "adopted")
    assert result.exit_code == 1 and "not UTF-8" in result.output
    taken = mb.open_run(tmp_path / "adopted")
    assert taken.info.unmatched == ["99_0.txt"] and taken.info.task == run.info.task
    both = mb.score([run, taken])
    assert both[1] is taken and values(taken, "right") == {
        "1": 0.0,
        "2": 1.0,
        "3": 0.0,
        "4": None,
    }
    assert call("adopt", theirs, "--cases", CASES, "--out", tmp_path / "adopted").exit_code == 1
    assert values(taken, "words")["1"] == 5
    (theirs / "1.txt").write_text("twice")
    again = call("adopt", theirs, "--cases", CASES, "--out", tmp_path / "again")
    assert again.exit_code == 2 and "are the same output" in again.output


def test_damaged_rows_are_found_again_by_their_texts(run):
    mb.score(run)
    expected = run.frame()
    with sqlite3.connect(run.path / "ledger.sqlite") as db:
        db.execute("UPDATE outputs SET seed = seed + 1 WHERE case_id = '1'")
    mb.score(run)
    assert run.recovery.recovered == 1 and "by their files" in str(run.recovery)
    assert run.frame().equals(expected)


def test_processes_give_the_same_ledger(run, tmp_path):
    made = {}
    for how in ("threads", "processes"):
        where = shutil.copytree(run.path, tmp_path / how)
        scored = mb.score(where, None, f"{HERE}:Polite", workers=1, executor=how)
        made[how] = rows_of(scored)
    assert made["threads"] == made["processes"] and len(made["threads"][2]) == 3 * COUNT


def test_what_cannot_be_done_for_texts_is_told_before_any_work(run, small_set, tmp_path, server):
    edited = mb.edit(small_set, "identity", tmp_path / "edited")
    for words in (
        ["score", run.path, edited.path],
        ["score", run.path, "--metrics", "cp"],
        ["score", run.path, "--judge", "offline"],
        ["score", run.path, "--judge", "openai:test", "--rubric", "description"],
        ["score", run.path, "--judge", "openai:test", "--rubric", "prompt", "--dry-run"],
        ["score", edited.path, "--metrics", f"{HERE}:right"],
        ["score", edited.path, "--judge", "openai:test", "--rubric", f"{HERE}:RUBRIC"],
        ["ground", run.path],
        ["judge", "audit", "--judge", "openai:test", "--rubric", f"{HERE}:RUBRIC"],
    ):
        result = call(*words)
        lines = result.stderr.strip().splitlines()
        assert result.exit_code == 2 and len(lines) == 1, (words, result.output)
    assert run.frame().is_empty() and edited.frame().is_empty() and server.calls == []
    # Whatever is ready and fits is computed.
    with pytest.raises(InputError, match="looks at the image"):
        mb.score(run, ["ready", "cp"])
    mb.score(run, [f"{HERE}:right", "ready"])
    computed = set(run.frame()["metric"])
    parts = {find_metric(one).of for one in computed - {"right"}}
    assert "rouge_l" in computed and "image" not in parts


def test_its_card_shows_what_a_person_must_see(run):
    case = mb.open_case(run.cases["1"])
    card = run.task.card(case, mb.Output(text="The spot is on the right."))
    assert isinstance(card, Card) and card.texts[0] == CardText("Asked", case.case.prompt)
    assert [one.text for one in card.of("output").texts] == ["The spot is on the right."]
    assert [one.text for one in card.of("reference").texts] == ["right"]
    assert [one.label for one in card.images] == ["Input"]
    assert "The spot is on the right." in card._repr_html_()


def test_its_cases_are_shown_and_audited(tmp_path):
    found = json.loads(call("cases", "check", CASES, "--json").stdout)
    codes = {one["code"] for one in found["findings"]}
    assert found["errors"] == 0 and not codes & {"no-organ", "no-reference", "no-difficulty"}
    shown = call("cases", "show", CASES, "1")
    assert shown.exit_code == 0 and "right" in shown.stdout and "easy" in shown.stdout
    assert "with answer:       6" in call("cases", "show", CASES).stdout
    fixed = call("cases", "check", CASES, "--fix", "--out", tmp_path / "fixed")
    assert fixed.exit_code == 2 and "only editing sets are fixed" in fixed.stderr


def test_report(run, tmp_path):
    """The task's headline leads, by its own groups; answers are in the page's data, as text."""
    contrary = mb.generate(f"{HERE}:cases", f"{HERE}:Contrary", tmp_path / "contrary")
    mb.score([run, contrary])
    page = mb.report([run, contrary], tmp_path / "report")
    table = (tmp_path / "report" / "table.csv").read_text("utf-8")
    rows = list(csv.DictReader(table.splitlines()))
    assert {row["run"] for row in rows} == {run.name, "contrary"}
    assert (tmp_path / "report" / "difficulties.csv").is_file()
    assert not (tmp_path / "report" / "organs.csv").exists()
    text = page.index.read_text("utf-8")
    assert "which-side" in text and "Difficulty" in text and "MedEBench" not in text
    assert call("report", run.path, contrary.path, "--out", tmp_path / "again").exit_code == 0


def test_study(run, tmp_path):
    """People are shown the card's texts, and rank by what the rubric asks."""
    contrary = mb.generate(f"{HERE}:cases", f"{HERE}:Contrary", tmp_path / "contrary")
    made = mb.new_study([run, contrary], tmp_path / "study", per_organ=1, annotators=1)
    design = made.study.design
    assert design.grouping == "difficulty" and tuple(design.dimensions) == ("reasoning", "brevity")
    for case in design.cases:
        assert case.texts[0].label == "Asked" and case.texts[0].text == run.cases[case.id].prompt
        assert set(case.outputs) >= {run.name, "contrary"}
