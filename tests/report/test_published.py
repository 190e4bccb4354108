"""The paper's table is data, and the same data as it was handed over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import medebench as mb
from medebench.report import headline_table
from medebench.report.published import OVERALL, SCORES, published_table, published_worth

HANDED_OVER = Path(__file__).parents[3] / "shared" / "published"


def test_schema() -> None:
    table = published_table()
    assert len(table.models) == 7
    for model, organs in table.models.items():
        assert len(organs) == 14 and OVERALL in organs, model
        for organ, cells in organs.items():
            assert set(SCORES) <= set(cells), (model, organ)
            assert all(0 <= cells[score] <= 1 for score in SCORES), (model, organ)


def test_macro_is_the_mean_of_the_organs() -> None:
    table = published_table()
    values = [cells["EA"] for organ, cells in table.models["icedit"].items() if organ != OVERALL]
    assert table.macro("icedit", "EA") == pytest.approx(sum(values) / 13)
    assert table.micro("icedit", "EA") == table.models["icedit"][OVERALL]["EA"]


def handed_over(name: str) -> Any:
    if not (HANDED_OVER / name).is_file():
        pytest.skip(f"{HANDED_OVER / name} is not here")
    return json.loads((HANDED_OVER / name).read_text())


def test_equals_what_was_handed_over() -> None:
    assert published_table().models == handed_over("medebench_table2.json")["models"]
    found = handed_over("medebench_table3.json")
    worth = published_worth()
    assert worth.rho == found["rho"]
    for number in (worth.between_people, worth.cases):
        assert str(number) in found["source"]


def test_published_scores_of_a_model_stand_in_no_column_of_a_stand_in(tmp_path):
    cases = mb.load_cases("phantoms:count=2,seed=3").select(limit=2)
    run = mb.edit(cases, "identity", out=tmp_path / "run")
    mb.score(run, judge="offline")
    table = headline_table([run])
    labels = {column.name: column.label for column in table.columns}
    assert labels["intended_offline"] == "Intended change made" and "EA" not in labels.values()
    printed = {name for row in table.of("published") for _, name in row.cells}
    assert printed == {"cp_published"}
