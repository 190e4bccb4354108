from __future__ import annotations

import math

import pytest

from medebench.analysis import clean_scores
from tests.analysis.conftest import Frame


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_become_missing_with_a_reason(frame: Frame, bad: float) -> None:
    rows = clean_scores(frame([{"case": "1", "value": bad, "reason": "stale"}]))
    assert rows["value"].to_list() == [None]
    assert rows["reason"].to_list() == ["not a finite number"]


def test_reasons_stand_exactly_where_values_do_not(frame: Frame) -> None:
    rows = clean_scores(
        frame(
            [
                {"case": "1", "value": 0.5, "reason": "left over"},
                {"case": "2", "reason": "ROI too large"},
                {"case": "3"},
            ]
        )
    )
    assert rows["reason"].to_list() == [None, "ROI too large", "no reason given"]


def test_a_case_without_source_is_its_own_source(frame: Frame) -> None:
    rows = clean_scores(frame([{"case": c, "source": None, "value": 0.5} for c in "ab"]))
    assert rows["source"].n_unique() == 2


def test_a_missing_column_is_named(frame: Frame) -> None:
    with pytest.raises(ValueError, match="column source is missing"):
        clean_scores(frame([{"case": "1"}]).drop("source"))


def test_two_rows_for_one_output_are_refused(frame: Frame) -> None:
    with pytest.raises(ValueError, match=r"more than one row.*'case': '7'"):
        clean_scores(frame([{"case": "7", "value": 0.1}, {"case": "7", "value": 0.2}]))


@pytest.mark.parametrize("fact", ["source", "group"])
def test_a_case_with_two_sources_or_organs_is_refused(frame: Frame, fact: str) -> None:
    rows = [{"case": "7", "k": k, "value": 0.1, fact: str(k)} for k in range(2)]
    with pytest.raises(ValueError, match="more than one source or group"):
        clean_scores(frame(rows))
