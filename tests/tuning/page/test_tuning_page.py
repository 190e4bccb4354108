"""The page of an experiment: what is on it, what lies beside it."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import medebench as mb
from medebench.analysis.estimate import Estimate
from medebench.errors import InputError
from medebench.images.picture import Picture
from medebench.page.score_columns import describe
from medebench.tuning.learning_curve import answer
from medebench.tuning.page import Made, RunPictures, write_tuning_page
from medebench.tuning.page.figures.curve_panels import _draw, _Line, _Panel
from medebench.tuning.page.figures.end_labels import spread
from medebench.tuning.page.tuning_examples import chosen
from medebench.tuning.page.tuning_formats import scores_of
from medebench.tuning.page.tuning_tables import duration, forgetting_table
from medebench.tuning.tuning_answers import TuningAnswers
from tests.study.test_section import parse
from tests.tuning.page.conftest import HOSTILE, Pair
from tests.tuning.synthetic_outcome import EA, unfinished


class Drawn:
    """Pictures of no meaning; those after eight pairs are missing."""

    def prompt(self, case: str) -> str:
        return f"Instruction of {case}"

    def before(self, case: str) -> Picture:
        return self._picture(case, 0)

    def reference(self, case: str) -> Picture | None:
        if case.endswith("0"):
            raise InputError(f"/home/somebody/secret/{case}.png: not an image")
        return self._picture(case, 200)

    def output(self, case: str, made: Made) -> Picture | None:
        return None if made.samples == 8 else self._picture(case, 10 * made.samples)

    def _picture(self, case: str, level: int) -> Picture:
        found = np.full((40, 30, 3), level, np.uint8)
        found[: len(case)] = 255
        return found


@pytest.fixture(scope="module")
def page(usual: Pair, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "report"
    outcome, answers = usual
    return write_tuning_page(unfinished(outcome), answers, out, pictures=Drawn(), command="again")


def _bytes(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_is_sound_and_needs_nothing_from_elsewhere(page: Path):
    html = page.read_text()
    found = parse(html)
    assert len(found.ids) == len(set(found.ids))
    for link in found.links:
        if link.startswith("#"):
            assert link[1:] in found.ids, link
        elif not link.startswith("data:"):
            assert (page.parent / link).is_file(), link
    for source in re.findall(r'src="([^"]+)"', html):
        assert (page.parent / source).is_file(), source
    assert not re.search(r'(?:src|href)="(?:https?:)?//', html)


def test_the_answer_comes_first_and_what_is_missing_with_it(page: Path, usual: Pair):
    text = parse(page.read_text()).text
    places = [text.index(word.replace(" %", "\u00a0%")) for word in usual[1].words]
    assert places == sorted(places)
    assert places[-1] < text.index("Not all of it is done") < text.index("Files:")
    assert "123 of 126 trainings" in text and "3 draws × 2 seeds" in text
    assert "out of memory" in text
    assert "again" in text


def test_every_part_is_there(page: Path):
    ids = parse(page.read_text()).ids
    wanted = ["top", "curves", "samples", "changes", "contrasts", "trend", "forgetting", "memory"]
    assert [name for name in ids if name in (*wanted, "examples", "methods")] == [
        *wanted,
        "examples",
        "methods",
    ]


def test_files_have_every_number_in_full(page: Path, usual: Pair):
    outcome, answers = usual
    with (page.parent / "points.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(answers.points)
    for row, point in zip(rows, answers.points, strict=True):
        assert (row["task"], row["arm"], row["metric"]) == (point.task, point.arm, point.metric)
        assert float(row["mean"]) == point.mean.value
        low = float(row["change_low"]) if row["change_low"] else None
        assert low == point.change.low
    told = json.loads((page.parent / "results.json").read_text())
    assert told["words"] == list(answers.words)
    assert told["design"]["train"]["rank"] == 8
    assert len(told["contrasts"]) == len(answers.contrasts)
    assert len(told["trainings"]) == len(outcome.trainings) - 3 and len(told["missing"]) == 3
    assert {row["task"] for row in told["splits"]} == {fold.task for fold in outcome.folds}
    for name in ("trends.csv", "forgetting.csv", "memory.csv", "tables.md", "table.csv"):
        assert (page.parent / name).stat().st_size > 200
    latex = (page.parent / "tables.tex").read_text()
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") > 8


def test_figures_are_files_and_on_the_page(page: Path):
    drawn = sorted(path.name for path in (page.parent / "figures").iterdir())
    assert [name for name in drawn if name.startswith("curves")] == [
        f"curves-{score}.{ending}"
        for score in ("cp_published", "ea_openai-gpt-4o", "vq_openai-gpt-4o")
        for ending in ("pdf", "svg")
    ]
    svg = (page.parent / "figures" / "curves-ea_openai-gpt-4o.svg").read_text()
    for label in ("steps per sample", "same steps", "shuffled", "untouched", "copy", "in context"):
        assert label in svg
    for pairs in ("0", "4", "8", "16"):
        assert f">{pairs}</text>" in svg
    html = page.read_text()
    assert html.count("<svg") == 4
    # Colours follow the theme: none is left as it was drawn.
    assert "#0072b2" not in html[html.index("<main") :]


def test_examples_are_of_the_test_and_gaps_say_why(page: Path, usual: Pair):
    outcome, _ = usual
    text = parse(page.read_text()).text
    tests = {case for fold in outcome.folds for case in fold.test}
    shown = set(re.findall(r"Instruction of (\S+)", text))
    assert len(shown) == 9 and shown <= tests
    assert text.count("no output") == 9
    assert page.read_text().count("<figcaption>after 16 pairs") == 9
    assert "/home/" not in page.read_text()
    pictures = list((page.parent / "assets" / "examples").iterdir())
    assert pictures and all(path.suffix == ".webp" for path in pictures)


def test_examples_are_chosen_by_what_learning_did(usual: Pair):
    outcome, answers = usual
    score = scores_of(outcome, answers)[EA]
    task = outcome.folds[0].task
    found = chosen(outcome, task, "per-sample", score)
    values = outcome.scores.to_dicts()

    def mean(arm: str, samples: int, case: str) -> float:
        return float(
            np.mean(
                [
                    row["value"]
                    for row in values
                    if (row["task"], row["arm"], row["samples"]) == (task, arm, samples)
                    and (row["metric"], row["case"], row["elsewhere"]) == (EA, case, False)
                ]
            )
        )

    gains = {
        case: mean("per-sample", 16, case) - mean("untouched", 0, case)
        for case in outcome.folds[0].test
    }
    assert found[0][0] == max(gains, key=gains.__getitem__)
    assert found[-1][0] == min(gains, key=gains.__getitem__)
    lower = replace(score, better="lower")
    assert chosen(outcome, task, "per-sample", lower)[0][0] == found[-1][0]


def test_the_same_input_gives_the_same_bytes_whatever_page_was_there(
    page: Path, usual: Pair, phantom: Pair, tmp_path: Path
):
    outcome, answers = usual
    out = tmp_path / "again"
    write_tuning_page(*phantom, out)
    assert (out / "figures" / "curves-done.svg").is_file() and not (out / "missing.csv").exists()
    write_tuning_page(unfinished(outcome), answers, out, pictures=Drawn(), command="again")
    assert _bytes(out) == _bytes(page.parent)


def test_a_folder_of_somebody_else_is_refused(phantom: Pair, tmp_path: Path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        write_tuning_page(*phantom, tmp_path)


def test_names_of_strangers_are_text(hostile: Pair, tmp_path: Path):
    page = write_tuning_page(*hostile, tmp_path / "out", title=HOSTILE, command=HOSTILE)
    found = parse(page.read_text())
    assert "onerror=alert" in found.text
    assert "img" not in found.tags
    assert r"\$x\_1\$" in (tmp_path / "out" / "tables.tex").read_text()


def test_little_is_enough(phantom: Pair, tmp_path: Path):
    """Nothing but the points: no tests, no comparisons, and a score that was not measured."""
    outcome, answers = phantom
    points = [replace(one, p=None, p_holm=None, detectable=None) for one in answers.points]
    points[0] = replace(points[0], mean=Estimate(reason="none"), change=Estimate(reason="none"))
    bare = TuningAnswers("done", points, [], [], [], [], ["It is as it is."])
    page = write_tuning_page(replace(outcome, nearest=None), bare, tmp_path / "out")
    ids = parse(page.read_text()).ids
    assert "curves" in ids and "contrasts" not in ids and "memory" not in ids
    # One task: a panel for all of them would say the same again.
    assert page.read_text().count(">training pairs</text>") == 2


def test_forgetting_has_a_column_a_score(usual: Pair):
    outcome, answers = usual
    scores = list(scores_of(outcome, answers).values())
    table = forgetting_table(outcome, answers, scores)
    assert table is not None
    assert len(table.columns) == 1 + 2 * len(scores)
    one = next(f for f in answers.forgetting if f.metric == EA)
    values = {row.cells[0].value for row in table.rows}
    assert one.change.value in values


def test_pictures_come_from_run_folders(tmp_path: Path):
    cases = mb.load_cases("phantoms:count=2")
    run = mb.edit(cases, "blur", tmp_path / "run")
    case = next(iter(run.cases)).id
    found = RunPictures(cases, lambda made: run if made.arm == "untouched" else None)
    made = Made("task", "untouched", 0, -1, -1, 0)
    output = found.output(case, made)
    assert output is not None and output.shape == found.before(case).shape
    assert found.output(case, made._replace(arm="shuffled")) is None
    assert found.prompt(case) == cases[case].prompt
    assert not np.array_equal(output, found.before(case))


def test_labels_keep_apart_and_in_order():
    found = spread([0.0, 0.1, 0.2, 5.0, 9.9, 10.0], 1.0, 0.0, 10.0)
    assert found == sorted(found)
    assert min(np.diff(found)) >= 1.0 - 1e-9
    assert found[0] >= 0 and found[-1] <= 10
    assert spread([2.0, 6.0], 1.0, 0.0, 10.0) == [2.0, 6.0]


def test_the_name_of_the_score_is_beside_the_numbers_of_its_axis():
    """Where all scores are about the same, the numbers are long."""
    line = _Line("per-sample", [(0, Estimate(0.969, None)), (2, Estimate(0.971, None))])
    with _draw([_Panel("Add a ring", [line], {})], describe(["edit_residual"], {})[0]) as figure:
        figure.canvas.draw()
        axes = figure.axes[0]
        numbers = [one for one in axes.get_yticklabels() if one.get_text()]
        assert max(len(one.get_text()) for one in numbers) >= 5
        name = axes.yaxis.label.get_window_extent()
        assert name.x0 >= 0 and name.x1 < min(one.get_window_extent().x0 for one in numbers)


def test_durations_are_read_at_a_glance():
    assert [duration(s) for s in (40, 600, 11100)] == ["40 s", "10 min", "3 h 5 min"]


def test_a_page_before_anything_is_scored(usual: Pair, tmp_path: Path):
    outcome, _ = usual
    empty = replace(
        outcome, scores=outcome.scores.clear(), trainings=(), nearest=None, open={"a": "not yet"}
    )
    page = write_tuning_page(empty, answer(empty), tmp_path / "out")
    found = parse(page.read_text())
    assert "not yet" in found.text
    assert "curves" not in found.ids and "methods" in found.ids
