"""The paper's table is data, and the same data as it was handed over."""

from __future__ import annotations

import html
import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import medebench as mb
from medebench.analysis.published_tables import OVERALL, SCORES, published_table, published_worth
from medebench.reporting import build_report, headline_table
from medebench.study.results.answer_text import answers
from medebench.study.results.figures import metric_worth as worth
from medebench.study.results.figures import people_agreement
from medebench.study.results.results_folder import markdown, section
from medebench.study.results.study_tables import metric_rows, results_json
from tests.reporting.conftest import adopt_copies, put_scores
from tests.study.made_up import made_up

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
        pytest.skip("the published tables are not here (they belong into ../shared/published)")
    return json.loads((HANDED_OVER / name).read_text())


def test_equals_what_was_handed_over() -> None:
    assert published_table().models == handed_over("medebench_table2.json")["models"]
    found = handed_over("medebench_table3.json")
    worth = published_worth()
    assert worth.rho == found["rho"]
    for number in (worth.between_people, worth.cases):
        assert str(number) in found["source"]


def test_overall_values_follow_from_the_organs_but_one() -> None:
    """Written out: the mean over cases is the organs' means weighted by their numbers of cases."""
    table = published_table()
    assert sum(table.sizes.values()) == table.cases
    away = {}
    for model, organs in table.models.items():
        for score in SCORES:
            total = sum(organs[organ][score] * size for organ, size in table.sizes.items())
            away[model, score] = abs(total / 1182 - organs[OVERALL][score])
    assert away.pop(("icedit", "EA")) == pytest.approx(0.0391, abs=1e-4)
    assert max(away.values()) < 0.01
    said = {model: table.doubt(model, SCORES) for model in table.models}
    assert [model for model, words in said.items() if words] == ["icedit"]
    assert "EA (0.60)" in said["icedit"] and "0.639" in said["icedit"]
    # A table without that score has nothing to doubt.
    assert table.doubt("icedit", ["CP", "VQ"]) == ""


@pytest.fixture
def judged(small_set: mb.CaseSet, tmp_path: Path) -> list[mb.Run]:
    runs = adopt_copies(small_set, tmp_path, ["A", "B"])
    for run in runs:
        values = {case.id: 0.5 for case in small_set}
        put_scores(run, "ea_openai:gpt-4o", values, {"judge": "openai:gpt-4o"})
    return runs


def test_the_doubtful_row_says_so_wherever_it_is_shown(
    judged: list[mb.Run], tmp_path: Path
) -> None:
    words = "overall EA (0.60) does not follow from the organs, which give 0.639"
    report = build_report(judged, tmp_path / "report")
    table, folder = report.table, report.index.parent
    screen = StringIO()
    Console(file=screen, width=400).print(table.rich(400))
    for where, text in {
        "page": report.index.read_text("utf-8"),
        "csv": (folder / "table.csv").read_text("utf-8"),
        "md": (folder / "table.md").read_text("utf-8"),
        "tex": (folder / "table.tex").read_text("utf-8"),
        "json": json.dumps(table.to_json()),
        "terminal": " ".join(screen.getvalue().split()),
    }.items():
        assert words in text, where
        assert text.count(words) == 1, where
    # Without the paper's rows there is nothing to doubt.
    assert words not in headline_table(judged, published=False).markdown()


#: What a module may call to get at the figures of Table 3, and what it shows then.
FIGURES = r"published_worth\(\)|\bprinted\(|\bbetween_people\(|\.rho\[|worth_of\("
DOUBT = r"\.doubt\b|doubt_brief"


def test_whoever_shows_figures_of_table_3_shows_the_doubt() -> None:
    source = Path(mb.__file__).parent
    found = []
    for folder in ("reporting", "study", "cli", "stresstest", "runs"):
        for path in sorted((source / folder).rglob("*")):
            if path.suffix in (".py", ".html"):
                text = path.read_text("utf-8")
                if re.search(FIGURES, text) or "paper.rho" in text or "worth.rho" in text:
                    found.append(path.name)
                    assert re.search(DOUBT, text), path
    assert {"learned.py", "published_worth.py", "people_tables.py"} <= set(found)


def test_the_doubt_names_what_is_doubtful_and_stands_in_the_docs() -> None:
    doubt = published_worth().doubt
    for word in ("panel", "GPT-4o editing accuracy", "masked SSIM", "GPT-4o visual quality"):
        assert word in doubt
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    assert doubt in " ".join(page.read_text("utf-8").split())


@pytest.mark.parametrize("name", ["isim_published_clip-vit-l14", "lpips_alex"])
def test_the_learned_section_its_figure_and_its_table_carry_the_doubt(
    name: str, small_set: mb.CaseSet, tmp_path: Path
) -> None:
    [run] = adopt_copies(small_set, tmp_path, ["A"])
    put_scores(run, name, {case.id: 0.5 for case in small_set}, {"variant": "sha256 1"})
    mb.score(run, metrics=["ssim"])
    page = build_report([run], tmp_path / "report", published=False).index
    text = html.unescape(page.read_text("utf-8"))
    section = text[text.index('id="worth"') :]
    table, _, after = section.partition("<figure")
    doubt = published_worth().doubt
    assert doubt in table and doubt in after.partition("</figure>")[0]
    exact = name.startswith("isim")
    assert (doubt in (page.parent / "learned.csv").read_text("utf-8")) == exact


def test_no_figure_no_doubt(small_set: mb.CaseSet, tmp_path: Path) -> None:
    [run] = adopt_copies(small_set, tmp_path, ["A"])
    put_scores(run, "niqe", {case.id: 4.0 for case in small_set}, {"variant": "sha256 1"})
    mb.score(run, metrics=["ssim"])
    page = build_report([run], tmp_path / "report", published=False).index
    assert published_worth().doubt not in html.unescape(page.read_text("utf-8"))


def test_a_study_carries_the_doubt_beside_every_published_figure() -> None:
    paper = published_worth()
    results = made_up(models=("a", "b", "c", "d", "e", "f", "identity"))
    assert "published" in section(results).html
    assert paper.doubt in html.unescape(section(results).html)
    assert paper.doubt in worth.caption(results)
    assert paper.doubt_brief in people_agreement.caption(results)
    for row in metric_rows(results):
        assert (row.get("published_rho") is not None) == (row.get("published_doubt") == paper.doubt)
    told = results_json(results)
    assert {one["published_doubt"] for one in told["dimensions"]} == {paper.doubt}
    said = [
        text for one in results.dimensions for text in answers(one, results) if "paper's" in text
    ]
    assert len(said) == 3 and all(paper.doubt_brief in text for text in said)
    assert markdown(results).count(f"the paper's, {paper.doubt_brief}") == 3
    # A study without metrics and with other models shows no figure of the paper.
    other = made_up(with_runs=False, models=("a", "b", "identity"))
    assert paper.doubt not in html.unescape(section(other).html)


def test_published_scores_of_a_model_stand_in_no_column_of_a_stand_in(tmp_path):
    cases = mb.load_cases("phantoms:count=2,seed=3").select(limit=2)
    run = mb.edit(cases, "identity", out=tmp_path / "run")
    mb.score(run, judge="offline")
    table = headline_table([run])
    labels = {column.name: column.label for column in table.columns}
    assert labels["intended_offline"] == "Intended change made" and "EA" not in labels.values()
    printed = {name for row in table.of("published") for _, name in row.cells}
    assert printed == {"cp_published"}
