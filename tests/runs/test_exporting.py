"""The long table as a file."""

from __future__ import annotations

import csv
import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.page.table import csv_text
from medebench.spreadsheet import original, plain, plain_texts
from tests.conftest import write_set


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


FORMULAS = ["=1+1", "+1", "-cmd|' /C calc'!A0", "@SUM(A1)", "\tx", "\rx", "\n=x", "＝1+1", "'=1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_becomes_text_and_can_be_had_back(text):
    assert plain(text) == "'" + text and original(plain(text)) == text
    assert csv_text([[text, -1.5]]).replace('"', "").startswith("'")


@given(st.text(alphabet="'=+-@\t\r\n x1", max_size=6))
def test_nothing_is_lost(text):
    assert original(plain(text)) == text
    assert not plain(text).startswith(tuple("=+-@\t\r\n"))
    (found,) = plain_texts(pl.DataFrame({"a": [text]}, schema={"a": pl.String}))["a"]
    assert found == plain(text)


def test_texts_of_strangers_are_no_formulas_in_an_export(tmp_path):
    cases = write_set(tmp_path / "set", 3, Organ="=HYPERLINK(1)", Task="-2+3")
    run = tmp_path / "@run"
    mb.score(mb.edit(cases, "noise", run), ["psnr", "cp"])
    out = tmp_path / "scores.csv"
    assert call("export", run, "--out", out).exit_code == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["run"], row["organ"], row["task"]) for row in rows} == {
        ("'@run", "'=HYPERLINK(1)", "'-2+3")
    }
    for row in rows:
        float(row["value"])
    # Machines read the others, which run nothing.
    for form in ("parquet", "jsonl"):
        other = tmp_path / f"scores.{form}"
        assert call("export", run, "--format", form, "--out", other).exit_code == 0
        read = pl.read_parquet(other) if form == "parquet" else pl.read_ndjson(other)
        assert set(read["organ"]) == {"=HYPERLINK(1)"}


def test_negative_numbers_stay_numbers():
    table = pl.DataFrame({"metric": ["-a", "b"], "value": [-0.5, None]})
    assert plain_texts(table).write_csv() == "metric,value\n'-a,-0.5\nb,\n"


def test_the_ending_decides_and_a_contradiction_is_refused(tmp_path, small_set):
    run = mb.score(mb.edit(small_set, "noise", tmp_path / "run"), ["cp"])
    for name, read in {"x.parquet": pl.read_parquet, "x.ndjson": pl.read_ndjson}.items():
        assert call("export", run.path, "--out", tmp_path / name).exit_code == 0
        assert read(tmp_path / name).height == 4
    out = tmp_path / "y.parquet"
    done = call("export", run.path, "--out", out, "--format", "csv")
    assert done.exit_code == 2 and "its ending says parquet, the format is csv" in done.stderr
    assert done.stderr.count("\n") == 1 and not out.exists()
    with pytest.raises(mb.InputError, match="ending"):
        mb.export(run, out, format="jsonl")
    assert call("export", run.path, "--out", out, "--format", "parquet").exit_code == 0


def test_codes_of_reasons(tmp_path, small_set):
    run = mb.edit(small_set, "noise", tmp_path / "run")
    run.output_path("2", 0).write_bytes(b"")
    run.output_path("3", 0).unlink()
    mb.score(run, ["cp"])
    out = tmp_path / "scores.csv"
    assert call("export", run.path, "--out", out).exit_code == 0
    codes = {row["case"]: (row["kind"], row["cause"]) for row in pl.read_csv(out).to_dicts()}
    assert codes == {
        1: (None, None),
        2: ("unreadable", "empty-file"),
        3: ("missing-file", "missing-file"),
        4: (None, None),
    }


@pytest.mark.parametrize("number", [1_000_000_000, 1001, 0, -1])
def test_a_run_that_claims_too_many_outputs_is_refused(tmp_path, small_set, number):
    run = tmp_path / "run"
    mb.score(mb.edit(small_set, "noise", run), ["cp"])
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(info | {"outputs_per_case": number}))
    for words in (
        ["export", run, "--out", tmp_path / "x.csv"],
        ["report", run, "--out", tmp_path / "report"],
        ["score", run],
    ):
        done = call(*words)
        assert done.exit_code == 2 and "outputs_per_case" in done.stderr
        assert done.stderr.count("\n") == 1 and str(run) in done.stderr


def test_more_outputs_than_that_are_not_begun(tmp_path, small_set):
    done = call("edit", small_set, "--editor", "noise", "--outputs", 1001, "--out", tmp_path / "r")
    assert done.exit_code == 2 and "1 to 1000" in done.stderr
    plan = tmp_path / "plan.yaml"
    plan.write_text(f"cases: {small_set}\neditors: [noise]\noutputs: 1000000000\n")
    done = call("run", plan, "--out", tmp_path / "out")
    assert done.exit_code == 2 and "outputs" in done.stderr


def test_adopted_files_may_be_numbered_as_people_like(tmp_path, small_set):
    made = tmp_path / "made"
    made.mkdir()
    picture = (small_set / "editing/previous/1.png").read_bytes()
    (made / "1_999999.png").write_bytes(picture)
    run = mb.adopt(made, small_set, tmp_path / "run")
    mb.score(run, ["cp"])
    assert mb.open_run(run.path).frame().height == 1
