"""The section on why edits fail."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import medebench as mb
from medebench.analysis.published_tables import published_attention
from medebench.grounding import FAILURE_TYPES
from medebench.grounding.attention_files import write_map
from medebench.grounding.attention_floors import FLOORS, blob
from medebench.page.palette import REGION, ROI, SHARED
from medebench.reporting import build_report, failure_text, headline_table
from medebench.reporting.collect import collect
from medebench.reporting.diagnosis import make_diagnosis
from medebench.reporting.overlay import overlay_svg
from medebench.reporting.run_findings import clearest
from tests.reporting.conftest import FakeJudge, adopt_copies, attend, make_runs, make_set

Read = Callable[[Path], Any]


@pytest.fixture(scope="module")
def grounded(tmp_path_factory: pytest.TempPathFactory) -> list[mb.Run]:
    folder = tmp_path_factory.mktemp("grounded")
    cases = mb.load_cases(make_set(folder / "set", count=8, texts=["Remove <b>it</b> & all."]))
    runs = make_runs(cases, folder, controls=["identity", "reference"], judge=FakeJudge())
    attend(runs[0], skip=["c1"])
    return mb.ground(runs)


@pytest.fixture(scope="module")
def page(grounded: list[mb.Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_report(grounded, tmp_path_factory.mktemp("page")).index


def test_it_is_not_there_where_nothing_was_grounded(report: Path, read_script: Read) -> None:
    text = report.read_text(encoding="utf-8")
    assert "Why edits fail" not in text and "diagnosis" not in text
    assert not (report.parent / "findings.csv").exists()
    assert read_script(report.parent / "assets" / "cases.js")["grounded"] is None


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_the_section_and_its_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for words in ("Why edits fail", "Where editors look", "MedEBench Table 4", "chance"):
        assert words in text, words
    assert "Remove &lt;b&gt;it&lt;/b&gt; &amp; all." in text
    # Each map has a hash of its own; that is no matter of weights.
    assert "different weights" not in text
    for name in ("failures.svg", "failures.pdf", "agreement.svg", "agreement.pdf"):
        assert (page.parent / "figures" / name).is_file()
    rows = table(page.parent / "findings.csv")
    assert len(rows) == 32
    assert {row["type"] for row in rows} - {""} <= set(FAILURE_TYPES)
    assert {row["type"] for row in rows if row["run"] == "identity"} == {"nothing"}
    organs = table(page.parent / "attention.csv")
    assert {row["run"] for row in organs if row["floor"] == "no"} == {"good"}
    assert organs[0]["published"]


def test_the_tables_are_not_cluttered(grounded: list[mb.Run]) -> None:
    names = {score.name for score in headline_table(grounded).columns}
    assert names == {
        *("cp", "cp_published", "ssim", "psnr", "change_inside", "change_outside"),
        *("intended_offline", "vq_offline"),
    }


def test_counts_are_those_of_the_ledger(grounded: list[mb.Run]) -> None:
    diagnosis = make_diagnosis(collect(grounded))
    assert diagnosis is not None
    for run, profile in zip(grounded, diagnosis.profiles, strict=True):
        frame = run.frame()
        kinds = frame.filter(frame["metric"] == "success")["finding"].drop_nulls().to_list()
        assert {k: n for k, n in profile.counts.items() if n} == {
            kind: kinds.count(kind) for kind in set(kinds)
        }
        assert profile.outputs == 8
    assert diagnosis.everything.outputs == 16  # of models only
    assert sum(one.outputs for one in diagnosis.organs) == 16


def test_attention_is_averaged_with_its_chance(grounded: list[mb.Run]) -> None:
    diagnosis = make_diagnosis(collect(grounded))
    assert diagnosis is not None and diagnosis.attention is not None
    table = diagnosis.attention
    assert [entry.name for entry in table.entries] == ["good"]
    frame = grounded[0].frame()
    for name in ("attention_iou", "attention_iou_chance", "attention_energy"):
        values = frame.filter(frame["metric"] == name)["value"].drop_nulls().to_numpy()
        assert len(values) == 7
        assert table.overall["good", name].value == pytest.approx(values.mean())
    gain = table.overall["good", "attention_gain"]
    assert gain.low is not None and gain.high is not None and gain.low < gain.high
    assert table.coverage["good", "attention_iou"] == (7, 8)
    assert set(published_attention().iou) >= {"Teeth", "Eyes", "Skin"}


def test_floors_stand_beside_on_the_same_cases(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    first = text.partition('id="attention-table"')[2].partition("</table>")[0]
    second = text.partition('id="attention-organs"')[2].partition("</table>")[0]
    for part in (first, second):
        assert all(label in part for label in FLOORS.values()) and "floor</span>" in part
    assert first.index(">good<") < first.index('tbody class="floors"') < first.index("centred blob")
    assert published_attention().floors in text.replace("&#39;", "'")
    organs = table(page.parent / "attention.csv")
    counts = {label: [r["cases"] for r in organs if r["run"] == label] for label in FLOORS.values()}
    assert set(map(tuple, counts.values())) == {
        tuple(r["cases"] for r in organs if r["run"] == "good")
    }
    assert {r["run"] for r in organs if r["floor"] == "yes"} == set(FLOORS.values())
    # Every mean has an interval, or a word in its place.
    assert all(bool(r["low"]) != bool(r["why"]) for r in organs if r["iou"])
    cells = [cell for cell in second.split("<td")[1:] if "published" not in cell]
    assert all('<span class="ci">' in cell and 'ci"></span>' not in cell for cell in cells)


@pytest.fixture(scope="module")
def central(tmp_path_factory: pytest.TempPathFactory) -> list[mb.Run]:
    """ROIs around the middle; one editor looks at them, one always there, one at few of them."""
    folder = tmp_path_factory.mktemp("central")
    root = make_set(folder / "set", count=12)
    for i in range(12):
        mask = np.zeros((48, 64), np.uint8)
        top, left = 8 + 5 * i % 12, 10 + 7 * i % 18
        mask[top : top + 22, left : left + 28] = 255
        cv2.imwrite(str(root / "editing" / "previous_mask" / f"c{i}.png"), mask)
    runs = adopt_copies(mb.load_cases(root), folder, ["sees", "centre", "few"], few=5)
    mb.score(runs, metrics=["ssim"])
    for run in runs:
        with run.locked() as ledger:
            for (case, k), row in ledger.outputs().items():
                roi = mb.open_case(run.cases[case]).roi
                seen = roi.copy()
                seen[: 12 + int(case[1:]) % 5] = False  # none sees all of it
                heat = blob(*roi.shape) if run.name == "centre" else seen
                write_map(run.attention_path(case, k), np.asarray(heat, np.float32))
                told = {"attention": {"concept": "spot", "token": "spot"}}
                ledger.write(replace(row, detail=row.detail | told))
    return mb.ground(runs)


def test_only_what_beats_the_strongest_floor_looks_at_the_roi(
    central: list[mb.Run], tmp_path: Path
) -> None:
    material = collect(central)
    material = replace(material, cases={case.id: case for case in central[0].cases})
    diagnosis = make_diagnosis(material)
    assert diagnosis is not None and diagnosis.attention is not None
    found = diagnosis.attention
    gain = found.overall["centre", "attention_gain"]
    assert gain.low is not None and gain.low > 0.1  # far above chance, and it never looked
    sees, centre, few = failure_text.looking(found)
    assert sees.startswith("sees looks at the ROI: its IoU is above the strongest floor")
    assert not centre.startswith("centre looks at the ROI:")
    best, pair = found.leads["sees"]
    level = found.overall[best.run, "attention_iou"].value
    assert level == max(found.overall[r.run, "attention_iou"].value or 0 for r in found.floors[:3])
    assert pair.n_cases == 12 and pair.n_dropped == 0
    mean = found.overall["sees", "attention_iou"].value
    assert pair.difference == pytest.approx((mean or 0) - (level or 0), abs=1e-6)
    # `few` has other cases, so it has floors of its own, and it is said whose.
    labels = [row.label for row in found.floors]
    assert len(labels) == 6 and labels[0] == "centred blob, cases of sees, centre"
    assert labels[3] == "centred blob, cases of few" and found.leads["few"][1].n_cases == 5
    rois = {case.id: mb.open_case(case).roi for case in central[0].cases}
    for row, keys in (
        (found.floors[1], list(rois)),
        (found.floors[4], [f"c{i}" for i in range(5)]),
    ):
        share = np.mean([rois[key].mean() for key in keys])
        assert found.overall[row.run, "attention_energy"].value == pytest.approx(share)
    assert few
    text = build_report(central, tmp_path / "report").index.read_text(encoding="utf-8")
    assert "sees looks at the ROI" in text and "cases of few" in text


def test_without_the_cases_there_is_no_claim(central: list[mb.Run]) -> None:
    diagnosis = make_diagnosis(collect(central))
    assert diagnosis is not None and diagnosis.attention is not None
    assert diagnosis.attention.floors == ()
    assert all("looks at the ROI" not in text for text in failure_text.looking(diagnosis.attention))


def test_examples_are_clear_and_spread(grounded: list[mb.Run]) -> None:
    diagnosis = make_diagnosis(collect(grounded))
    assert diagnosis is not None
    for kind, examples in diagnosis.examples.items():
        assert 1 <= len(examples) <= 4 and all(one.type == kind for one in examples)
        controls = [one.entry.control for one in examples]
        assert controls == sorted(controls)
        if len({one.case for one in diagnosis.found if one.type == kind}) >= 4:
            assert len({one.case for one in examples}) == len(examples)
    models = [o for o in diagnosis.found if o.type == "success" and not o.entry.control]
    [first, *_] = clearest(models, "success")
    assert first.margin == pytest.approx(max(one.margin for one in models), abs=1e-3)


def test_all_or_none_is_not_certain(grounded: list[mb.Run]) -> None:
    diagnosis = make_diagnosis(collect(grounded))
    assert diagnosis is not None
    [identity] = [one for one in diagnosis.profiles if one.name == "identity"]
    assert identity.success.value == 0 and identity.success.low == 0
    # Wilson's, 0 of 8, with Student's quantile for 7 degrees of freedom: t² / (8 + t²).
    assert identity.success.high == pytest.approx(2.3646**2 / (8 + 2.3646**2), abs=1e-4)


def test_overlay_colours() -> None:
    roi, region = np.zeros((2, 40, 60), bool)
    roi[5:20, 5:30] = True
    region[10:35, 20:50] = True
    text = overlay_svg(roi, region)
    assert all(colour in text for colour in (ROI, REGION, SHARED))
    assert SHARED not in overlay_svg(roi, ~roi & region)
    assert REGION not in overlay_svg(roi, np.zeros_like(roi))


def test_same_bytes_and_no_paths(grounded: list[mb.Run], page: Path, tmp_path: Path) -> None:
    again = build_report(grounded, tmp_path / "again", workers=1).index
    for path in page.parent.rglob("*"):
        if path.is_file():
            other = again.parent / path.relative_to(page.parent)
            assert other.read_bytes() == path.read_bytes(), path
            assert str(grounded[0].path.parent).encode() not in path.read_bytes()


def test_methods_name_thresholds(page: Path, grounded: list[mb.Run], tmp_path: Path) -> None:
    methods = page.read_text(encoding="utf-8").partition('id="methods"')[2]
    assert "repainted_context" in methods and "Used here:" not in methods
    assert "medebench ground runs/good" in methods
    mb.ground(grounded, thresholds=mb.Thresholds(good_residual=0.99))
    try:
        text = build_report(grounded, tmp_path / "other").index.read_text(encoding="utf-8")
    finally:
        mb.ground(grounded)
    assert "good_residual 0.99" in text and "--threshold good_residual=0.99" in text


def test_the_ceiling_stands_beside_the_tables(
    grounded: list[mb.Run], page: Path, tmp_path: Path
) -> None:
    text = page.read_text(encoding="utf-8")
    for place in ("score-ceiling", "type-ceiling"):
        said = text.partition(f'id="{place}"')[2].partition("</p>")[0]
        assert "what the references themselves get (reference" in said, place
    assert "reference" in " ".join(headline_table(grounded).notes)
    alone = [run for run in grounded if run.info.editor != "reference"]
    without = build_report(alone, tmp_path / "without").index.read_text(encoding="utf-8")
    assert without.count("medebench edit CASES --editor reference --out runs/reference") >= 2
