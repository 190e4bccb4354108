"""Two people rank a study in a real browser, in front of the real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.study.design import LETTERS, RUINED, Output, Study, Task
from medebench.study.study_setup import new_study
from tests.study.browser.person import (
    BACKSPACE,
    CONTROL,
    ENTER,
    ESCAPE,
    KEYS,
    SHIFT,
    Groups,
    Person,
    answers,
    at,
    token,
)
from tests.study.small import small_design, write_study

#: Who is how good, known in advance; two are tied in one dimension.
WANTED = {
    "ea": [["noise"], ["blur"], ["identity"]],
    "cp": [["identity"], ["blur"], ["noise"]],
    "vq": [["identity"], ["blur", "noise"]],
}


def wanted(task: Task) -> dict[str, Groups]:
    """The known order in the letters of this task; whatever was ruined comes last."""
    letters = dict(zip(task.order, LETTERS, strict=False))
    made = {}
    for key, groups in WANTED.items():
        ends = [[RUINED]] if RUINED in letters else []
        shown = [[letters[one] for one in group if one in letters] for group in [*groups, *ends]]
        made[key] = [sorted(group) for group in shown if group]
    return made


@pytest.fixture(scope="module")
def phantoms(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Three controls on phantoms as models, two annotators."""
    folder = tmp_path_factory.mktemp("phantoms")
    cases = mb.load_cases("phantoms:count=4")
    runs = [mb.edit(cases, name, out=folder / name) for name in ("identity", "blur", "noise")]
    made = new_study(
        runs, folder / "study", per_organ=1, annotators=["mouse", "keys"], controls=1, repeats=1
    )
    return made.study


def test_two_people_rank_a_study_from_the_invitation_to_the_last_case(
    driver: Any, phantoms: Study
) -> None:
    """One by mouse with a reload, undo and a skipped case; one by keyboard alone."""
    with at(driver, phantoms) as person:
        skipped = by_mouse(person, phantoms)
        by_keyboard(person, phantoms)
        sent = "\n".join([*person.requests(), driver.page_source])
        for run in phantoms.design.runs:
            assert f"/{run.name}" not in sent and f'"{run.name}"' not in sent
    for name in ("mouse", "keys"):
        annotator = phantoms.design.annotator(name)
        assert annotator is not None
        found = answers(phantoms, name)
        assert set(found) == set(range(len(annotator.tasks)))
        for place, task in enumerate(annotator.tasks):
            if (name, place) == ("mouse", skipped):
                assert found[place].state == "skipped"
                assert found[place].reason == "The reference is wrong: it shows another eye"
                continue
            assert found[place].state == "done"
            assert found[place].ranks == wanted(task), (name, place)
            assert 0 < found[place].seconds < 120
    _results_are_the_known_ranks(phantoms)


def _results_are_the_known_ranks(study: Study) -> None:
    """What the `results` command says of them."""
    done = CliRunner().invoke(app, ["study", "results", str(study.path)])
    assert done.exit_code == 0, done.output
    rows = pl.read_csv(study.path / "results" / "standings.csv")
    ranks = {
        (key, name): rank
        for key, name, rank in rows.select("dimension", "model", "mean_rank").iter_rows()
    }
    assert ranks == {
        ("ea", "noise"): 1.0,
        ("ea", "blur"): 2.0,
        ("ea", "identity"): 3.0,
        ("cp", "identity"): 1.0,
        ("cp", "blur"): 2.0,
        ("cp", "noise"): 3.0,
        ("vq", "identity"): 1.0,
        ("vq", "blur"): 2.5,
        ("vq", "noise"): 2.5,
    }
    agreed = pl.read_csv(study.path / "results" / "agreement.csv")
    assert set(agreed.filter(pl.col("measure") == "spearman")["value"].drop_nulls()) == {1.0}
    people = pl.read_csv(study.path / "results" / "annotators.csv")
    assert people["controls_failed"].to_list() == [0, 0]


def by_mouse(person: Person, study: Study) -> int:
    """The place that was skipped."""
    annotator = study.design.annotator("mouse")
    assert annotator is not None
    person.begin(token(study, "mouse"))
    assert person.text("#count") == "Trial"
    assert "does not count" in person.text("#trial")
    assert person.orders == {key: [] for key in KEYS}  # nothing is filled in
    last = len(annotator.tasks) - 1
    for place, task in enumerate(annotator.tasks):
        person.at_place(place)
        order = wanted(task)
        if place == 1:
            assert not person.shown("trial")
            before_reload(person, order)
        elif place == last:
            person.find("#skip-open").click()
            assert not person.find("#skip-go").is_enabled()
            person.find("#reason-2").click()
            person.find("#skip-text").send_keys("it shows another eye")
            person.find("#skip-go").click()
            person.until(lambda: person.shown("thanks"), "the end")
            break
        else:
            person.rank_by_mouse(order)
        assert person.orders == order
        person.go_on()
    assert f"You ranked {last - 1} of {last} cases and skipped 1" in person.text("#thanks-words")
    assert len(person.driver.find_elements("css selector", "#thanks-skipped button")) == 1
    return last


def before_reload(person: Person, order: dict[str, Groups]) -> None:
    """Half a case, a reload, undo of what was done before it, and the rest."""
    (first,), (second,), (third,) = order["ea"]
    person.drag("ea", third, 0)
    person.drag("ea", first, 0, aside=-0.85)  # a new place before it
    assert person.order("ea") == [[first], [third]]
    person.drag("ea", second, 0)  # by mistake: tied with the first
    assert person.order("ea") == [sorted([first, second]), [third]]
    person.settle()
    person.driver.refresh()
    person.until(lambda: person.shown("case"), "the case again")
    assert person.place == 1
    assert person.order("ea") == [sorted([first, second]), [third]]
    person.find("#undo").click()
    assert person.order("ea") == [[first], [third]]
    person.find("#redo").click()
    assert person.order("ea") == [sorted([first, second]), [third]]
    person.find("#undo").click()
    # The two clicks that do the same as dragging: take up, put down between the two.
    person.chip("ea", second).click()
    slot = person.slot("ea", 0)
    aside = round(0.425 * slot.size["width"])
    person.chain().move_to_element(slot).move_by_offset(aside, 0).click().perform()
    assert person.order("ea") == order["ea"]
    person.rank_by_mouse({key: order[key] for key in ("cp", "vq")})


def by_keyboard(person: Person, study: Study) -> None:
    annotator = study.design.annotator("keys")
    assert annotator is not None
    person.join(token(study, "keys"))
    person.until(lambda: person.shown("instructions"))
    person.press("\ue004")  # Tab until the button; nothing is touched with the mouse
    for _ in range(20):
        if person.js("document.activeElement.id") == "begin":
            break
        person.press("\ue004")
    person.press(ENTER)
    person.until(lambda: person.shown("case"))
    for place, task in enumerate(annotator.tasks):
        person.at_place(place)
        order = wanted(task)
        if place == 2:
            keyboard_detours(person, order)
            person.press(ENTER)
            person.rank_by_keyboard({key: order[key] for key in ("cp", "vq")})
        else:
            person.rank_by_keyboard(order)
    person.until(lambda: person.shown("thanks"), "the end")


def keyboard_detours(person: Person, order: dict[str, Groups]) -> None:
    """Numbers, arrows, undo and a reload, ending at the order that is wanted."""
    a, b, c = (letter for (letter,) in order["ea"])
    person.press(a.lower(), "1", b.lower(), "3", c.lower(), "2")
    assert person.order("ea") == [[a], [c], [b]]
    person.press("\ue013")  # c before a
    assert person.order("ea") == [[c], [a], [b]]
    person.press("\ue015")
    assert person.order("ea") == [[a], [c], [b]]
    person.settle()  # a step that was saved is one that undo finds after a reload
    person.press("=")
    assert person.order("ea") == [sorted([a, c]), [b]]
    person.press(BACKSPACE)
    assert person.order("ea") == [[a], [b]]
    assert f"{c}, not ranked" in person.text("#live")
    person.press("z", held=CONTROL)
    assert person.order("ea") == [sorted([a, c]), [b]]
    person.settle()
    person.driver.refresh()
    person.until(lambda: person.shown("case"))
    person.press("z", held=CONTROL)  # also leads back to the question it is about
    assert person.order("ea") == [[a], [c], [b]]
    person.press(b.lower(), "\ue013")
    assert person.order("ea") == order["ea"]


def test_a_half_done_case_opens_on_the_first_question_that_is_left(
    small: tuple[Study, Person],
) -> None:
    study, person = small
    person.begin(token(study))

    def current() -> str:
        return str(person.js("document.querySelector('.dimension.current').dataset.key"))

    def dot() -> str:
        code = "getComputedStyle(document.getElementById('saved'), '::before').backgroundColor"
        return str(person.js(code))

    assert current() == "ea" and person.text("#saved") == "nothing saved yet"
    nothing = dot()
    person.press("a", "b", "c", ENTER, "b")
    person.settle()
    assert dot() != nothing
    person.driver.refresh()
    person.until(lambda: person.shown("case"), "the case again")
    assert current() == "cp"
    focused = "document.activeElement.closest('.dimension')?.dataset.key"
    assert person.js(focused) == "cp"
    person.press("a", "=", "c")  # goes on where it was left; the first question is untouched
    assert person.orders == {"ea": [["A"], ["B"], ["C"]], "cp": [["A", "B"], ["C"]], "vq": []}
    person.settle()
    person.jump(1)
    person.at_place(1)
    assert current() == "ea"
    person.jump(0)
    person.at_place(0)
    assert current() == "vq"
    person.press("c", "b", "a", ENTER)
    person.at_place(1)
    person.jump(0)  # all of it is done: from the beginning
    person.at_place(0)
    assert current() == "ea"


def test_nothing_is_tied_in_a_finished_question_that_was_not_just_chosen(
    small: tuple[Study, Person],
) -> None:
    study, person = small
    person.begin(token(study))
    order = [["A"], ["B"], ["C"]]
    person.press("a", "b", "c")

    def unchanged() -> None:
        for key in ("=", "t"):
            person.press(key)
            assert person.order("ea") == order
            assert "Nothing is selected" in person.text("#live")

    person.find(".instruction").click()  # to something else, and back
    unchanged()
    person.press("c", "z")
    person.until(lambda: person.js("document.getElementById('large').open"))
    person.press(ESCAPE)
    person.until(lambda: not person.js("document.getElementById('large').open"))
    unchanged()
    person.press("c", "?")
    person.until(lambda: person.js("document.getElementById('help').open"))
    person.press(ESCAPE)
    person.until(lambda: not person.js("document.getElementById('help').open"))
    unchanged()
    person.settle()
    person.driver.refresh()
    person.until(lambda: person.shown("case"), "the case again")
    person.find('.dimension[data-key="ea"] h2').click()
    unchanged()
    person.press("c", "=")  # what was just chosen is
    assert person.order("ea") == [["A"], ["B", "C"]]


def test_shift_makes_no_difference_where_it_makes_no_command(small: tuple[Study, Person]) -> None:
    study, person = small
    person.begin(token(study))
    person.press("B", "A", "C", held=SHIFT)
    assert person.order("ea") == [["B"], ["A"], ["C"]]
    person.chain().key_down(SHIFT).key_down("F").perform()
    assert not person.js("document.querySelector('#pictures.flicker')")  # said to be F alone
    person.chain().key_up("F").key_up(SHIFT).key_down("f").perform()
    assert person.js("document.querySelector('#pictures.flicker')")
    person.chain().key_up("f").perform()
    person.press("S", held=SHIFT)
    assert person.js("document.getElementById('skip').open")


def test_with_six_outputs_shift_f_is_still_the_command(driver: Any, tmp_path: Path) -> None:
    models = [f"m{number}" for number in range(6)]
    design = small_design()
    case = design.cases[0]
    case.outputs = {name: Output(picture=f"{name}.png") for name in models}
    for annotator in design.annotators:
        annotator.tasks = [Task(kind="trial", case=0, order=models)]
    study = write_study(tmp_path / "study", design)
    with at(driver, study) as person:
        person.begin(token(study))
        person.chain().key_down(SHIFT).key_down("F").perform()
        assert person.js("document.querySelector('#pictures.flicker')")
        assert person.order("ea") == []
        person.chain().key_up("F").key_up(SHIFT).perform()
        person.press("f")
        person.press("E", held=SHIFT)
        assert person.order("ea") == [["F"], ["E"]]
