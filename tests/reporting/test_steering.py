"""The report says how outputs were steered: by a judge that looked on, by a sweep."""

from __future__ import annotations

import pytest

import medebench as mb
from medebench.reporting import build_report


@pytest.fixture
def refined(small_set, tmp_path):
    def make(judge="offline", name="refined"):
        run = mb.edit(small_set, f"refine:judge={judge},rounds=1,blur:sigma=2", tmp_path / name)
        mb.score(run, ["cp"], "offline")
        return run

    return make


def test_scores_of_the_judge_that_refined_are_marked_as_not_blind(refined, small_set, tmp_path):
    run, other = refined(), mb.edit(small_set, "blur:sigma=2", tmp_path / "plain")
    mb.score(other, ["cp"], "offline")
    report = build_report([run, other], tmp_path / "report")
    said = (
        "Intended change made and VQ of refined are not blind, and are not ranked: the same judge "
        "(offline-2) look"
    )
    page = report.index.read_text("utf-8")
    assert said in page and "refined by offline-2" in page
    assert said in report.table.markdown() and "plain are not blind" not in page
    (row,) = [one for one in report.table.rows if one.name == "refined"]
    assert "sees the reference and the ROI" in row.note and "refined by offline-2" in row.note
    many = len(small_set)
    told = f"refined made {2 * many} attempts at {many} outputs; {many} were tried more than once"
    assert told in page


def test_what_is_not_blind_is_not_called_the_best(refined, small_set, tmp_path):
    """Made by copying the answer, it has the best score by far; another run still leads."""
    best = mb.edit(small_set, "refine:rounds=1,reference", tmp_path / "refined")
    weak = mb.edit(small_set, "inpaint", tmp_path / "weak")
    weaker = mb.edit(small_set, "blur:sigma=9", tmp_path / "weaker")
    for run in (best, weak, weaker):
        run.info.control = False
        mb.score(run, ["cp"], "offline")
    report = build_report([best, weak, weaker], tmp_path / "report")
    key = "own", "intended_offline"
    cells = {row.name: row.cells[key] for row in report.table.rows if row.entry}
    assert cells["refined"].micro.value > max(cells[n].micro.value for n in ("weak", "weaker"))
    assert not cells["refined"].best_micro and cells["refined"].mark == ""
    assert cells["weak"].best_micro or cells["weaker"].best_micro
    page = report.index.read_text("utf-8")
    assert "refined has the best Intended" not in page and "refined, which sees" not in page


OWN_JUDGE = """
import medebench as mb
class Mine:
    name = "mine-1"
    summary = "half for all"
    stand_in = True
    scores = ("ea_mine",)
    def judge(self, case, output):
        return {"ea_mine": mb.Verdict(0.5)}
"""


def test_another_judges_scores_are_not_marked(refined, tmp_path):
    (tmp_path / "mine.py").write_text(OWN_JUDGE)
    run = refined(judge=f"{tmp_path / 'mine.py'}:Mine")
    assert run.info.judged_by == "mine-1"
    page = build_report([run], tmp_path / "report").index.read_text("utf-8")
    assert "are not blind" not in page and "refined by mine-1" in page
