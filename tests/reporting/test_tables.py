"""The headline table: its numbers are those of the analysis, in every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

import medebench as mb
from medebench.analysis import compare_runs, summarise
from medebench.errors import InputError
from medebench.page.score_columns import DIAGNOSTIC
from medebench.reporting import HeadlineTable, headline_table
from medebench.reporting.collect import collect
from medebench.reporting.headline_table import MARK
from medebench.reporting.methods import warnings_of
from tests.reporting.conftest import FakeJudge, make_runs, make_set


@pytest.fixture(scope="module")
def table(runs: list[mb.Run]) -> HeadlineTable:
    return headline_table(runs)


def test_numbers_are_those_of_the_analysis(runs: list[mb.Run], table: HeadlineTable) -> None:
    frame = pl.concat([run.frame() for run in runs]).rename({"organ": "group"})
    expected = summarise(
        frame.filter(~pl.col("metric").is_in(sorted(DIAGNOSTIC))),
        bounds={score.name: score.bounds for score in table.columns},
    )
    checked = 0
    for row in expected.iter_rows(named=True):
        found = next(r for r in table.rows if r.entry and r.name == row["run"])
        cell = found.cells["own", row["metric"]]
        assert (cell.micro.value, cell.micro.low, cell.micro.high) == (
            row["mean"],
            row["low"],
            row["high"],
        )
        assert cell.macro.value == row["macro"]
        assert (cell.scored, cell.total) == (row["scored"], row["total"])
        checked += 1
    assert checked == 4 * 8


def test_models_then_controls_then_published(table: HeadlineTable) -> None:
    kinds = [row.kind for row in table.rows]
    assert kinds == ["model"] * 2 + ["control"] * 2 + ["published"] * 7
    assert [row.name for row in table.rows[:4]] == ["good", "poor", "identity", "reference"]
    assert table.rows[3].note == "9 cases, sees the reference"


def test_best_model_is_bold_and_a_control_never(table: HeadlineTable) -> None:
    best = [row.name for row in table.of("model") if row.cells["own", "cp"].best_micro]
    assert best == ["good"]
    assert not any(cell.best_micro for row in table.of("control") for cell in row.cells.values())
    assert not any(row.cells["own", "change_inside"].best_micro for row in table.of("model"))


def test_mark_follows_the_paired_test(runs: list[mb.Run], table: HeadlineTable) -> None:
    frame = pl.concat([run.frame() for run in runs]).rename({"organ": "group"})
    for metric in ("cp", "ssim", "intended_offline"):
        [pair] = compare_runs(frame, metric, ["good", "poor"])
        poor = next(row for row in table.rows if row.name == "poor")
        assert (poor.cells["own", metric].mark == MARK) == pair.significant()
    assert poor.cells["own", "ssim"].mark == MARK  # 9 cases, all worse: p = 2 / 2^9


def test_headline_decides_the_order(runs: list[mb.Run]) -> None:
    names = [column.name for column in headline_table(runs, headline="cp_published").columns]
    assert names.index("cp_published") < names.index("cp")
    assert names[0] == "intended_offline"
    with pytest.raises(InputError, match="headline 'psnr': choose cp or cp_published"):
        headline_table(runs, headline="psnr")


def test_csv_is_complete_and_exact(runs: list[mb.Run], table: HeadlineTable) -> None:
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    one = next(r for r in rows if r["run"] == "good" and r["metric"] == "cp")
    cell = next(row for row in table.rows if row.name == "good").cells["own", "cp"]
    assert float(one["mean"]) == cell.micro.value
    assert one["coverage"].startswith("scored 8 of 9; 1 ")
    assert {
        r["stand_in"] for r in rows if r["metric"] == "intended_offline" and r["kind"] == "model"
    } == {"yes"}


def test_markdown_keeps_its_shape(table: HeadlineTable) -> None:
    lines = [line for line in table.markdown().splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in lines} == {len(table.columns) + 2}
    assert "not comparable with the paper's GPT-4o" in table.markdown()


def test_latex_is_a_whole_table(table: HeadlineTable) -> None:
    text = table.latex()
    body = [line for line in text.splitlines() if " & " in line]
    assert {line.count(" & ") for line in body} == {len(table.columns)}
    assert all(line.endswith(r"\\") for line in body)
    assert text.count(r"\begin") == text.count(r"\end")
    assert text.count("{") == text.count("}")


def test_json_can_be_written(table: HeadlineTable) -> None:
    value = json.loads(json.dumps(table.to_json(), allow_nan=False))
    assert value["rows"][0]["scores"]["cp"]["scored"] == 8
    assert value["columns"][0]["stand_in"] is True


def test_terminal_table_takes_names_as_text(table: HeadlineTable) -> None:
    from rich.console import Console

    console = Console(width=200, record=True, file=io.StringIO())
    console.print(table.rich())
    text = console.export_text()
    assert "good" in text and "8/9" in text and "offline stand-in" in text


def test_runs_on_different_cases_are_compared_on_shared_ones(
    small_set: mb.CaseSet, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("partial")
    runs = make_runs(small_set, out, only=5, judge=FakeJudge())
    table = headline_table(runs)
    assert table.basis == "shared" and table.n_shared == 5
    assert table.rows[0].note == "5 of 9 cases"
    control = next(row for row in table.rows if row.name == "identity")
    assert control.cells["own", "ssim"].total == 9
    assert control.cells["shared", "ssim"].total == 5
    assert any("5 cases that every run has" in note for note in table.notes)


def test_other_content_under_the_same_id_is_another_case(
    runs: list[mb.Run], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("changed")
    cases = mb.load_cases(make_set(folder / "set", texts=["Quite another instruction."]))
    [other] = make_runs(cases, folder, models=["other"], controls=[], judge=FakeJudge())
    table = headline_table([*runs, other])
    assert table.n_shared == 8


def test_a_run_without_scores_says_what_to_do(small_set: mb.CaseSet, tmp_path: Path) -> None:
    run = mb.edit(small_set, "identity", out=tmp_path / "fresh")
    with pytest.raises(InputError, match=r"no scores yet; run `medebench score .*fresh`"):
        headline_table([run])


def test_two_runs_of_one_name_are_refused(small_set: mb.CaseSet, tmp_path: Path) -> None:
    first = mb.edit(small_set, "identity", out=tmp_path / "a" / "same")
    second = mb.edit(small_set, "blur", out=tmp_path / "b" / "same")
    with pytest.raises(InputError, match="two runs are called 'same'"):
        headline_table([first, second])
    with pytest.raises(InputError, match="no run given"):
        headline_table([])


def test_outputs_made_after_scoring_count_as_missing(small_set: mb.CaseSet, tmp_path: Path) -> None:
    few = small_set.select(limit=5)
    run = mb.edit(few, "blur", out=tmp_path / "blur")
    mb.score(run, metrics=["ssim"])
    mb.edit(few, "blur", out=tmp_path / "blur", outputs=2)
    [row] = headline_table([mb.open_run(run.path)], published=False).rows
    assert row.cells["own", "ssim"].coverage == "scored 5 of 10; 5 not scored yet"


def test_a_cancelled_run_says_how_far_it_came(small_set: mb.CaseSet, tmp_path: Path) -> None:
    class Cancelled(Exception):
        pass

    def cancel(done: int, _: int) -> None:
        if done == 4:
            raise Cancelled

    with pytest.raises(Cancelled):
        mb.edit(small_set, "blur", out=tmp_path / "blur", workers=1, progress=cancel)
    run = mb.open_run(tmp_path / "blur")
    mb.score(run, metrics=["ssim"])
    table = headline_table([run], published=False)
    assert table.rows[0].note == "4 of 9 cases"
    assert table.to_json()["rows"][0]["of"] == 9
    assert any("blur 4 of 9 cases" in text for text in warnings_of(collect([run])))


def test_missing_and_stale_outputs_count_once(small_set: mb.CaseSet, tmp_path: Path) -> None:
    few = small_set.select(limit=4)
    run = mb.edit(few, "blur", out=tmp_path / "blur", outputs=2)
    mb.score(run, metrics=["ssim"])
    Image.new("RGB", (30, 20)).save(run.output_path("c0", 0))
    with run.locked() as ledger:
        ledger._db.execute("DELETE FROM scores WHERE case_id = 'c1' AND k = 1")
        ledger._db.execute("DELETE FROM scores WHERE case_id = 'c2' AND k = 1")
        ledger._db.execute("DELETE FROM outputs WHERE case_id = 'c2' AND k = 1")
    [row] = headline_table([run], published=False).rows
    cell = row.cells["own", "ssim"]
    assert (cell.scored, cell.total) == (5, 8)
    for reason in ("not made yet", "not scored yet", "score again"):
        assert cell.coverage.count(reason) == 1


def test_published_rows_need_a_column_to_stand_in(small_set: mb.CaseSet, tmp_path: Path) -> None:
    run = mb.edit(small_set, "inpaint", out=tmp_path / "inpaint")
    mb.score(run, metrics=["ssim"])
    table = headline_table([run])
    assert [row.note for row in table.rows] == ["9 cases, sees the ROI"]
    assert table.published is None
