"""Old names of metrics and thresholds are understood wherever they may stand."""

from __future__ import annotations

import sqlite3

import pytest

import medebench as mb
from medebench.aliases import RENAMED, with_current_names
from medebench.metrics import find_metrics, metric_info
from tests.runs.test_ledger import make_older

OLD = {"edit_completion": "done", "edit_residual": "missed", "intended_offline": "ea_offline"}


@pytest.fixture
def aged(small_set, tmp_path):
    """A run whose ledger was written when the metrics had other names and definitions."""
    run = mb.edit(small_set, "reference", out=tmp_path / "run")
    mb.score(run, judge="offline")
    mb.ground(run)
    make_older(run)
    with sqlite3.connect(run.path / "ledger.sqlite") as db:
        for new, old in OLD.items():
            db.execute(
                "UPDATE scores SET metric = ?, value = 0.25, "
                "detail = json_remove(detail, '$.variant') WHERE metric = ?",
                (old, new),
            )
        db.execute(
            "UPDATE scores SET detail = json_set(detail, '$.judge', 'offline', "
            '\'$.evidence\', json(\'{"ea": 0.9, "stand_in": true, "missed": 0.1}\'), '
            "'$.thresholds', json('{\"good_missed\": 0.3, \"good_ea_offline\": 0.7}')) "
            "WHERE metric = 'success'"
        )
    return run


def _values(run, name):
    frame = run.frame()
    return frame.filter(frame["metric"] == name)["value"].to_list()


def test_an_old_ledger_is_read_under_the_new_names(aged):
    assert not set(RENAMED) & set(aged.frame()["metric"])
    for new in OLD:
        assert set(_values(aged, new)) == {0.25}


def test_scores_of_an_old_definition_are_done_again_once(aged):
    mb.score(aged, judge="offline")
    assert set(_values(aged, "edit_completion")) == {1.0}
    assert set(_values(aged, "intended_offline")) == {1.0}
    with sqlite3.connect(aged.path / "ledger.sqlite") as db:
        names = {name for (name,) in db.execute("SELECT DISTINCT metric FROM scores")}
        before = list(db.execute("SELECT * FROM scores ORDER BY case_id, metric"))
    assert not names & set(RENAMED)
    mb.score(aged, judge="offline")
    with sqlite3.connect(aged.path / "ledger.sqlite") as db:
        assert list(db.execute("SELECT * FROM scores ORDER BY case_id, metric")) == before


def test_an_old_finding_is_shown(aged, tmp_path):
    from medebench.reporting import build_report
    from medebench.reporting.collect import collect
    from medebench.reporting.run_findings import read_findings

    for one in read_findings(collect([aged])):
        assert one.type == "success" and one.margin >= 0 and one.judge == ""
        assert one.evidence.ea is None and one.evidence.intended == 0.9
        assert one.evidence.edit_residual == 0.1 and dict(one.given) == {"good_residual": 0.3}
    assert build_report([aged], tmp_path / "page").index.is_file()


def test_old_names_may_be_asked_for():
    names = [metric.name for metric in find_metrics(["done", "missed", "edit_residual"])]
    assert names == ["edit_completion", "edit_residual"]
    assert metric_info("missed") is metric_info("edit_residual")
    assert mb.Thresholds(good_missed=0.2) == mb.Thresholds(good_residual=0.2)
    assert with_current_names({"missed": 1, "edit_residual": 2}) == {"edit_residual": 2}
