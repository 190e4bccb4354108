"""Systems of every task: texts, texts with images, and what does not fit together."""

from __future__ import annotations

import json
import textwrap

import numpy as np
import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.errors import InputError
from medebench.files import write_bytes
from medebench.images.picture import encode_png
from medebench.plan import load_plan, run_plan

TOY = '''
from pathlib import Path

import numpy as np

import medebench as mb
from medebench.cases import Case, CaseSet
from medebench.tasks import Task

HERE = Path(__file__)
TRIAGE = Task("triage", "how urgent is it?", gives=("text",), takes=("prompt", "choices"))
FIGURE = Task("figure", "a figure with its legend", gives=("image", "text"), takes=("prompt",))


def questions(text, progress):
    urgent = ("now", "today", "later")
    cases = (
        Case("1", None, "Chest pain?", task="pain", choices=urgent, answer="now"),
        Case("2", None, "A mole?", task="pain", choices=urgent, answer="today"),
        Case("3", None, "No choices.", task="pain", answer="later"),
    )
    return CaseSet("questions", HERE.parent, cases, "", (), f"{HERE}:TRIAGE")


def figures(text, progress):
    cases = (Case("a", None, "Draw a lung."), Case("b", None, "Draw a heart."))
    return CaseSet("figures", HERE.parent, cases, "", (), f"{HERE}:FIGURE")


class Doctor(mb.System):
    """Answers with a text."""

    summary = "looks at the second letter"
    gives = ("text",)

    class Settings(mb.Settings):
        shift: int = 0

    def generate(self, request):
        choices = request.case.case.choices
        place = (ord(request.instruction[1]) + self.settings.shift) % len(choices)
        if request.k:
            return mb.Output(text=choices[place], detail={"k": request.k})
        return choices[place]


class Painter(mb.System):
    gives = ("image", "text")

    def generate(self, request):
        colour = request.generator().integers(0, 255, 3)
        image = np.broadcast_to(colour, (8, 9, 3)).astype(np.uint8)
        return mb.Output(image, f"{request.instruction} {colour.tolist()}")


class Legend:
    gives = ("text",)

    def generate(self, request):
        return request.instruction.upper()


class Silent(mb.System):
    gives = ("text",)

    def generate(self, request):
        return {"1": None, "2": mb.Output(text=5), "3": ""}[request.case.case.id]


class Shown(Doctor):
    demonstrations = 1

    def generate(self, request):
        (one,) = request.demonstrations
        return one.expected.text
'''


@pytest.fixture
def toy(tmp_path):
    path = tmp_path / "toy.py"
    path.write_text(textwrap.dedent(TOY))
    return path


def outputs(run):
    with run.ledger() as ledger:
        return ledger.outputs()


def text_of(run, case_id, k=0):
    return run.output_files(case_id, k).path("text").read_text("utf-8")


def test_a_system_that_answers_with_texts(toy, tmp_path):
    run = mb.generate(f"{toy}:questions", f"{toy}:Doctor:shift=1", tmp_path / "run", outputs=2)
    assert run.info.gives == ["text"] and run.info.task == f"{toy}:TRIAGE"
    assert run.info.editor == "Doctor" and run.info.settings == {"shift": 1}
    rows = outputs(run)
    assert [text_of(run, "1", k) for k in (0, 1)] == ["now", "now"]
    assert rows["1", 1].detail == {"k": 1} and rows["1", 0].sha256 == rows["1", 1].sha256
    reason = rows["3", 0].reason
    assert reason == "the case has no choices, which the task 'triage' needs"
    assert reason.kind == "refused"
    before = {path: path.stat().st_mtime_ns for path in run.edits.iterdir()}
    again = mb.generate(f"{toy}:questions", f"{toy}:Doctor:shift=1", run.path, outputs=2)
    assert outputs(again) == rows
    assert {path: path.stat().st_mtime_ns for path in run.edits.iterdir()} == before
    # A lost text is made again, and nothing else is.
    run.output_files("2", 0).path("text").unlink()
    mb.generate(f"{toy}:questions", f"{toy}:Doctor:shift=1", run.path, outputs=2)
    assert text_of(run, "2") in ("now", "today", "later")


def test_texts_with_images(toy, tmp_path):
    run = mb.generate(f"{toy}:figures", f"{toy}:Painter", tmp_path / "run")
    assert run.info.gives == ["image", "text"]
    for case_id in ("a", "b"):
        files = run.output_files(case_id, 0)
        output = files.decode(files.read())
        assert output.image.shape == (8, 9, 3)
        assert output.text.endswith(str(output.image[0, 0].tolist()))
    # A system that gives a part of what is asked for is taken.
    part = mb.generate(f"{toy}:figures", f"{toy}:Legend", tmp_path / "part")
    assert text_of(part, "a") == "DRAW A LUNG."
    assert not part.output_files("a", 0).path("image").exists()


def test_what_is_no_text_is_a_reason(toy, tmp_path):
    rows = outputs(mb.generate(f"{toy}:questions", f"{toy}:Silent", tmp_path / "run"))
    assert rows["1", 0].reason == "the system gave nothing; the task asks for text"
    assert "int as text" in rows["2", 0].reason


def test_demonstrations_may_be_texts(toy, tmp_path):
    rows = outputs(mb.generate(f"{toy}:questions", f"{toy}:Shown", tmp_path / "run"))
    assert rows["1", 0].reason is None and rows["2", 0].reason is None


def test_what_shares_no_part_with_the_task_is_refused_before_any_work(toy, small_set, tmp_path):
    out = tmp_path / "run"
    with pytest.raises(InputError, match="'Doctor': gives text, and the task 'editing' asks for"):
        mb.generate(small_set, f"{toy}:Doctor", out)
    with pytest.raises(InputError, match="editor 'blur': gives image, and the task 'triage' asks"):
        mb.generate(f"{toy}:questions", "blur", out)
    assert not out.exists()


def test_the_reference_is_the_ceiling_of_texts_too(toy, tmp_path):
    run = mb.generate(f"{toy}:questions", "reference", tmp_path / "run")
    assert text_of(run, "1") == "now" and run.info.control


def test_other_processes_find_task_and_system_again(toy, tmp_path):
    here = mb.generate(f"{toy}:questions", f"{toy}:Doctor", tmp_path / "here")
    there = mb.generate(
        f"{toy}:questions", f"{toy}:Doctor", tmp_path / "there", executor="processes", workers=1
    )
    assert {key: (row.sha256, row.reason) for key, row in outputs(here).items()} == {
        key: (row.sha256, row.reason) for key, row in outputs(there).items()
    }


def command(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_command_serves_every_task(toy, small_set, tmp_path):
    out = tmp_path / "run"
    done = command("generate", f"{toy}:questions", "--system", f"{toy}:Doctor", "--out", out)
    assert done.exit_code == 1 and "no choices" in done.stderr
    run = mb.open_run(out)
    assert text_of(run, "1") == "later"
    for name, option in (("edit", "--editor"), ("generate", "--system")):
        done = command(name, small_set, option, "blur", "--out", tmp_path / name, "--limit", 2)
        assert done.exit_code == 0, done.stderr
    assert (
        outputs(mb.open_run(tmp_path / "edit")).keys()
        == outputs(mb.open_run(tmp_path / "generate")).keys()
    )
    done = command("edit", f"{toy}:questions", "--editor", "blur", "--out", tmp_path / "no")
    assert done.exit_code == 2 and "asks for text" in done.stderr


def test_a_folder_with_a_table_is_told_its_task(toy, tmp_path, monkeypatch):
    folder = tmp_path / "set"
    (folder / "previous").mkdir(parents=True)
    write_bytes(folder / "previous" / "q.png", encode_png(np.zeros((4, 4, 3), np.uint8)))
    record = {"id": "q", "prompt": "How urgent?", "choices": ["now", "later"], "answer": "now"}
    (folder / "cases.jsonl").write_text(json.dumps(record))
    monkeypatch.chdir(tmp_path)
    words = ["generate", "set", "--task", "toy.py:TRIAGE", "--system", "toy.py:Doctor"]
    done = command(*words, "--out", "run")
    assert done.exit_code == 0, done.stderr
    monkeypatch.chdir("/")
    run = mb.open_run(tmp_path / "run")
    assert run.info.task == f"{toy}:TRIAGE" and run.cases.task == run.info.task
    assert [case.answer for case in run.cases] == ["now"]


def test_both_lists(toy):
    rows = json.loads(command("systems", "--json").stdout)
    editors = json.loads(command("editors", "--json").stdout)
    assert {row["system"] for row in rows} >= {row["editor"] for row in editors}
    assert all("image" in row["gives"] for row in editors)
    assert next(row for row in rows if row["system"] == "reference")["gives"] == ["image", "text"]
    one = command("systems", f"{toy}:Doctor")
    assert one.exit_code == 0 and "gives: text" in one.stdout
    assert "medebench generate CASES --system" in one.stdout


def test_a_plan_takes_systems_and_editors(toy, small_set, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        f"cases: {small_set}\nlimit: 2\nmetrics: [cp]\nground: false\nreport: false\n"
        "systems: [identity, {system: 'blur:sigma=1', name: soft}]\n"
        "editors: ['noise', {editor: blur, name: hard}]\n"
    )
    done = run_plan(load_plan(str(plan)))
    assert [run.name for run in done.runs] == ["identity", "soft", "noise", "hard"]
    plan.write_text(f"cases: {small_set}\nsystems: [blur]\neditors: ['toy.py:Doctor']\n")
    with pytest.raises(InputError, match="'Doctor': gives text"):
        run_plan(load_plan(str(plan)))
    plan.write_text(f"cases: {small_set}\nsystems: [{{system: blur, speed: 3}}]\n")
    with pytest.raises(InputError, match=r"systems\.0\.speed: no such field; there are: system"):
        load_plan(str(plan))


def test_a_plan_of_texts(toy, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("cases: toy.py:questions\nsystems: ['toy.py:Doctor']\nreport: false\n")
    done = run_plan(load_plan(str(plan)))
    assert text_of(done.runs[0], "1") == "later" and done.failed == 1
