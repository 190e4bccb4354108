"""The finding says what the numbers say."""

from __future__ import annotations

from pathlib import Path

import medebench as mb
from medebench.analysis import least_p
from medebench.reporting.collect import collect
from medebench.reporting.statistics import compute
from medebench.reporting.summary_text import Finding, finding
from tests.reporting.conftest import FakeJudge, make_runs


def find(runs: list[mb.Run], headline: str = "cp") -> Finding:
    material = collect(runs)
    return finding(material, compute(material), headline)


def test_leader_and_significance(runs: list[mb.Run]) -> None:
    found = find(runs)
    assert found.lead[0] == "2 models and 2 control runs on the same 9 cases."
    assert found.lead[1].startswith("good has the best Intended change made")
    assert any(s.startswith("good has the best CP, ") and "poor" in s for s in found.context)
    assert any("stand-in judge" in s for s in found.context)
    assert any("doing nothing gives" in s for s in found.context)


def test_headline_changes_which_cp_is_spoken_of(runs: list[mb.Run]) -> None:
    assert any("best CP published" in s for s in find(runs, "cp_published").context)


def test_says_when_nothing_can_be_significant(small_set: mb.CaseSet, tmp_path: Path) -> None:
    runs = make_runs(small_set, tmp_path, only=4, controls=[], judge=FakeJudge())
    found = find(runs)
    assert any("no difference can reach significance" in s for s in found.lead)
    assert any("not significantly better than poor" in s for s in found.lead)


def test_only_controls(small_set: mb.CaseSet, tmp_path: Path) -> None:
    runs = make_runs(small_set, tmp_path, models=[], controls=["identity"])
    assert "no model to rank" in " ".join(find(runs).lead)


def test_one_model(small_set: mb.CaseSet, tmp_path: Path) -> None:
    runs = make_runs(small_set, tmp_path, models=["alone"], controls=[])
    assert any(s.startswith("alone scores ") for s in find(runs).lead)


def test_least_p_of_a_sign_flip_test() -> None:
    assert least_p(1) == 1.0
    assert least_p(6) == 2 / 2**6
    assert least_p(12) == 2**-11
    assert least_p(13) == 2**-12  # sampled, but still above what 9,999 flips can reach
    assert least_p(60) == 1 / 10_000


def test_an_advantage_is_named_with_the_lead(small_set: mb.CaseSet, tmp_path: Path) -> None:
    runs = make_runs(small_set, tmp_path, models=["poor"], controls=["inpaint"])
    assert any(
        s.startswith("inpaint, which sees the ROI, has the best CP") for s in find(runs).lead
    )
