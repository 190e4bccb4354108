"""How clear a finding is."""

from __future__ import annotations

import pytest

from medebench.grounding import FAILURE_TYPES, Evidence, Thresholds, diagnose
from medebench.grounding.finding_margin import margin

AT = Thresholds()


@pytest.mark.parametrize(
    ("evidence", "kind", "expected"),
    [
        (Evidence(change_area=1, change_cover=1, change_context=0.75), "repainted", 0.5),
        (Evidence(change_area=0, change_cover=0, change_context=0), "nothing", 1.0),
        (
            Evidence(
                change_area=0.1, change_cover=0.9, change_context=0, change_spill=0, ea=1, vq=1
            ),
            "success",
            1.0,
        ),
        (
            Evidence(
                change_area=0.1, change_cover=0, change_context=0, change_spill=0.8, ea=0, vq=1
            ),
            "wrong_place",
            0.5,
        ),
        (
            Evidence(
                change_area=0.1, change_cover=1, change_context=0, change_spill=0, ea=0.35, vq=1
            ),
            "weak",
            0.5,
        ),
        (
            Evidence(change_area=0.1, change_cover=1, change_context=0, change_detail=5),
            "damaged",
            1.0,
        ),
    ],
)
def test_margins(evidence, kind, expected):
    assert diagnose(evidence, AT).type == kind
    assert margin(kind, evidence, AT) == pytest.approx(expected)


@pytest.mark.parametrize("kind", FAILURE_TYPES)
def test_nothing_known_is_not_clear(kind):
    assert 0 <= margin(kind, Evidence(), AT) <= 1
