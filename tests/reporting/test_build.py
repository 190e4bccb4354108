"""The report's folder: repeatable, tidy, safe, and nobody else's."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
import pytest

import medebench as mb
from medebench.errors import InputError
from medebench.page.image_packs import natural, read_pack
from medebench.page.page_folder import MARKER, script
from medebench.page.web_images import outline_svg
from medebench.reporting import build_report
from tests.reporting.conftest import HOSTILE, FakeJudge, make_runs, make_set

Read = Callable[[Path], Any]


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def packed(folder: Path, kind: str) -> dict[str, str]:
    """The pictures of a kind in all packs of a report."""
    found: dict[str, str] = {}
    for path in folder.glob(f"assets/{kind}/*.js"):
        found |= read_pack(path)
    return found


def test_everything_is_there(report: Path) -> None:
    found = contents(report.parent)
    for name in ("index.html", "table.csv", "table.md", "table.tex", "organs.csv"):
        assert name in found
    assert "comparisons.csv" in found and "tasks.csv" in found
    figures = {Path(name).stem for name in found if name.startswith("figures/")}
    for start in ("bars", "radar", "tradeoff", "inflation", "distribution"):
        assert any(name.startswith(start) for name in figures), start
    assert {f"figures/{name}.{end}" for name in figures for end in ("svg", "pdf")} <= set(found)
    # 9 previous, 9 references, 4 outputs each; outlines; no large views of small pictures.
    kinds = {kind: packed(report.parent, kind) for kind in ("small", "change", "lines", "large")}
    assert [len(found) for found in kinds.values()] == [9 + 9 + 36, 36, 9, 0]


def test_nothing_comes_from_elsewhere(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", text)
    for path in report.parent.glob("assets/*.js"):
        assert "fetch(" not in path.read_text(encoding="utf-8")
    for link in re.findall(r"(?:src|href)=\"([^\"#:]+)\"", text):
        assert (report.parent / link).is_file(), link


def test_same_input_same_bytes(runs: list[mb.Run], report: Path, tmp_path: Path) -> None:
    build_report(runs, tmp_path / "again", workers=1)
    assert contents(tmp_path / "again") == contents(report.parent)


def test_second_report_keeps_pictures_and_removes_stale_files(
    runs: list[mb.Run], report: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(report.parent, folder)
    (folder / "figures" / "old.svg").write_text("of an earlier report")
    (folder / "notes.txt").write_text("the user's")
    before = packed(folder, "change")
    build_report(runs, folder)
    assert not (folder / "figures" / "old.svg").exists()
    assert (folder / "notes.txt").exists()
    build_report(runs[1:], folder)
    left = packed(folder, "change")
    assert len(left) == 27 and left.items() < before.items()


def test_a_foreign_folder_is_refused(runs: list[mb.Run], tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="is not empty and not a report"):
        build_report(runs, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(InputError, match="is a file"):
        build_report(runs, tmp_path / "thesis.tex")


def test_an_interrupted_report_is_taken_up(
    runs: list[mb.Run], report: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "half"
    folder.mkdir()
    shutil.copy(report.parent / MARKER, folder)
    (folder / MARKER).write_text("{")
    build_report(runs, folder)
    assert contents(folder) == contents(report.parent)


def test_missing_scores_have_their_reason(report: Path, read_script: Read) -> None:
    data = read_script(report.parent / "assets" / "cases.js")
    run = data["outputs"][0]
    place = run["case"].index([case[0] for case in data["cases"]].index("c3"))
    assert run["values"]["intended_offline"][place] is None
    assert data["reasons"][run["why"]["intended_offline"][str(place)]] == "the judge looked away"
    assert "scored 8 of 9; 1 the judge looked away" in report.read_text()


def test_values_of_the_gallery_are_those_of_the_runs(
    runs: list[mb.Run], report: Path, read_script: Read
) -> None:
    data = read_script(report.parent / "assets" / "cases.js")
    keys = [case[0] for case in data["cases"]]
    for run, columns in zip(runs, data["outputs"], strict=True):
        for row in run.frame().iter_rows(named=True):
            place = columns["case"].index(keys.index(row["case"]))
            shown = columns["values"][row["metric"]][place]
            assert shown == (None if row["value"] is None else round(row["value"], 4))


def test_tasks_have_rows_of_their_own(runs: list[mb.Run], report: Path, read_script: Read) -> None:
    rows = list(csv.DictReader((report.parent / "tasks.csv").read_text().splitlines()))
    frame = runs[0].frame().filter(pl.col("metric") == "cp")
    parts = frame.group_by("organ", "task").agg(
        pl.col("value").mean(), scored=pl.col("value").count(), total=pl.len()
    )
    assert len(parts) == 6
    for organ, task, mean, scored, total in parts.iter_rows():
        [row] = [
            r
            for r in rows
            if (r["organ"], r["task"], r["run"], r["metric"]) == (organ, task, "good", "cp")
        ]
        assert float(row["mean"]) == pytest.approx(mean, abs=1e-12)
        assert (row["scored"], row["total"]) == (str(scored), str(total))
    finer = read_script(report.parent / "assets" / "data.js")["finer"]
    assert finer["organs"]["own"]["rows"] == ["Eyes", "Skin", "Teeth"]
    assert finer["tasks"]["own"]["rows"][0] == "Eyes · Remove spots"
    assert len(finer["tasks"]["own"]["cells"]["cp"]) == 6


def test_a_replaced_output_is_said(
    small_set: mb.CaseSet, tmp_path: Path, read_script: Read
) -> None:
    [run] = make_runs(small_set, tmp_path, models=["one"], controls=[])
    cv2.imwrite(str(run.output_path("c2", 0)), np.zeros((20, 30, 3), np.uint8))
    run.output_path("c4", 0).write_bytes(b"no picture")
    index = build_report([run], tmp_path / "report").index
    data = read_script(index.parent / "assets" / "cases.js")
    said = {place: data["reasons"][n] for place, n in data["outputs"][0]["trouble"].items()}
    assert "replaced after it was scored" in said["2"]
    assert said["4"].startswith("not an image") or "image" in said["4"]
    assert str(tmp_path) not in index.parent.joinpath("assets/cases.js").read_text()
    assert data["outputs"][0]["size"]["2"] == "30 × 20"


class Scripts(HTMLParser):
    """What a browser would take for elements and handlers."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str | None] = []
        self.handlers: list[str] = []
        self.images = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "script":
            self.scripts.append(values.get("src"))
        # Pictures of examples lie beside the page; any other would be somebody's text.
        own = str(values.get("src")).startswith("assets/examples/")
        self.images += tag == "img" and not own
        self.handlers += [name for name in values if name.startswith("on")]


def test_hostile_texts_stay_texts(tmp_path: Path, read_script: Read) -> None:
    folder = make_set(tmp_path / "set", count=4, texts=[HOSTILE] * 4)
    metadata = folder / "editing" / "editing_metadata.json"
    samples = json.loads(metadata.read_text())["samples"]
    for sample in samples:
        sample["Organ"] = sample["Task"] = HOSTILE
    samples[0]["id"] = "c0"
    metadata.write_text(json.dumps({"samples": samples}))
    name = "a'b&c$x_1$ %d {{7}} é🦷"
    cases = mb.load_cases(folder)
    runs = make_runs(cases, tmp_path, models=[name, "other"], controls=[], judge=FakeJudge())
    index = build_report(runs, tmp_path / "report", title=HOSTILE).index
    page = Scripts()
    page.feed(index.read_text(encoding="utf-8"))
    assert page.images == 0 and not page.handlers
    assert all(source and source.startswith("assets/") for source in page.scripts)
    for path in index.parent.glob("assets/**/*.js"):
        if path.name in ("cases.js", "data.js") or path.parent.name == "details":
            text = path.read_text(encoding="utf-8")
            assert "<" not in text and "\u2028" not in text
    data = read_script(index.parent / "assets" / "cases.js")
    assert data["cases"][0][2][0] == ["Prompt", HOSTILE, "case"]
    names = [path.name for path in index.parent.glob("assets/small/*")]
    assert names and all(re.fullmatch(r"[0-9a-f]{20}\.js", one) for one in names)


def test_scripts_are_json_with_nothing_to_break_out_of() -> None:
    value = {"a": ["</script>", "\u2028\u2029", "&amp;", "<!--"]}
    text = script("X", value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text[len("window.X = ") : -2]) == value


def test_natural_order() -> None:
    assert sorted(["c10", "c9", "c1", "b"], key=natural) == ["b", "c1", "c9", "c10"]


def test_outline_runs_round_the_roi() -> None:
    roi = np.zeros((40, 60), bool)
    roi[10:20, 30:50] = True
    points = [tuple(map(int, p.split())) for p in re.findall(r"\d+ \d+", outline_svg(roi)[90:])]
    assert {(30, 10), (49, 10), (49, 19), (30, 19)} <= set(points)
    assert "NaN" not in outline_svg(np.zeros((5, 5), bool))


def test_set_without_roi_and_reference(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "set", count=3)
    metadata = folder / "editing" / "editing_metadata.json"
    samples = json.loads(metadata.read_text())["samples"]
    for sample in samples:
        del sample["changed_image"], sample["previous_mask"]
    metadata.write_text(json.dumps({"samples": samples}))
    run = mb.edit(folder, "blur", out=tmp_path / "blur")
    mb.score(run)
    index = build_report([run], tmp_path / "report").index
    assert "the case has no ROI" in index.read_text(encoding="utf-8")


def test_no_path_of_this_disk_is_shown(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "set", count=3)
    (folder / "editing" / "changed" / "c1.png").write_bytes(b"damaged")
    # No output can be made of this one, and the reason names the file.
    (folder / "editing" / "previous" / "c2.png").write_bytes(b"damaged")
    run = mb.edit(folder, "blur", out=tmp_path / "blur")
    mb.score(run)
    index = build_report([run], tmp_path / "report").index
    text = (index.parent / "assets" / "cases.js").read_text(encoding="utf-8")
    assert "changed/c1.png" in text and "no output: previous/c2.png" in text
    for path in index.parent.rglob("*"):
        if path.is_file():
            assert str(tmp_path).encode() not in path.read_bytes(), path


def test_what_lies_behind_a_link_is_left_alone(
    report: Path, runs: list[mb.Run], tmp_path: Path
) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.tex").write_text("years of work")
    folder = tmp_path / "report"
    folder.mkdir()
    shutil.copy(report.parent / MARKER, folder)
    (folder / "assets").symlink_to(tmp_path / "precious")
    with pytest.raises(InputError, match="is a link"):
        build_report(runs, folder)
    assert (tmp_path / "precious" / "thesis.tex").exists()


@pytest.mark.parametrize("metrics", [["ssim"], ["psnr", "change_outside"], ["cp_published"]])
def test_whatever_was_scored_is_reported(
    small_set: mb.CaseSet, tmp_path: Path, metrics: list[str]
) -> None:
    runs = [mb.edit(small_set, name, out=tmp_path / name) for name in ("blur", "noise")]
    mb.score(runs, metrics=metrics)
    report = build_report(runs, tmp_path / "report", published=False)
    assert [column.name for column in report.table.columns] == metrics
    assert "published, MedEBench" not in report.index.read_text(encoding="utf-8")
