"""Chosen cases as one figure, and what the settings of a sweep do to a case."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.errors import InputError
from medebench.page.number import number
from medebench.reporting import build_report
from medebench.reporting.output_grid import table_of
from tests.reporting.conftest import FakeJudge, make_runs, make_set
from tests.reporting.toy_tasks import make_runs as make_answers
from tests.reporting.toy_tasks import write_cases

#: An editor with two settings, and one that fails where the first is 2.
TWO = """
import medebench as mb
class Two(mb.Editor):
    class Settings(mb.Settings):
        strength: int = 0
        shade: int = 0
    def generate(self, request):
        if self.settings.strength == 2 and request.case.case.id == "c1":
            raise mb.Refused("too strong for me")
        picture = request.case.previous.copy()
        picture[: 4 * self.settings.strength + 4] = self.settings.shade
        return mb.Output(picture)
"""
PLAN = """
cases: set
out: results
editors:
  - editor: two.py:Two
    name: tuned
    sweep: {strength: [0, 2], shade: [0, 120, 250]}
  - identity
metrics: [ssim, cp]
choose: {metric: ssim, share: 0.5}
ground: false
"""


def texts_of(svg: Path) -> list[tuple[str, bool]]:
    """The texts of a figure in their order, and whether they are bold."""
    root = ElementTree.parse(svg).getroot()
    found = [one for one in root.iter() if one.tag.endswith("}text")]
    return [("".join(one.itertext()), "font-weight: 700" in one.get("style", "")) for one in found]


def images_of(svg: Path) -> list[Image.Image]:
    data = re.findall(r"data:image/png;base64,([^\"]+)", svg.read_text("utf-8"))
    return [Image.open(io.BytesIO(base64.b64decode(one))) for one in data]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("swept")
    make_set(folder / "set", count=8)
    (folder / "two.py").write_text(TWO)
    (folder / "plan.yaml").write_text(PLAN)
    mb.run_plan(folder / "plan.yaml")
    return folder / "results"


def test_scores_stand_under_each_output_and_the_best_is_bold(
    runs: list[mb.Run], tmp_path: Path
) -> None:
    out = mb.case_figure(runs, ["c4", "c8"], tmp_path / "f.svg", metrics=["ssim", "cp", "vq"])
    texts = texts_of(out)
    words = [text for text, _ in texts]
    heads = ["Previous", "Reference", "good", "poor", "identity", "reference"]
    assert words[: len(heads)] == heads
    assert "c4 · Remove spot 4." in words and "c8 · Remove spot 8." in words
    for metric in ("ssim", "vq_offline"):
        for case in ("c4", "c8"):
            values = {
                run.name: run.frame().filter(metric=metric, case=case)["value"][0] for run in runs
            }
            best = max(values["good"], values["poor"])
            for name, value in values.items():
                # The reference scores 1, and is no competitor.
                bold = name in ("good", "poor") and value == best
                assert (number(value, 3), bold) in texts, (metric, case, name)
    below = " ".join(words[-4:])
    assert "Bold: best of its case, controls aside." in below and "*: offline stand-in" in below
    assert "–: no score (CP: the ROI leaves" in below
    assert len(images_of(out)) == 12


def test_a_failed_output_is_an_empty_frame_with_its_reason(tmp_path: Path) -> None:
    cases = mb.load_cases(make_set(tmp_path / "set", count=4))
    runs = make_runs(cases, tmp_path, controls=[], judge=FakeJudge())
    folder = tmp_path / "pictures" / "broken"
    folder.mkdir()
    (folder / "c0_0.png").write_bytes(b"<html>not found</html>")
    cv2.imwrite(str(folder / "c1_0.png"), np.zeros((48, 64, 3), np.uint8))
    runs.append(mb.adopt(folder, cases, tmp_path / "runs" / "broken"))
    mb.score(runs[-1:], "cp,ssim")
    out = mb.case_figure(runs, ["c0", "c2"], tmp_path / "f.svg", metrics=["ssim"])
    told = " ".join(text for text, _ in texts_of(out))
    assert "not an image" in told and "no file for" in told
    assert str(tmp_path) not in told
    # Input, reference and two outputs of each case; the third one has none.
    assert len(images_of(out)) == 8


def test_the_same_figure_has_the_same_bytes_in_each_format(
    runs: list[mb.Run], tmp_path: Path
) -> None:
    for form, begins in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        first, second = (
            mb.case_figure(runs, ["c1"], tmp_path / f"{n}.{form}").read_bytes() for n in "ab"
        )
        assert first == second and first.startswith(begins)
    with Image.open(tmp_path / "a.png") as drawn:
        width, height = drawn.size
    assert 1500 < width <= 2200 and height < width


def test_images_are_no_larger_than_a_printer_shows(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "set", count=4)
    for path in (folder / "editing").rglob("c0.png"):
        cv2.imwrite(str(path), cv2.resize(cv2.imread(str(path)), (1600, 1200)))
    cases = mb.load_cases(folder)
    runs = [mb.edit(cases, "identity", tmp_path / "runs" / "identity")]
    mb.score(runs, "ssim")
    out = mb.case_figure(runs, ["c0"], tmp_path / "f.svg")
    assert len(images := images_of(out)) == 3
    assert all(max(one.size) <= 1.2 * 300 for one in images)


def test_answers_are_drawn_as_text(tmp_path: Path) -> None:
    folder = write_cases(tmp_path / "set")
    runs = make_answers(folder, "Questions", ["First", "Knowing"], tmp_path / "runs")
    out = mb.case_figure(runs, ["q1", "q7"], tmp_path / "f.svg")
    words = [text for text, _ in texts_of(out)]
    assert {"Arterial", "Venous", "Reference", "first", "knowing"} <= set(words)
    assert words.count("no") >= 2  # the expected answer, and one that was given
    assert any(text.startswith("Exact match") for text in words)


@pytest.mark.parametrize(
    ("cases", "out", "metrics", "words"),
    [
        (["c77"], "f.svg", None, r"case 'c77': is in none of the runs; did you mean 'c7'"),
        (["c1"], "f.txt", None, r"f\.txt: a figure ends in \.svg, \.pdf, \.png"),
        (["c1"], "f.svg", ["beauty"], r"metric 'beauty': no run has it; there are: .*ssim"),
        ([], "f.svg", None, r"0 cases of 4 runs: a figure has 1 to 24 cases"),
        ([f"c{n}" for n in range(25)], "f.svg", None, r"25 cases of 4 runs"),
    ],
)
def test_what_cannot_be_drawn_is_one_line_and_writes_nothing(
    runs: list[mb.Run], tmp_path: Path, cases: list[str], out: str, metrics: list[str], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        mb.case_figure(runs, cases, tmp_path / out, metrics=metrics)
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match="lies inside a run"):
        mb.case_figure(runs, ["c1"], runs[0].path / "f.svg")


def test_a_sweep_is_drawn_over_its_settings(swept: Path, tmp_path: Path) -> None:
    sweep = mb.open_run(swept / "sweeps" / "tuned")
    case = sorted(set(sweep.frame()["case"]))[0]
    told = CliRunner().invoke(
        app, ["figure", str(sweep.path), "--cases", case, "--out", str(tmp_path / "s.svg")]
    )
    assert told.exit_code == 0, told.output
    words = [text for text, _ in texts_of(tmp_path / "s.svg")]
    heads = ["shade=0", "shade=120", "shade=250"]
    assert words[:5] == ["Previous", "Reference", *heads]
    assert "strength=0" in " ".join(words) and "strength=2" in " ".join(words)
    values = sweep.frame().filter(metric="ssim", case=case)["value"].to_list()
    assert {f"{value:.3f}" for value in values if value is not None} <= set(words)
    assert any("Framed: the setting that was chosen" in text for text in words)
    with pytest.raises(InputError, match="is a sweep of 6 settings; draw it alone"):
        mb.case_figure([sweep, swept / "runs" / "identity"], [case], tmp_path / "t.svg")


def test_the_report_shows_what_each_setting_makes_of_a_case(swept: Path, tmp_path: Path) -> None:
    run, sweep = mb.open_run(swept / "runs" / "tuned"), mb.open_run(swept / "sweeps" / "tuned")
    assert run.info.tuned is not None
    page = (swept / "report" / "index.html").read_text("utf-8")
    section = page[page.index('<section class="wide" id="settings"') :].partition("</section>")[0]
    frame = sweep.frame().filter(metric="ssim")
    assert section.count("<details") == frame["case"].n_unique()
    assert section.count('class="chosen"') == frame["case"].n_unique()
    for value in frame["value"].drop_nulls():
        assert f">{value:.3f}" in section
    # The case on which settings differ most comes first, and is open.
    ranges = {
        case: part["value"].max() - part["value"].min()
        for (case,), part in frame.drop_nulls("value").group_by("case")
    }
    first = re.search(r"<details[^>]* open>\s*<summary><strong>(\w+)</strong>", section)
    assert first and ranges[first[1]] == max(ranges.values())
    if "c1" in ranges:
        assert section.count("too strong for me") == 3
    images = set(re.findall(r'<img src="([^"]+)"', section))
    assert images and all((swept / "report" / one).is_file() for one in images)

    # A sweep that is gone is not shown, and one can be reported by itself.
    alone = build_report([sweep], tmp_path / "alone").index.read_text("utf-8")
    assert 'id="settings"' in alone and alone.count('class="chosen"') == len(ranges)
    (swept / "sweeps").rename(swept / "elsewhere")
    try:
        gone = build_report([run], tmp_path / "gone").index.read_text("utf-8")
    finally:
        (swept / "elsewhere").rename(swept / "sweeps")
    assert 'id="settings"' not in gone


def test_settings_without_two_axes_stand_in_a_line() -> None:
    assert table_of([{"sigma": s} for s in (8.0, 2.0)]) == [("", 0, ("sigma=8", "sigma=2"))]
    some = [{"a": a, "b": b} for a in (1, 2) for b in (1, 2)][:3]
    assert table_of(some) == [("", 0, ("a=1, b=1", "a=1, b=2", "a=2, b=1"))]
    rows = table_of([{"a": a} for a in range(19)])
    assert [(k, len(heads)) for _, k, heads in rows] == [(0, 8), (8, 8), (16, 3)]
    three = [{"a": a, "b": b, "c": c} for a in (1, 2) for b in (3, 4) for c in (5, 6)]
    assert [label for label, _, _ in table_of(three)] == [
        "a=1, b=3",
        "a=1, b=4",
        "a=2, b=3",
        "a=2, b=4",
    ]
