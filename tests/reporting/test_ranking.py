"""The best is the best on the same cases, and a test names the cases it was made on."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl

import medebench as mb
from medebench.analysis import compare_runs, holm
from medebench.analysis.interval import UNIT
from medebench.reporting import build_report, headline_table
from medebench.reporting.collect import collect
from medebench.reporting.headline_table import MARK
from medebench.reporting.statistics import CONTROLS, MODELS, compute
from medebench.reporting.summary_text import finding
from tests.reporting.conftest import adopt_copies, put_scores

EA = "ea_model"


def said(runs: list[mb.Run]) -> str:
    material = collect(runs)
    found = finding(material, compute(material), "cp")
    return " ".join([*found.lead, *found.context])


def refusing(cases: mb.CaseSet, out: Path) -> list[mb.Run]:
    """A is better on every common case; B refused the four hard ones."""
    runs = adopt_copies(cases.select(limit=8), out, ["A", "B"])
    put_scores(runs[0], EA, {f"c{i}": 0.9 if i < 4 else 0.5 for i in range(8)})
    put_scores(runs[1], EA, {f"c{i}": 0.85 if i < 4 else None for i in range(8)})
    return runs


def test_who_refuses_the_hard_cases_does_not_win(small_set: mb.CaseSet, tmp_path: Path) -> None:
    runs = refusing(small_set, tmp_path)
    table = headline_table(runs, published=False)
    a, b = (row.cells["own", EA] for row in table.rows)
    assert (a.best_micro, b.best_micro) == (True, False)
    assert (a.best_macro, b.best_macro) == (True, False)
    # What is printed stays each run's own, with its coverage.
    assert (round(a.micro.value or 0, 9), a.scored, a.total) == (0.7, 8, 8)
    assert (round(b.micro.value or 0, 9), b.scored, b.total) == (0.85, 4, 8)
    assert any("mean over the 4 cases that all have scored" in note for note in table.notes)
    assert "A has the best EA over the 4 cases that all have scored, 0.900" in said(runs)
    page = build_report(runs, tmp_path / "report", published=False).index.read_text()
    assert "mean over the 4 cases that all have scored" in page


def test_too_few_cases_for_one_score_are_not_said_of_all(
    small_set: mb.CaseSet, tmp_path: Path
) -> None:
    runs = refusing(small_set, tmp_path)
    for run in runs:
        put_scores(run, "vq_model", {f"c{i}": 0.5 + i / 100 for i in range(8)})
    assert "With 4 source images and 1 pair of models no difference in EA can reach" in said(runs)


def test_no_best_without_a_common_case(small_set: mb.CaseSet, tmp_path: Path) -> None:
    runs = adopt_copies(small_set.select(limit=6), tmp_path, ["A", "B"])
    put_scores(runs[0], EA, {f"c{i}": 0.9 if i < 3 else None for i in range(6)})
    put_scores(runs[1], EA, {f"c{i}": None if i < 3 else 0.4 for i in range(6)})
    table = headline_table(runs, published=False)
    assert not any(row.cells["own", EA].best_micro for row in table.rows)
    assert any("no best, because no case" in note for note in table.notes)
    assert "none is called the best" in said(runs)


def test_a_control_is_held_against_models_on_the_same_cases(
    small_set: mb.CaseSet, tmp_path: Path
) -> None:
    runs = refusing(small_set, tmp_path)
    runs.append(mb.edit(small_set.select(limit=8), "noise", out=tmp_path / "runs" / "noise"))
    put_scores(runs[2], EA, {f"c{i}": 0.8 if i < 4 else None for i in range(8)})
    assert "control noise" not in said(runs)  # above A's 0.7, but not on the same cases
    put_scores(runs[2], EA, {f"c{i}": 0.95 if i < 4 else None for i in range(8)})
    assert "noise scores higher on EA (over the 4 cases that all have scored)" in said(runs)


def test_the_test_names_its_own_cases(small_set: mb.CaseSet, tmp_path: Path) -> None:
    """The ranking is over the 3 cases that every run has, the pair was tested over 9."""
    runs = adopt_copies(small_set, tmp_path, ["A", "B"])
    runs.append(mb.edit(small_set.select(limit=3), "inpaint", tmp_path / "runs" / "C"))
    for run, base in zip(runs, (0.9, 0.5, 0.1), strict=True):
        few = 3 if run.name == "C" else 9
        put_scores(run, EA, {f"c{i}": base + i / 100 for i in range(few)})
    table = headline_table(runs, published=False)
    assert table.basis == "shared" and table.n_shared == 3
    b, c = (row.cells["shared", EA] for row in table.rows[1:])
    assert (b.mark, b.tested, c.mark, c.tested) == (MARK, 9, "", None)
    assert any("cases tested: EA 9" in note for note in table.notes)
    text = said(runs)
    assert "over the 3 cases that every run has" in text
    assert "better than B; C cannot be told apart from it" in text
    assert "(tested in pairs over the 3 to 9 cases that each two have scored)" in text
    page = build_report(runs, tmp_path / "report", published=False).index.read_text()
    assert "of models (9 cases)" in page


def test_each_family_is_corrected_once(small_set: mb.CaseSet, tmp_path: Path) -> None:
    runs = adopt_copies(small_set, tmp_path, ["A", "B", "C"])
    runs += [mb.edit(small_set, name, out=tmp_path / "runs" / name) for name in ("noise", "blur")]
    for place, run in enumerate(runs):
        put_scores(run, EA, {f"c{i}": 0.9 - (place + 1) * (i % 4) / 20 for i in range(9)})
    frame = pl.concat([run.frame() for run in runs]).rename({"organ": "group"})
    plain = {frozenset((p.run_a, p.run_b)): p.p for p in compare_runs(frame, EA, bounds=UNIT)}
    pairs = compute(collect(runs)).pairs
    assert len(pairs["own", MODELS, EA]) == 3 and len(pairs["own", CONTROLS, EA]) == 6
    for family in (MODELS, CONTROLS):
        found = pairs["own", family, EA]
        assert [p.p for p in found] == [plain[frozenset((p.run_a, p.run_b))] for p in found]
        assert [p.p_holm for p in found] == holm([p.p or 0 for p in found])
    report = build_report(runs, tmp_path / "report", published=False).index.parent
    rows = list(csv.DictReader((report / "comparisons.csv").read_text().splitlines()))
    assert sum(row["metric"] == EA for row in rows) == 9
