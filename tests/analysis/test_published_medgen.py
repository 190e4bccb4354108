"""Published rows of MedGEN-Bench as data, and shares of outputs that pass its thresholds."""

from __future__ import annotations

import json

import polars as pl
import pytest

from medebench.analysis.pass_rates import pass_rates, published_thresholds
from medebench.analysis.published_medgen import (
    ARXIV,
    REVISION,
    published_medgen,
    published_pairing,
)
from medebench.metrics import metric_info
from tests.conftest import REPOSITORY

SHARED = REPOSITORY.parent / "shared" / "published" / "medgen.json"


@pytest.fixture(scope="module")
def handed_over():
    if not SHARED.is_file():
        pytest.skip("the published tables are not here (they belong into ../shared/published)")
    return json.loads(SHARED.read_text("utf-8"))


def version(name):
    (found,) = (one for one in published_medgen() if one.version == name)
    return found


def test_rows_equal_what_was_handed_over(handed_over):
    revision, arxiv = version(REVISION), version(ARXIV)
    assert revision.records == handed_over["records"]
    for name, told in revision.formats.items():
        assert told.rows == handed_over[name]["rows"]
        assert [one.name for one in told.columns] == handed_over[name]["columns"]
    for name, told in arxiv.formats.items():
        names = [one.name for one in told.columns]
        rows = {who: dict(zip(names, row, strict=True)) for who, row in told.rows.items()}
        assert rows == handed_over["arxiv_pass_rates"][name]
    assert published_pairing().drops == handed_over["pairing_controls"]["drops"]


def test_thresholds_equal_what_was_handed_over(handed_over):
    told = {tuple(one) for one in handed_over["thresholds"].values()}
    assert {(one.sign, one.limit) for one in published_thresholds()} == told
    assert len(published_thresholds()) == len(handed_over["thresholds"]) + 1  # two encoders


def test_every_published_column_has_its_metric_here():
    for one in published_medgen():
        for name, told in one.formats.items():
            assert told.blind <= set(told.rows)
            for column in told.columns:
                known = metric_info(column.metric) if column.metric else None
                assert bool(known) is bool(column.metric)
                assert known is None or known.better == column.better
            assert one.version in one.caption(name) and one.judge in one.caption(name)
    values = version(REVISION).formats["editing"].values("Show-o")
    assert values["ssim_medgen"] == pytest.approx(0.2633) and values["psnr_medgen"] == 9.65


def test_thresholds_name_metrics_that_are_there():
    for one in published_thresholds():
        assert not one.metric or metric_info(one.metric).better == {
            ">=": "higher",
            "<=": "lower",
        }.get(one.sign)


def frame(*rows):
    columns = ("metric", "value", "kind", "reason")
    return pl.DataFrame([dict(zip(columns, row, strict=True)) for row in rows])


def test_rates_name_the_version_and_do_not_forget_failures():
    scored = frame(
        ("ssim_medgen", 0.7, None, None),
        ("ssim_medgen", 0.3, None, None),
        ("ssim_medgen", 0.05, None, None),
        ("ssim_medgen", None, "no-output", "no output: declined"),
        ("ssim_medgen", None, "not-applicable", "not a score of this task"),
        ("lpips_medgen", 0.6, None, None),
        ("lpips_medgen", 0.61, None, None),
        *(
            ("overall_judge+medgen-clinical-10", (grade - 1) / 9, None, None)
            for grade in (10, 8, 7.9)
        ),
    )
    first, later, lpips = sorted(
        ((one.threshold.metric, one.threshold.limit, one) for one in pass_rates(scored)),
        key=lambda one: (one[0] != "ssim_medgen", one[1]),
    )
    assert (first[2].passed, first[2].scored, first[2].failed) == (2, 3, 1)
    assert first[2].of_scored == pytest.approx(2 / 3) and first[2].of_all == 0.5
    assert later[2].of_scored == pytest.approx(1 / 3) and later[2].of_all == 0.25
    assert first[2].threshold.version != later[2].threshold.version
    assert lpips[2].of_scored == 0.5 and lpips[2].threshold.text == "LPIPS ≤ 0.6"
    [judged] = pass_rates(scored, ["overall_judge+medgen-clinical-10"])[-1:]
    assert (judged.passed, judged.scored, judged.threshold.limit) == (2, 3, 8)
    assert judged.threshold.text.endswith("judge+medgen-clinical-10 ≥ 8")
    failed = pass_rates(frame(("psnr_medgen", None, "no-output", "no output")))
    assert [(one.of_scored, one.of_all) for one in failed] == [(None, 0.0)]
