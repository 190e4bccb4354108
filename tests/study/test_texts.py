"""A study of texts, and of images with texts: from the runs to the results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from medebench.cli import app
from medebench.errors import ImageError, InputError
from medebench.files import sha256
from medebench.images.picture import read_picture
from medebench.study.case_drawings import ruin_text
from medebench.study.design import LETTERS, RUINED, Study, StudyCase, Task, choose_questions
from medebench.study.rankings import control_passed
from medebench.study.server.answer_store import open_store
from medebench.study.server.serve import serving
from medebench.study.server.stored_answers import Save
from medebench.study.study_setup import NewStudy, new_study
from tests.study.conftest import Panel
from tests.study.toys import ANSWERS, EXPLAINED, MARKUP, make_runs, write_cases

BEST = ("alpha", "beta", "gamma", RUINED)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> NewStudy:
    folder = tmp_path_factory.mktemp("texts")
    runs = make_runs(write_cases(folder / "cases", count=8), folder)
    return new_study(runs, folder / "study", per_organ=2, annotators=["Ann", "Bob"])


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> NewStudy:
    folder = tmp_path_factory.mktemp("both")
    runs = make_runs(write_cases(folder / "cases", draws=True, count=8), folder)
    return new_study(runs, folder / "study", per_organ=2, annotators=["Ann", "Bob"])


def rank_all(study: Study) -> None:
    """Everybody puts the systems into their known order."""
    with open_store(study) as store:
        for one in study.design.annotators:
            for place, task in enumerate(one.tasks):
                letters = dict(zip(task.order, LETTERS, strict=False))
                groups = [[letters[name]] for name in BEST if name in letters]
                ranks = dict.fromkeys(study.design.dimensions, groups)
                key = f"{one.name}-{place:06d}"
                store.save(Save(one.name, place, 0, key, "done", ranks, seconds=30.0))


def test_the_sample_is_drawn_by_the_leading_group_of_the_task(
    texts: NewStudy, both: NewStudy
) -> None:
    assert texts.groups == {"CT": (2, 4), "X-ray": (2, 4)}
    assert both.groups == {"fluid": (2, 4), "nodules": (2, 4)}
    assert (texts.study.design.grouping, both.study.design.grouping) == ("modality", "subtask")
    assert texts.study.design.title == "Ranking answers"


def test_cases_are_shown_as_their_card_says(texts: NewStudy) -> None:
    for case in texts.study.design.cases:
        number = int(case.id)
        told = {one.label: one.text for one in case.texts}
        assert told["Question"] == f"What does case {number} show?"
        assert told["Reference"] == "A pneumothorax on the left."
        assert ("Choices" in told) == (number % 3 == 1)
        names = [(one.name, one.label) for one in case.images]
        first = [("previous", "Input")] if number % 3 else []
        assert names == first + ([("image-2", "Lateral")] if number % 3 == 1 else [])
        assert bool(case.width) == bool(names) and not case.comparable
    choices = [one.text for case in texts.study.design.cases for one in case.texts]
    assert "A. Pneumothorax\nB. Effusion\nC. Normal" in choices


def test_texts_are_those_of_the_runs_under_names_that_tell_nothing(texts: NewStudy) -> None:
    study = texts.study
    named = [name for case in study.design.cases for name in case.files]
    assert sorted(named) == sorted(path.name for path in study.pictures.iterdir())
    for case in study.design.cases:
        for run in study.design.runs:
            shown = case.outputs[run.name]
            file = Path(run.path) / "edits" / f"{case.id}_0.txt"
            assert shown.picture is None and shown.text is not None
            assert shown.sha256 == sha256(file.read_bytes())
            assert (study.pictures / shown.text).read_bytes() == file.read_bytes()
            assert len(Path(shown.text).stem) == 16
    assert len({path.stat().st_mtime_ns for path in study.pictures.iterdir()}) == 1


def test_images_with_texts_are_one_thing(both: NewStudy) -> None:
    for case in both.study.design.cases:
        assert case.comparable
        for output in case.outputs.values():
            assert output.picture is not None and output.text is not None
            image = read_picture(both.study.pictures / output.picture)
            assert image.shape == (90, 120, 3)


def test_a_control_has_a_text_that_nobody_takes_for_an_answer(
    texts: NewStudy, both: NewStudy
) -> None:
    for made in (texts, both):
        ruined = [case for case in made.study.design.cases if RUINED in case.outputs]
        assert len(ruined) == 2
        for case in ruined:
            name = case.outputs[RUINED].text
            assert name is not None and (case.outputs[RUINED].picture is None) == (made is texts)
            words = (made.study.pictures / name).read_text("utf-8").split()
            real = {
                word
                for one in case.outputs.values()
                if one.text not in (None, name)
                for word in (made.study.pictures / str(one.text)).read_text("utf-8").split()
            }
            assert len(words) >= 8 and len(set(words) - real) > len(set(words)) / 2


def test_a_ruined_text_follows_from_text_and_key() -> None:
    assert ruin_text("no", "a") == ruin_text("no", "a")
    assert ruin_text("a heart of normal size", "a") != ruin_text("a heart of normal size", "b")
    assert len(ruin_text("", "a").split()) == 8


def test_questions_come_from_the_rubric_or_are_one(texts: NewStudy, both: NewStudy) -> None:
    assert [one.key for one in texts.study.design.asked] == ["overall"]
    asked = both.study.design.asked
    assert [one.name for one in asked] == ["Accuracy", "Plain language"]
    assert asked[0].hint == "Is what is drawn and said correct?"
    assert [one.key for one in choose_questions(EXPLAINED, ["overall", "accuracy"])] == [
        *("overall", "accuracy")
    ]
    with pytest.raises(InputError, match="dimensions: no 'ea'; choose from overall"):
        choose_questions(ANSWERS, ["ea"])


def test_the_ruined_one_must_be_below_something() -> None:
    asked = Task(kind="control", case=0, order=["x", RUINED, "y"])
    tied, last = [["A", "B", "C"]], [["A", "C"], ["B"]]
    assert not control_passed(asked, {"overall": tied}, ["overall"])
    assert control_passed(asked, {"overall": last}, ["overall"])
    assert control_passed(asked, {"accuracy": tied, "tone": last}, ["accuracy", "tone"])
    assert not control_passed(asked, {"accuracy": tied, "tone": tied}, ["accuracy", "tone"])


def test_the_panel_is_told_letters_and_texts_and_nothing_else(texts: NewStudy) -> None:
    with serving(texts.study) as url:
        panel = Panel(texts.study, url, None)
        tab = panel.sign_in("Ann")
        about = tab.get("/api/study").json()
        assert about["gives"] == ["text"] and about["images"] and not about["flicker"]
        found = set()
        for one in about["tasks"]:
            answer = tab.get(f"/api/tasks/{one['place']}")
            for run in texts.study.design.runs:
                assert run.name not in answer.text and run.editor not in answer.text
            found |= {output["text"] for output in answer.json()["outputs"].values()}
            assert tab.get(f"/pictures/{one['place']}/A.png").status_code == 404
        assert MARKUP in found
        panel.close()


def test_results_know_the_order_and_speak_of_it(both: NewStudy, tmp_path: Path) -> None:
    rank_all(both.study)
    out = tmp_path / "results"
    call = ["study", "results", str(both.study.path), "--out", str(out), "--json"]
    answer = CliRunner().invoke(app, call)
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)
    for key in ("accuracy", "plain-language"):
        rows = [one for one in found["standings"] if one["dimension"] == key]
        assert [one["model"] for one in rows] == ["alpha", "beta", "gamma"]
    assert [one["name"] for one in found["dimensions"]] == ["Accuracy", "Plain language"]
    assert all(one["controls_failed"] == 0 for one in found["annotators"])
    assert "Plain language" in (out / "results.md").read_text("utf-8")
    assert (out / "figures" / "people-standings.svg").is_file()
    table = tmp_path / "rankings.csv"
    call = ["study", "export", str(both.study.path), "--out", str(table)]
    assert CliRunner().invoke(app, call).exit_code == 0
    lines = table.read_text("utf-8").splitlines()
    assert "group" in lines[0].split(",") and ",nodules," in "\n".join(lines)
    answer = CliRunner().invoke(app, ["study", "results", str(table), "--out", str(out), "--json"])
    assert answer.exit_code == 0, answer.output


def test_an_answer_that_is_not_the_ledgers_is_refused(tmp_path: Path) -> None:
    cases = write_cases(tmp_path / "cases", count=2)
    runs = make_runs(cases, tmp_path)
    (runs[1].edits / "2_0.txt").write_text("other", "utf-8")
    with pytest.raises(ImageError, match=r"2_0\.txt: is not the output that its run's ledger"):
        new_study(runs, tmp_path / "study", per_organ=1)
    assert not (tmp_path / "study").exists()


def test_runs_of_two_tasks_are_not_compared(tmp_path: Path) -> None:
    runs = make_runs(write_cases(tmp_path / "one", count=2), tmp_path / "a")
    more = make_runs(write_cases(tmp_path / "two", draws=True, count=2), tmp_path / "b")
    with pytest.raises(InputError, match="a study compares runs of one task"):
        new_study([runs[0], more[1]], tmp_path / "study")


def test_a_case_of_format_1_is_read() -> None:
    """Which had one field for each thing that editing shows."""
    old = {
        "id": "1",
        "organ": "Skin",
        "source": "s",
        "instruction": "Remove it.",
        "description": "Gone.",
        "width": 4,
        "height": 3,
        "previous": "p.png",
        "reference": "r.png",
        "outline": "o.png",
        "outputs": {"x": {"picture": "x.png"}},
    }
    case = StudyCase.model_validate(old)
    assert case.group == "Skin" and case.files == ["p.png", "o.png", "r.png", "x.png"]
    assert [one.text for one in case.texts] == ["Remove it.", "Gone."]
    assert [one.name for one in case.images] == ["previous", "reference"] and case.comparable
