"""Questions asked once for each rotation of their options: a habit for a letter gains nothing."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import medebench as mb
from medebench.cases import Case, CaseSet
from medebench.cases.option_rotation import rotated, rotation_problem
from medebench.cli import app
from medebench.errors import InputError
from medebench.reporting.collect import collect

HERE = __file__
TEXTS = ("Liver", "Spleen", "Left kidney", "Right kidney")
ABOVE = ("A. Oedema", "B. Haemorrhage", "C. Both of the above", "D. None of the above")


def cases(text, progress):
    """12 questions whose right answer is A in 9 of them, as in sets that nobody has balanced."""
    from medebench.files import cache_folder

    folder = cache_folder() / "circular"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "in.png").exists():
        Image.fromarray(np.zeros((20, 30, 3), np.uint8)).save(folder / "in.png")
    found = []
    for number in range(12):
        right = 0 if number < 9 else number - 8
        choices = tuple(f"{letter}. {one}" for letter, one in zip("ABCD", TEXTS, strict=True))
        prompt = f"Question {number}: which organ?\nOptions:\n" + "\n".join(choices)
        answer, task = choices[right], "multiple-choice"
        found.append(
            Case(f"q{number}", folder / "in.png", prompt, task=task, choices=choices, answer=answer)
        )
    above = "Which?\nOptions:\n" + "\n".join(ABOVE)
    found.append(
        Case(
            "above", folder / "in.png", above, task=task, choices=ABOVE, answer="C. " + ABOVE[2][3:]
        )
    )
    gap = Case("gap", folder / "in.png", "It is the ____.", task="blank-filling", answer="liver")
    return CaseSet("circular", folder, (*found, gap), text, task="vqa")


class FirstOption(mb.System):
    """Says A, whatever is asked."""

    gives = ("text",)

    def generate(self, request):
        return "The answer is A."


class Knows(mb.System):
    """Knows which organ each question is about, and finds its letter in the instruction."""

    gives = ("text",)

    def generate(self, request):
        number = re.search(r"Question (\d+)", request.instruction)
        if number is None:
            return "C" if request.case.case.choices else "liver"
        right = TEXTS[0 if int(number[1]) < 9 else int(number[1]) - 8]
        return re.search(rf"^([A-D])\. {right}$", request.instruction, re.M)[1]


class Fails(mb.System):
    """Answers the question as it is, and no rotation of it."""

    gives = ("text",)

    def generate(self, request):
        if request.case.case.choices and not request.instruction.endswith("kidney"):
            raise mb.Refused("the model could not be asked")
        return "A"


def scores(run, metric):
    rows = run.frame().filter(metric=metric).iter_rows(named=True)
    return {row["case"]: row["value"] for row in rows}, {
        row["case"]: row["kind"] for row in run.frame().filter(metric=metric).iter_rows(named=True)
    }


METRICS = "choice_accuracy,choice_accuracy_circular,gap_accuracy"


def test_a_habit_for_a_letter_is_seen_through(tmp_path):
    means = {}
    for name in ("FirstOption", "Knows"):
        run = mb.generate(f"{HERE}:cases", f"circular:{HERE}:{name}", tmp_path / name)
        mb.score(run, METRICS)
        for metric in METRICS.split(",")[:2]:
            values = [one for key, one in scores(run, metric)[0].items() if key.startswith("q")]
            assert len(values) == 12 and None not in values
            means[name, metric] = sum(values) / 12
    assert means["FirstOption", "choice_accuracy"] == 0.75
    assert means["FirstOption", "choice_accuracy_circular"] == 0.0
    assert means["Knows", "choice_accuracy"] == 1.0
    assert means["Knows", "choice_accuracy_circular"] == 1.0


def test_what_cannot_be_rotated_is_left_out_with_a_reason(tmp_path):
    run = mb.generate(f"{HERE}:cases", f"circular:{HERE}:Knows", tmp_path / "run")
    mb.score(run, METRICS)
    values, kinds = scores(run, "choice_accuracy_circular")
    assert values["above"] is None and kinds["above"] == "not-applicable"
    assert values["gap"] is None and kinds["gap"] == "not-applicable"
    assert scores(run, "choice_accuracy")[0]["above"] == 1.0
    assert scores(run, "gap_accuracy")[0]["gap"] == 1.0
    with run.ledger() as ledger:
        told = {row.case_id: row.detail for row in ledger.outputs().values()}
        rows = {row.case_id: row for row in ledger.scores() if row.metric.endswith("circular")}
    assert "about the others" in told["above"]["unrotated"]
    assert [one["text"] for one in told["q0"]["rotations"]] == ["A", "D", "C", "B"]
    assert rows["q0"].detail["read"] == ["A"] * 4 and rows["q0"].detail["hits"] == 4
    assert collect([run]).aside.filter(metric="choice_accuracy_circular").rows()[0][2] == 2


def test_a_rotation_that_failed_is_no_wrong_answer(tmp_path):
    run = mb.generate(f"{HERE}:cases", f"circular:{HERE}:Fails", tmp_path / "run")
    mb.score(run, METRICS)
    values, kinds = scores(run, "choice_accuracy_circular")
    assert values["q0"] is None and kinds["q0"] == "no-output"
    assert scores(run, "choice_accuracy")[0]["q0"] == 1.0


def test_without_rotations_there_is_no_circular_score(tmp_path):
    run = mb.generate(f"{HERE}:cases", f"{HERE}:Knows", tmp_path / "run")
    mb.score(run, METRICS)
    values, kinds = scores(run, "choice_accuracy_circular")
    assert values["q0"] is None and kinds["q0"] == "undefined"


def test_the_command_line_asks_in_circles_and_continues(tmp_path):
    call = ["generate", f"{HERE}:cases", "--system", f"{HERE}:FirstOption", "--circular"]
    done = CliRunner().invoke(app, [*call, "--out", str(tmp_path / "run"), "--json"])
    assert done.exit_code == 0, done.output
    run = mb.open_run(tmp_path / "run")
    assert run.info.editor == "circular" and run.info.settings["system"]["name"] == "FirstOption"
    with run.ledger() as ledger:
        before = ledger.outputs()
    done = CliRunner().invoke(app, [*call, "--out", str(tmp_path / "run"), "--json"])
    assert done.exit_code == 0 and json.loads(done.output)
    with run.ledger() as ledger:
        assert ledger.outputs() == before


def test_a_system_of_images_is_refused(tmp_path):
    with pytest.raises(InputError, match="gives no text"):
        mb.generate(f"{HERE}:cases", "circular:identity", tmp_path / "run")


def test_rotation_moves_texts_and_keeps_letters():
    case = next(iter(cases("", None)))
    turned = rotated(case, 1)
    assert turned.choices == ("A. Spleen", "B. Left kidney", "C. Right kidney", "D. Liver")
    assert turned.answer == "D. Liver"
    assert turned.prompt.splitlines()[2:] == list(turned.choices)
    assert rotated(case, 4) == rotated(case, 0) == case
    answers = {rotated(case, turn).answer for turn in range(4)}
    assert answers == {"A. Liver", "B. Liver", "C. Liver", "D. Liver"}


@pytest.mark.parametrize(
    ("choices", "prompt", "why"),
    [
        (("A. Oedema", "B. All of the above"), "Which?", "about the others"),
        (("A. Oedema", "B. Mass", "C. Both A and B"), "Which?", "about the others"),
        (("A. Oedema", "B. Mass", "C. A and B"), "Which?", "about the others"),
        (("A. Oedema", "B. None of these"), "Which?", "about the others"),
        (("A. Oedema", "B. oedema"), "Which?", "the same"),
        (("A. Oedema", "B. Mass"), "Which?\nA) the oedema\nB) a mass", "otherwise"),
        ((), "Which?", "no choices"),
        (("A. Oedema", "B. Mass"), "Which?\nA. Oedema\nB. Mass", None),
        (("A. Both lungs", "B. All lobes of the left lung"), "Which?", None),
        (("A. Lung", "B. Left lung"), "Options: A. Lung B. Left lung", None),
    ],
)
def test_what_can_be_rotated(choices, prompt, why):
    found = rotation_problem(Case("1", None, prompt, choices=choices))
    assert (found is None) if why is None else (why in found)
