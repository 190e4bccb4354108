"""Tables of a study: complete, exact, and safe whatever the names are."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from medebench.analysis.estimate import Estimate
from medebench.errors import InputError
from medebench.study.results.people_tables import latex, terminal
from medebench.study.results.results_folder import MARKER, markdown, sentence, spoken, write_results
from medebench.study.results.results_model import StudyResults
from medebench.study.results.study_tables import csv_files, results_json
from medebench.study.results.thresholds_in_words import metric_order
from tests.study.made_up import HOSTILE, METRICS, about, hostile, made_up, made_worths

CASES = {
    "usual": made_up(),
    "hostile": hostile(),
    "one annotator": made_up(people=("ann",)),
    "no runs": made_up(with_runs=False, origin="table"),
    "one dimension": made_up(dimensions=("realism",), metrics=("ssim",), models=("a", "b")),
}


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(params=list(CASES))
def results(request: pytest.FixtureRequest) -> StudyResults:
    return CASES[request.param]


def test_csv_has_every_number_in_full(results: StudyResults) -> None:
    files = csv_files(results)
    rows = iter(read(files["standings.csv"]))
    for dimension in results.dimensions:
        for place, one in enumerate(dimension.ordering.standings, start=1):
            row = next(rows)
            assert row["model"].lstrip("'") == " ".join([one.model])
            assert (row["dimension"], row["place"]) == (dimension.key, str(place))
            assert float(row["strength"]) == one.strength.value
            assert one.preferred.interval is not None
            assert float(row["preferred_low"]) == one.preferred.interval.low
    assert next(rows, None) is None
    if "metrics.csv" in files:
        found = {(row["dimension"], row["metric"]): row for row in read(files["metrics.csv"])}
        for dimension in results.dimensions:
            assert dimension.worths is not None
            for worth in dimension.worths.metrics:
                name = f"'{worth.metric}" if worth.metric[0] in "=+-@" else worth.metric
                row = found[dimension.key, name]
                if worth.rho.value is None:
                    assert (row["rho"], row["rho_low"], row["best_share"]) == ("", "", "")
                    assert row["reason"] == worth.rho.reason
                else:
                    assert float(row["rho"]) == worth.rho.value
                    assert int(row["rho_n"]) == worth.rho.n
                    assert worth.corrected is not None
                    assert float(row["corrected_low"]) == worth.corrected.low
                    assert int(row["sources"]) == worth.sources
                    gap = worth.gap.value if worth.gap else None
                    assert row["person_gap"] == ("" if gap is None else repr(gap))
        assert found["", "roi_share"]["reason"] == "it has no better direction"


def test_agreement_has_all_measures_and_all_pairs() -> None:
    results = made_up(people=("ann", "bob", "cleo"))
    rows = [row for row in read(csv_files(results)["agreement.csv"]) if row["dimension"] == "ea"]
    overall = {row["measure"]: row for row in rows if not row["annotator_a"]}
    one = results.dimensions[0].agreement
    assert float(overall["krippendorff_alpha"]["value"]) == one.alpha.value
    assert float(overall["kendall_tau_b"]["value"]) == one.kendall.value
    assert {"spearman", "same_order", "one_against_the_others"} <= set(overall)
    pairs = {(r["annotator_a"], r["annotator_b"]): r["value"] for r in rows if r["annotator_a"]}
    assert {pair: float(value) for pair, value in pairs.items()} == {
        pair: found.value for pair, found in one.pairs.items()
    }


def test_differences_of_all_pairs_of_models() -> None:
    results = made_up()
    rows = read(csv_files(results)["differences.csv"])
    models = len(results.models)
    assert len(rows) == 3 * models * (models - 1) // 2
    first = next(iter(results.dimensions[0].ordering.differences.items()))
    assert (rows[0]["better"], rows[0]["worse"]) == first[0]
    assert float(rows[0]["value"]) == first[1][0].value and float(rows[0]["p_holm"]) == first[1][1]


def test_no_cell_of_a_spreadsheet_is_a_formula() -> None:
    for text in csv_files(hostile()).values():
        for row in csv.reader(io.StringIO(text)):
            for cell in row:
                assert not cell.startswith(("=", "+", "@"))
                assert not cell.startswith("-") or re.fullmatch(r"-[\d.e-]+", cell)


def test_a_number_that_is_none_gets_into_no_table() -> None:
    results = made_up()
    first = results.dimensions[0]
    assert first.worths is not None
    bad = made_worths({"ssim": 0.5})
    worth = replace(bad.metrics[0], rho=Estimate(float("nan"), None, 3, 3))
    broken = replace(first, worths=replace(bad, metrics=(worth,)))
    with pytest.raises(ValueError, match="not a result"):
        csv_files(replace(results, dimensions=(broken,)))


def test_json_is_whole_and_strict(results: StudyResults) -> None:
    found = json.loads(json.dumps(results_json(spoken(results)), allow_nan=False))
    assert [one["dimension"] for one in found["dimensions"]] == [d.key for d in results.dimensions]
    assert all(one["answer"] for one in found["dimensions"])
    names = {row["metric"] for row in found["metrics"]}
    worths = results.dimensions[0].worths
    assert names >= {one.metric for one in worths.metrics} if worths else not found["metrics"]


def test_markdown_keeps_its_shape(results: StudyResults) -> None:
    text = markdown(results)
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) == (3 if results.dimensions[0].worths is None else 4)
    for table in tables:
        bars = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(bars) == 1
    outside = re.sub(r"`[^`]*`", "", text)
    assert "<script" not in re.sub(r"\\<", "", outside)
    for dimension in results.dimensions:
        if dimension.worths and dimension.key == "ea":
            assert f"**{dimension.worths.metrics[0].rho.value:.2f}**" in text


def test_code_in_a_sentence_keeps_its_spaces() -> None:
    assert sentence("a_b `x_y` and `z`.") == r"a\_b `x_y` and `z`."


def test_latex_is_balanced_and_escaped(results: StudyResults) -> None:
    text = latex(results)
    for name in ("table", "tabular"):
        assert text.count(f"\\begin{{{name}}}") == text.count(f"\\end{{{name}}}")
    bare = re.sub(r"\\[{}\\]", "", text)
    assert bare.count("{") == bare.count("}")
    assert "\\input" not in text and "<script" not in text
    assert not re.search(r"(?<!\\)[#_]", text)
    body = re.sub(r"(?<!\\)%.*", "", text)
    columns = len(results.dimensions)
    for line in re.sub(r"\\begin\{tabular\}\[t\].*?\\end\{tabular\}", "x", body).splitlines():
        if line.endswith(r"\\"):
            assert len(re.findall(r"(?<!\\)&", line)) == columns


def test_latex_marks_the_best_metric_of_each_column() -> None:
    results = made_up()
    table = latex(results).split(r"\end{table}")[0]
    bold = re.findall(r"\\textbf\{(.*?)\}", table)
    best = {f"{d.worths.metrics[0].rho.value:.2f}" for d in results.dimensions if d.worths}
    assert set(bold) == best and len(bold) == 3


def test_captions_say_what_bold_and_the_intervals_are() -> None:
    results = made_up()
    first = latex(results).split(r"\end{table}")[0]
    for text in (first, markdown(results)):
        said = " ".join(text.split())
        assert "Bold: the highest" not in said
        assert "Bold: the best of the metrics that have a value in at least half" in said
        assert "one person: jackknife" in said
    unknown = replace(results, sources_known=False)
    assert "intervals over cases" in latex(unknown) and "over source" not in latex(unknown)


def test_a_metric_with_few_cases_is_neither_bold_nor_above_the_others() -> None:
    worths = made_worths({"psnr": 0.5, "ssim": 0.4, "cp": None})
    rare = replace(worths.metrics[1], metric="rare", rho=about(0.99, n=4), best=None)
    results = made_up(dimensions=("ea", "cp"), metrics=("ssim",))
    ea, cp = results.dimensions
    once = made_worths({"rare": 0.45})
    results = replace(
        results,
        dimensions=(
            replace(ea, worths=replace(worths, metrics=(*worths.metrics, rare))),
            replace(cp, worths=made_worths({"psnr": 0.2, "ssim": 0.5})),
        ),
    )
    assert metric_order(results) == ["ssim", "psnr", "rare", "cp"]
    assert "**0.99**" not in markdown(results) and r"\textbf{0.99}" not in latex(results)
    both = replace(cp, worths=replace(once, metrics=(*once.metrics, *worths.metrics)))
    results = replace(results, dimensions=(results.dimensions[0], both))
    # By the dimension in which it takes part, not by what four cases say.
    assert metric_order(results) == ["psnr", "rare", "ssim", "cp"]


def test_terminal_takes_names_as_text_and_fits(results: StudyResults) -> None:
    from rich.console import Console

    for width in (60, 100, 200):
        console = Console(width=width, file=io.StringIO(), no_color=True)
        for table in terminal(results):
            console.print(table.rich(width))
        assert isinstance(console.file, io.StringIO)
        text = console.file.getvalue()
        assert max(map(len, text.splitlines())) <= width
        assert "People prefer" in text
    if results is CASES["hostile"]:
        assert "[a](b)" in text


def test_terminal_shows_the_best_of_many_metrics() -> None:
    from rich.console import Console

    names = (*METRICS, *(f"my_metric_{i}" for i in range(30)))
    console = Console(width=160, file=io.StringIO(), no_color=True)
    results = made_up(metrics=names, seed=5)
    console.print(*(table.rich(160) for table in terminal(results)))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    for dimension in results.dimensions:
        assert dimension.worths is not None
        best = dimension.worths.metrics[0].rho.value
        assert f"{best:.2f}" in text
    assert "29 more metrics are in metrics.csv" in " ".join(text.split())


def test_a_folder_is_renewed_in_place(tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = write_results(made_up(), out)
    assert {path.relative_to(out).as_posix() for path in made} >= {
        *("annotators.csv", "agreement.csv", "standings.csv", "differences.csv", "metrics.csv"),
        *("results.md", "results.tex", "results.json"),
        *("figures/people-standings.svg", "figures/people-worth.pdf"),
    }
    assert all(path.is_file() for path in made)
    (out / "mine.txt").write_text("keep me")
    before = {path: path.stat().st_mtime_ns for path in made}
    assert write_results(made_up(), out) == made
    assert {path: path.stat().st_mtime_ns for path in made} == before  # same bytes, not rewritten
    write_results(made_up(with_runs=False, people=("ann",)), out)
    left = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert not left & {"metrics.csv", "figures/people-worth.svg", "figures/people-agreement.pdf"}
    assert left >= {"mine.txt", "standings.csv", MARKER}


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        write_results(made_up(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]
    with pytest.raises(InputError, match="is a file"):
        write_results(made_up(), tmp_path / "thesis.doc")


def test_a_marker_cannot_make_us_remove_what_is_elsewhere(tmp_path: Path) -> None:
    out, precious = tmp_path / "out", tmp_path / "precious.txt"
    out.mkdir()
    precious.write_text("mine")
    names = ["../precious.txt", str(precious), "..", "figures/../../precious.txt", 7]
    (out / MARKER).write_text(json.dumps({"files": names}))
    write_results(made_up(with_runs=False, people=("ann",)), out)
    assert precious.read_text() == "mine"


def test_names_of_hostile_models_survive_in_csv() -> None:
    rows = read(csv_files(hostile())["standings.csv"])
    assert {row["model"].removeprefix("'") for row in rows} == set(HOSTILE)


def test_missing_standings_have_a_reason() -> None:
    results = made_up(dimensions=("ea",))
    order = results.dimensions[0].ordering
    gone = Estimate(None, None, 0, 52, "nobody ranked it against another model")
    one = replace(order.standings[0], strength=gone, preferred=gone, mean_rank=gone, places=None)
    changed = replace(order, standings=(one, *order.standings[1:]))
    results = replace(results, dimensions=(replace(results.dimensions[0], ordering=changed),))
    row = read(csv_files(results)["standings.csv"])[0]
    assert row["strength"] == row["preferred"] == row["place_low"] == ""
    assert row["reason"] == gone.reason
    assert re.search(rf"\| {one.model}( \(control\))? \| – \|", markdown(results))
    assert np.isfinite(float(read(csv_files(results)["standings.csv"])[1]["strength"]))
