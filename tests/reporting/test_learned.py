"""Learned metrics in the report: what was computed, with its weights, and nothing else."""

from __future__ import annotations

import csv
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import medebench as mb
from medebench.analysis import summarise
from medebench.analysis.published_tables import published_worth, worth_of
from medebench.metrics import LEARNED, METRICS, find_learned
from medebench.page.score_columns import describe
from medebench.reporting import build_report, headline_table
from medebench.reporting.collect import collect
from medebench.reporting.headline_table import MARK, make_table
from medebench.reporting.learned import make_learned
from medebench.reporting.methods import reproduce, warnings_of
from medebench.reporting.set_tables import brief
from medebench.reporting.statistics import compute
from medebench.runs.ledger import STALE_SET, WHOLE
from tests.reporting.conftest import (
    ALEX,
    HOSTILE,
    ISIM,
    TALIGN,
    WEIGHTS,
    adopt_copies,
    put_learned,
    put_scores,
    put_set,
)
from tests.reporting.test_build import contents

Read = Callable[[Path], Any]


@pytest.fixture(scope="module")
def learned(small_set: mb.CaseSet, tmp_path_factory: pytest.TempPathFactory) -> list[mb.Run]:
    runs = put_learned(small_set, tmp_path_factory.mktemp("learned"))
    for place, run in enumerate(runs):
        few = "too few: 3 outputs beside a reference, 10 are needed"
        parts = {WHOLE: 80.0 + place, "Teeth": 90.0, "Eyes": few, "Skin": few}
        told = {"floor": 61.25, "note": "biased upwards", "sources": 9}
        put_set(run, "fid_inception", parts, detail=told)
    return runs


@pytest.fixture(scope="module")
def page(learned: list[mb.Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_report(learned, tmp_path_factory.mktemp("page")).index


def section(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    start = text.index('id="learned"')
    return text[start : text.index("</section>", start)]


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_every_learned_metric_can_be_shown() -> None:
    scores = describe(LEARNED, {})
    assert [score.name for score in scores] == list(LEARNED)
    assert len({score.label for score in scores}) == len(LEARNED)
    assert all(score.definition and score.label != score.name for score in scores)
    assert {s.name for s in scores if s.better == "lower"} == {
        name for name in LEARNED if name.startswith(("lpips", "fid", "kid", "niqe", "brisque"))
    }


def test_they_leave_the_headline_table(
    learned: list[mb.Run], page: Path, read_script: Read
) -> None:
    table = headline_table(learned)
    assert [column.name for column in table.columns] == ["cp", "ssim"]
    for text in (table.markdown(), table.latex(), table.csv()):
        assert "lpips" not in text.lower()
    bars = next(page.parent.glob("figures/bars*.svg")).read_text()
    assert "ISim" not in bars
    # They stay scores: for pairs, organs, the gallery.
    data = read_script(page.parent / "assets" / "data.js")
    assert [score[0] for score in data["scores"]] == ["cp", "ssim", ALEX, ISIM, TALIGN]
    assert ALEX in data["finer"]["organs"]["own"]["cells"]
    assert any(pair["metric"] == ISIM for pair in data["pairs"])
    assert any(row["metric"] == ALEX for row in rows_of(page.parent / "organs.csv"))


def test_numbers_are_those_of_the_analysis(learned: list[mb.Run], page: Path) -> None:
    bounds = {score.name: score.bounds for score in collect(learned).scores}
    expected = summarise(
        pl.concat([run.frame() for run in learned]).rename({"organ": "group"}), bounds=bounds
    )
    found = {(row["run"], row["metric"]): row for row in rows_of(page.parent / "learned.csv")}
    assert len(found) == 9
    for row in expected.filter(pl.col("metric").is_in([ALEX, ISIM, TALIGN])).iter_rows(named=True):
        one = found[row["run"], row["metric"]]
        for name in ("mean", "low", "high", "macro"):
            assert float(one[name]) == row[name]
        assert (one["scored"], one["total"]) == ("9", "9")
    # Lower is better: A is best, B significantly worse.
    assert (found["A", ALEX]["best"], found["B", ALEX]["mark"]) == ("yes", MARK)
    assert found["A", ALEX]["variant"] == WEIGHTS
    assert (found["A", ISIM]["published_rho_cp"], found["A", ALEX]["published_rho_cp"]) == (
        "0.55",
        "",
    )


def test_the_section_says_weights_worth_and_cut_texts(page: Path) -> None:
    text = section(page)
    assert 'title="lpips-1 sha256 0123456789abcdef">lpips-1 sha256 0123456789<' in text
    assert (
        "Text cut: 4 of 9 descriptions were longer than the encoder’s 77 tokens (the longest "
        "has 93); the rest was not read." in text
    )
    assert text.count("Text cut") == 1
    assert "not published for this variant; lpips_alex_published: EA 0.38, CP 0.67, VQ 0.60" in text
    assert '<td class="n">0.35</td><td class="n">0.55</td><td class="n">0.56</td>' in text
    assert (page.parent / "figures" / "worth.svg").is_file()
    methods = page.read_text()[page.read_text().index('id="methods"') :]
    assert re.findall(r"<dt>(\w+)</dt>", methods) == ["LPIPS", "ISim", "TAlign", "FID"]
    for absent in ("KID", "DAlign", "ImageReward", "NIQE"):
        assert absent not in page.read_text(), absent


def test_sets(page: Path) -> None:
    text = section(page)
    assert "9 against 9" in text and "61.25" in text and "79.00–82.00" in text
    assert text.count("FID: biased upwards.") == 1
    assert "No FID for Eyes, Skin: too few, 10 are needed." in text
    assert "Not comparable" not in text
    rows = rows_of(page.parent / "sets.csv")
    assert [(row["run"], row["organ"]) for row in rows[:4]] == [
        ("A", ""),
        ("A", "Eyes"),
        ("A", "Skin"),
        ("A", "Teeth"),
    ]
    first, second = rows[:2]
    assert (float(first["value"]), float(first["floor"]), first["sources"]) == (80.0, 61.25, "9")
    assert second["value"] == "" and second["reason"].startswith("too few: 3 outputs")


def test_nothing_is_said_of_what_was_not_computed(report: Path) -> None:
    for start in ("learned", "sets", "assets/learned", "figures/worth"):
        assert not list(report.parent.glob(f"{start}*"))
    text = report.read_text(encoding="utf-8")
    for word in ("learned", "Learned", "LPIPS", "FID", "KID", "ISim", "Align", "ρ with people"):
        assert word not in text, word


def test_a_later_report_without_them_leaves_nothing(
    small_set: mb.CaseSet, learned: list[mb.Run], tmp_path: Path
) -> None:
    plain = mb.edit(small_set, "blur", out=tmp_path / "blur")
    mb.score(plain, metrics=["ssim"])
    build_report(learned, tmp_path / "report")
    assert {"learned.csv", "sets.csv", "assets/learned.css"} <= set(contents(tmp_path / "report"))
    build_report([plain], tmp_path / "report")
    left = set(contents(tmp_path / "report"))
    assert not left & {"learned.csv", "sets.csv", "assets/learned.css", "figures/worth.svg"}


def test_the_same_bytes_without_torch(learned: list[mb.Run], page: Path, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "for name in ('torch', 'transformers', 'open_clip'): sys.modules[name] = None\n"
        "import medebench as mb\n"
        "from medebench.reporting import build_report\n"
        "build_report([mb.open_run(path) for path in sys.argv[2:]], sys.argv[1], workers=1)\n"
    )
    paths = [str(run.path) for run in learned]
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "r"), *paths], check=True)
    assert contents(tmp_path / "r") == contents(page.parent)


def test_other_weights_are_said(small_set: mb.CaseSet, tmp_path: Path) -> None:
    runs = adopt_copies(small_set.select(limit=3), tmp_path, ["A", "B"])
    put_scores(runs[0], ALEX, {"c0": 0.1, "c1": 0.2, "c2": 0.3}, {"variant": WEIGHTS})
    put_scores(runs[1], ALEX, {"c0": 0.1, "c1": 0.2, "c2": 0.3}, {"variant": WEIGHTS})
    assert not any("weights" in text for text in warnings_of(collect(runs)))
    put_scores(runs[1], ALEX, {"c1": 0.2}, {"variant": "lpips-1 <b>other</b>"})
    [said] = [text for text in warnings_of(collect(runs)) if "weights" in text]
    assert said.startswith("lpips_alex ")
    assert said.endswith(": lpips-1 sha256 0123456789: A and B; lpips-1 <b>other</b>: B.")
    page = build_report(runs, tmp_path / "report", published=False).index
    assert "<b>other" not in page.read_text() and "lpips-1 &lt;b&gt;other" in section(page)


def test_a_score_of_a_replaced_picture_tells_nothing(small_set: mb.CaseSet, tmp_path: Path) -> None:
    [run] = adopt_copies(small_set.select(limit=2), tmp_path, ["A"])
    put_scores(run, ALEX, {"c0": 0.1, "c1": 0.2}, {"variant": "new"})
    with run.locked() as ledger:
        old = next(row for row in ledger.scores() if row.case_id == "c1")
        ledger.write(replace(old, output="0" * 64, detail={"variant": "old"}))
    assert list(collect([run]).variants[ALEX]) == ["new"]


def test_runs_over_other_pictures_are_not_comparable(small_set: mb.CaseSet, tmp_path: Path) -> None:
    runs = adopt_copies(small_set, tmp_path, ["A", "B", "C"], B=4)
    for run, count in zip(runs, (9, 4, 9), strict=True):
        put_set(run, "fid_inception", {WHOLE: 50.0}, n=count, n_references=count)
        put_set(run, "kid_inception", {WHOLE: 0.5}, n=count, n_references=count)
    text = section(build_report(runs, tmp_path / "report").index)
    assert text.count("Not comparable.") == 1
    assert "FID and KID: " in text
    assert "(outputs against references: A and C: 9 against 9; B: 4 against 4)." in text


def test_the_same_number_of_other_cases_is_no_better(small_set: mb.CaseSet, tmp_path: Path) -> None:
    first = adopt_copies(small_set.select(limit=4), tmp_path / "1", ["A"])
    others = small_set.select(ids=["c5", "c6", "c7", "c8"])
    runs = first + adopt_copies(others, tmp_path / "2", ["B"])
    for run in runs:
        put_set(run, "fid_inception", {WHOLE: 50.0}, n=4, n_references=4)
    assert "Not comparable." in section(build_report(runs, tmp_path / "report").index)


def test_a_set_score_of_other_outputs_is_none(small_set: mb.CaseSet, tmp_path: Path) -> None:
    [run] = adopt_copies(small_set, tmp_path, ["A"])
    put_set(run, "fid_inception", {WHOLE: 51.5})
    shutil.copy(run.output_path("c1", 0), run.output_path("c0", 0))
    page = build_report([run], tmp_path / "report").index
    assert STALE_SET in section(page) and "51.5" not in section(page)
    [row] = rows_of(page.parent / "sets.csv")
    assert (row["value"], row["reason"]) == ("", STALE_SET)


def test_a_report_of_nothing_but_sets(small_set: mb.CaseSet, tmp_path: Path) -> None:
    runs = adopt_copies(small_set, tmp_path, ["A", "B"])
    put_set(runs[0], "kid_inception", {WHOLE: 0.0123})
    put_set(runs[1], "kid_inception", {WHOLE: 0.0456})
    report = build_report(runs, tmp_path / "report")
    text = report.index.read_text()
    assert "0.0123" in section(report.index) and 'id="scores"' not in text
    for link in re.findall(r"href=\"#([^\"]+)\"", text):
        assert f'id="{link}"' in text, link
    assert r"Run \\" in report.table.latex()
    # One that has other scores as well stands beside it.
    mb.score(runs[1], metrics=["ssim"])
    table = build_report(runs, tmp_path / "report", scale=False).table
    assert [len(row.cells) for row in table.rows] == [0, 1]


def test_nothing_but_learned_ones_are_the_headline(small_set: mb.CaseSet, tmp_path: Path) -> None:
    [run] = adopt_copies(small_set.select(limit=3), tmp_path, ["A"])
    put_scores(run, ISIM, {"c0": 0.5, "c1": 0.6, "c2": 0.7}, {"variant": "clip"})
    report = build_report([run], tmp_path / "report", published=False)
    assert [column.name for column in report.table.columns] == [ISIM]
    text = section(report.index)
    assert "Their means are in the table of" in text and "learned-table" not in text


def test_an_encoder_that_only_its_user_has(small_set: mb.CaseSet, tmp_path: Path) -> None:
    [run] = adopt_copies(small_set.select(limit=2), tmp_path, ["A"])
    name = f"isim_{HOSTILE[:40]}"
    for metric in ("isim_our-own", name):
        put_scores(run, metric, {"c0": 0.5, "c1": 0.6}, {"variant": "sha256 1"})
    mb.score(run, metrics=["ssim"])
    page = build_report([run], tmp_path / "report", published=False).index
    assert "not published for this variant; isim_published_clip-vit-l14: EA 0.35" in section(page)
    assert "<img src=x" not in page.read_text()
    assert "Hollow" in section(page)


def test_the_command_finds_every_metric_again(
    small_set: mb.CaseSet, learned: list[mb.Run], tmp_path: Path
) -> None:
    material = collect(learned)
    table = make_table(material, compute(material, detailed=False))
    line = reproduce(material, table).splitlines()[0]
    names = shlex.split(line)[-1].split(",")
    assert names == ["cp", "ssim", ALEX, ISIM, TALIGN, "fid_inception"]
    assert all(name in METRICS.builtin or find_learned(name) for name in names)
    # A folder's name is not where it lies; a hub id is.
    [run] = adopt_copies(small_set.select(limit=2), tmp_path, ["A"])
    for metric in ("isim_tiny", "isim_vinid/plip"):
        put_scores(run, metric, {"c0": 0.5, "c1": 0.6})
    material = collect([run])
    line = reproduce(material, make_table(material, compute(material))).splitlines()[0]
    assert line.endswith("--metrics isim:path/to/tiny,isim_vinid/plip")
    folder = tmp_path / "tiny"
    folder.mkdir()
    found = find_learned(f"isim:{folder}")
    assert found is not None and found.info().name == "isim_tiny"


@pytest.mark.parametrize(
    ("metric", "row", "exact"),
    [
        ("lpips_alex_published", "LPIPS", True),
        ("lpips_alex", "LPIPS", False),
        ("lpips_alex_roi", "", False),
        ("isim_published_clip-vit-l14", "ISim", True),
        ("isim_published_clip-vit-b32", "ISim", False),
        ("isim_clip-vit-l14", "ISim", False),
        ("talign_prompt_published_clip-vit-l14", "TAlign_prompt", True),
        ("dalign_description_published_clip-vit-l14", "DAlign_description", True),
        ("dalign_description_clip-vit-l14", "DAlign_description", False),
        ("dalign_prompt_biomedclip", "DAlign_prompt", False),
        ("imagereward_description", "ImageReward_description", True),
        ("niqe", "", False),
        ("fid_inception", "", False),
    ],
)
def test_only_the_published_variant_has_a_published_worth(
    metric: str, row: str, exact: bool
) -> None:
    [score] = describe([metric], {})
    worth = worth_of(score.family, score.encoder)
    assert (worth.row, worth.exact) == (row, exact)
    assert worth.rho == (published_worth().rho[row] if row else {})
    assert exact == (worth.words == "")


def test_no_figure_where_nothing_was_published(small_set: mb.CaseSet, tmp_path: Path) -> None:
    [run] = adopt_copies(small_set.select(limit=2), tmp_path, ["A"])
    put_scores(run, "niqe", {"c0": 3.0, "c1": 4.0}, {"variant": "niqe-1"})
    mb.score(run, metrics=["ssim"])
    page = build_report([run], tmp_path / "report").index
    assert "not published" in section(page)
    assert not (page.parent / "figures" / "worth.svg").exists()
    assert "Spearman" not in section(page)


def test_the_paper_s_encoder_goes_first() -> None:
    names = ["isim_biomedclip", "niqe", "isim_clip-vit-l14", "ssim", "lpips_vgg"]
    ordered = [score.name for score in describe(names, {})]
    assert ordered == ["ssim", "lpips_vgg", "isim_clip-vit-l14", "isim_biomedclip", "niqe"]


def test_runs_without_learned_scores_have_none(small_set: mb.CaseSet, tmp_path: Path) -> None:
    [run] = adopt_copies(small_set.select(limit=2), tmp_path, ["A"])
    mb.score(run, metrics=["ssim"])
    material = collect([run])
    assert make_learned(material, compute(material)) is None


def test_hashes_are_shortened_and_words_are_not() -> None:
    assert brief("clip 0123456789abcdef0123 defaced") == "clip 0123456789 defaced"
