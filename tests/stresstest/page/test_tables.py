"""Tables and JSON say what the outcome says, whatever names hold."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medebench.analysis.estimate import Estimate
from medebench.analysis.interval import Interval
from medebench.stresstest.page.page_facts import PageContext
from medebench.stresstest.page.stress_formats import MEASURES, columns
from medebench.stresstest.page.stress_tables import table_csv, table_md, table_tex
from medebench.stresstest.recipe import Shift, find_recipe
from tests.conftest import REPOSITORY
from tests.stresstest.page.conftest import HOSTILE
from tests.stresstest.page.made_up import MadeUp


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_holds_every_quantity_in_full(classified: MadeUp, segmented: MadeUp) -> None:
    for made in (classified, segmented):
        found = {
            (row["predictor"], row["kind"], row["set"], row["measure"]): row
            for row in _rows(table_csv(made.outcome))
        }
        seen = 0
        for one in made.outcome.predictors:
            for kind, tables in [("all", one.table), *one.kinds.items()]:
                for which, cells in tables.items():
                    for name, quantity in cells.items():
                        row = found[one.name, kind, which, name]
                        seen += 1
                        if quantity.value is None:
                            assert row["value"] == "" and row["reason"] == quantity.reason != ""
                            continue
                        assert float(row["value"]) == quantity.value
                        assert int(row["pictures"]) == quantity.n
                        if quantity.interval:
                            assert (float(row["low"]), float(row["high"])) == quantity.interval
        assert seen == len(found)


def test_edits_csv_counts_as_the_accuracy_does(page: Path, classified: MadeUp) -> None:
    """Who is right is found again from the rows: it is the accuracy of the headline."""
    rows = _rows((page.parent / "edits.csv").read_text(encoding="utf-8"))
    assert len(rows) == 2 * len(classified.outcome.edits)
    for one in classified.outcome.predictors:
        own = [r for r in rows if r["predictor"] == one.name and r["status"] == "kept"]
        for which, column in (("before", "right_before"), ("edited", "right_after")):
            share = sum(row[column] == "yes" for row in own) / len(own)
            assert share == pytest.approx(one.table[which]["accuracy"].value)  # type: ignore[index]
    failed = [row for row in rows if row["status"] == "failed"]
    assert failed and all(row["reason"] == "the editor ran out of memory" for row in failed)
    assert all(row["after"] == row["right_after"] == row["edit_score"] == "" for row in failed)
    thrown = [row for row in rows if row["status"] == "thrown"]
    assert thrown and all(float(row["edit_score"].lstrip("'")) < 0.2 for row in thrown)


def test_results_json(page: Path, classified: MadeUp) -> None:
    def refuse(text: str) -> Any:
        raise AssertionError(text)

    text = (page.parent / "results.json").read_text(encoding="utf-8")
    found = json.loads(text, parse_constant=refuse)
    outcome = classified.outcome
    assert found["verdict"] == dict(outcome.verdict)
    assert found["verdict"]["biased"] == "shortcut"
    total = found["edits_kept"] + found["edits_thrown"] + found["edits_failed"]
    assert total == found["edits_asked_for"] == len(found["edits"]) == len(outcome.edits)
    assert min(found["edits_kept"], found["edits_thrown"], found["edits_failed"]) > 0
    assert found["words"] == list(outcome.words)
    biased = found["predictors"][0]["table"]["edited"]
    assert biased["accuracy"]["value"] == outcome.predictors[0].table["edited"]["accuracy"].value
    assert biased["sensitivity"]["value"] is None and biased["sensitivity"]["reason"]
    assert len(found["thresholds"]) == len(outcome.thresholds)
    assert found["edits"][3]["prompt"] == HOSTILE


def test_names_break_neither_markdown_nor_latex_nor_csv(classified: MadeUp) -> None:
    outcome = classified.outcome
    first = replace(outcome.predictors[0], name="=cmd|' & a_b % \\end{table} #1")
    outcome = replace(outcome, name=HOSTILE, predictors=(first, *outcome.predictors[1:]))
    making = classified.making
    table = [line for line in table_md(outcome, making).splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1
    tex = table_tex(outcome, making)
    assert tex.count(r"\end{table}") == 1
    body = tex.split(r"\midrule")[1].split(r"\midrule")[0]
    width = len(columns(outcome)) + 2
    assert all(
        len(re.findall(r"(?<!\\)&", line)) == width - 1 for line in body.strip().splitlines()
    )
    assert tex.isascii() or all(ord(c) < 0x180 for c in tex)
    assert any(row["predictor"].startswith("'=cmd") for row in _rows(table_csv(outcome)))


def test_the_paper_stands_only_beside_its_own_shifts(classified: MadeUp) -> None:
    with_paper = table_md(classified.outcome, classified.making)
    assert "17.9 ± 3.7" in with_paper and "not comparable" in with_paper
    assert "published" not in table_md(classified.outcome, PageContext()).lower()
    assert PageContext(shift=Shift("a user's own")).published is None


def test_published_figures_are_those_of_the_paper() -> None:
    path = REPOSITORY.parent / "shared" / "published" / "radedit.json"
    if not path.is_file():
        pytest.skip("the published tables are not here (they belong into ../shared/published)")
    truth = json.loads(path.read_text(encoding="utf-8"))
    shifts = {"acquisition": "acquisition shift, COVID-19",
              "manifestation": "manifestation shift, pneumothorax"}  # fmt: skip
    for shift, key in shifts.items():
        found = find_recipe(shift).shift.published
        assert found is not None
        for row in found.rows:
            for text, name in ((row.original, "biased test"), (row.edited, "edited test")):
                assert [float(n) for n in text.split(" ± ")] == truth[key][row.predictor][name]
    found = find_recipe("population").shift.published
    dice = truth["population shift, lung segmentation Dice (weak, strong)"]
    assert found is not None and len(found.rows) == 6
    for row in found.rows:
        place = 0 if row.predictor.startswith("weak") else 1
        assert 100 * float(row.original) == pytest.approx(dice["real"][place])
        assert 100 * float(row.edited) == pytest.approx(dice[row.kind][place])


def test_numbers_as_text() -> None:
    accuracy, dice = MEASURES["accuracy"], MEASURES["dice"]
    assert accuracy.text(0.98765) == "98.8" and accuracy.text(-0.0001) == "0.0"
    assert dice.text(-0.0226) == "−0.023" and dice.text(None) == "–"
    assert accuracy.ends(Interval(0.5, 0.625)) == "50.0–62.5"
    assert accuracy.ends(Interval(-0.05, 0.1)) == "−5.0 to 10.0"
    assert Estimate(None, reason="x").interval is None and accuracy.ends(None) == ""


def test_a_number_without_an_interval_says_why(classified: MadeUp) -> None:
    why = "no interval: 3 source images"
    one = classified.outcome.predictors[0]
    lone = {name: Estimate(0.5, None, 7, 7, why) for name in one.table["edited"]}
    table = {**one.table, "edited": lone}
    outcome = replace(classified.outcome, predictors=(replace(one, table=table),))
    for text in (
        table_md(outcome, PageContext()),
        table_tex(outcome, PageContext()),
        table_csv(outcome),
    ):
        assert why in text
