"""Thousands of pictures in few files: each made once, and none of them twice."""

from __future__ import annotations

import io
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import medebench as mb
from medebench.outputs import OutputFiles
from medebench.page import image_packs, web_images
from medebench.page.page_folder import MARKER
from medebench.reporting import build_report
from medebench.reporting.case_artist import REPLACED
from tests.reporting.conftest import FakeJudge, attend, make_runs, make_set
from tests.reporting.test_build import contents, packed

Read = Callable[[Path], Any]


def pixels(text: str) -> np.ndarray[Any, Any]:
    _, data = image_packs.as_file(text)
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def stamps(folder: Path) -> dict[Path, tuple[int, int]]:
    """Changes with every file that is written again, even with the same bytes."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in files}


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often pictures are decoded and encoded, by the real decoders and encoders."""
    found: Counter[str] = Counter()

    def counted(module: Any, name: str, kind: str = "") -> None:
        real = getattr(module, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            found[kind or name] += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(module, name, call)

    counted(web_images, "encode")
    counted(OutputFiles, "decode", "read_picture")
    counted(sys.modules["medebench.cases.open_case"], "read_picture")
    counted(sys.modules["medebench.cases.open_case"], "read_mask")
    counted(web_images, "contour_path")
    yield found


@given(st.integers(1, 60_000), st.integers(0, 40))
def test_the_number_of_packs_is_bounded(cases: int, runs: int) -> None:
    keys = [str(i) for i in range(cases)]
    groups = image_packs.split(keys, cases * runs)
    assert [key for group in groups for key in group] == keys
    # A number of its own, so that whoever raises `MOST` hears of it: a report has few kinds.
    assert len(groups) <= 1000
    assert len({len(group) for group in groups[:-1]}) <= 1
    # Few cases stay few in a pack: to see one, a page must not load hundreds.
    assert len(groups[0]) * (2 + runs) <= max(
        image_packs.FEW, 2 + runs, cases * (2 + runs) / 500 + 43
    )


def test_many_cases_are_few_files(tmp_path: Path) -> None:
    """Each case has ten pictures; a report of 300 would be over 3,000 files."""
    cases = mb.load_cases(make_set(tmp_path / "set", count=300))
    runs = [mb.edit(cases, name, out=tmp_path / name) for name in ("blur", "noise")]
    mb.score(runs, metrics=["ssim"])
    folder = build_report(runs, tmp_path / "report").index.parent
    assert len(packed(folder, "small")) == 300 * 4
    assert len(packed(folder, "change")) == 300 * 2
    assert len(list(folder.rglob("*"))) < 300


@pytest.mark.parametrize("attention", [False, True])
def test_a_second_time_writes_and_draws_nothing(
    small_set: mb.CaseSet, tmp_path: Path, counts: Counter[str], attention: bool
) -> None:
    runs = make_runs(small_set, tmp_path, judge=FakeJudge())
    if attention:
        attend(runs[0])
    mb.ground(runs)
    folder = build_report(runs, tmp_path / "report").index.parent
    before = stamps(folder)
    counts.clear()
    build_report(runs, folder)
    assert stamps(folder) == before
    # The floors of attention look at the ROIs again.
    assert set(counts) <= ({"read_picture", "read_mask"} if attention else set())


def test_each_picture_is_decoded_and_encoded_once(
    small_set: mb.CaseSet, tmp_path: Path, counts: Counter[str]
) -> None:
    """Nine cases; `identity` shows the previous image again and `reference` the reference."""
    runs = make_runs(small_set, tmp_path, models=["one"], controls=["identity", "reference"])
    counts.clear()
    folder = build_report(runs, tmp_path / "report").index.parent
    assert counts == {
        "read_picture": 9 * (2 + 3),
        "read_mask": 9,
        "encode": 9 * (3 + 3),
        "contour_path": 9,
    }
    small = packed(folder, "small")
    assert len(small) == 9 * 5 and len(set(small.values())) == 9 * 3


def test_another_run_draws_only_what_is_new(
    small_set: mb.CaseSet, tmp_path: Path, counts: Counter[str]
) -> None:
    runs = make_runs(small_set, tmp_path, models=["one", "two"], controls=[])
    build_report(runs[:1], tmp_path / "report")
    counts.clear()
    build_report(runs, tmp_path / "report")
    # The second output of each case, beside the previous image that it is compared with.
    assert counts == {"read_picture": 9 * 2, "encode": 9 * 2}
    build_report(runs, tmp_path / "fresh")
    assert contents(tmp_path / "report") == contents(tmp_path / "fresh")


def test_one_changed_output_renews_one_pack(
    tmp_path: Path, counts: Counter[str], read_script: Read
) -> None:
    cases = mb.load_cases(make_set(tmp_path / "set", count=40))
    runs = make_runs(cases, tmp_path, models=["one"], controls=["identity"])
    folder = build_report(runs, tmp_path / "report").index.parent
    before = stamps(folder / "assets" / "small")
    cv2.imwrite(str(runs[0].output_path("c21", 0)), np.full((48, 64, 3), 200, np.uint8))
    counts.clear()
    build_report(runs, folder)
    assert counts == {"read_picture": 2, "encode": 2}
    after = stamps(folder / "assets" / "small")
    assert len(before) == len(after) > 3 and len(before.items() - after.items()) == 1
    data = read_script(folder / "assets" / "cases.js")
    assert [data["reasons"][n] for n in data["outputs"][0]["trouble"].values()] == [REPLACED]
    key = data["outputs"][0]["picture"][21]
    assert (pixels(packed(folder, "small")[key]) == 200).all()


def test_a_stopped_report_is_taken_up(
    tmp_path: Path, counts: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = mb.load_cases(make_set(tmp_path / "set", count=40))
    runs = make_runs(cases, tmp_path, models=["one"], controls=[])

    def stop(done: int, total: int) -> None:
        if done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_report(runs, tmp_path / "report", workers=1, progress=stop, scale=False, audit=False)
    counts.clear()
    build_report(runs, tmp_path / "report", workers=1, scale=False, audit=False)
    assert counts["encode"] <= 20 * 4
    build_report(runs, tmp_path / "fresh", scale=False, audit=False)
    assert contents(tmp_path / "report") == contents(tmp_path / "fresh")


@pytest.mark.parametrize("damage", ["pack gone", "pack cut", "strange memory", "no memory"])
def test_whatever_is_damaged_is_made_again(
    runs: list[mb.Run], report: Path, tmp_path: Path, damage: str
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(report.parent, folder)
    pack = next(folder.glob("assets/small/*.js"))
    if damage == "pack gone":
        pack.unlink()
    if damage == "pack cut":
        pack.write_text(pack.read_text()[:100])
        (folder / MARKER).unlink()
        (folder / MARKER).write_text('{"format":1,"facts":{}}')
    if damage == "strange memory":
        (folder / MARKER).write_text('{"format":1,"facts":{"cards":{"a":{"other":1}}}}')
    if damage == "no memory":
        (folder / MARKER).write_text("{")
    build_report(runs, folder)
    assert contents(folder) == contents(report.parent)


@pytest.mark.parametrize("size", [(48, 64), (200, 150), (300, 260), (700, 500)])
def test_what_is_shown_is_the_picture(
    tmp_path: Path, read_script: Read, size: tuple[int, int]
) -> None:
    folder = make_set(tmp_path / "set", count=3)
    for path in folder.rglob("*.png"):
        picture = cv2.resize(cv2.imread(str(path)), size[::-1], interpolation=cv2.INTER_NEAREST)
        blurred = cv2.GaussianBlur(picture, (0, 0), 3)
        cv2.imwrite(str(path), picture if "mask" in path.parent.name else blurred)
    cases = mb.load_cases(folder)
    runs = [mb.edit(cases, "blur:sigma=1", out=tmp_path / "blur")]
    mb.score(runs, metrics=["ssim"])
    index = build_report(runs, tmp_path / "report").index
    data = read_script(index.parent / "assets" / "cases.js")
    small, large = packed(index.parent, "small"), packed(index.parent, "large")
    assert bool(large) == (max(size) > data["packs"]["small"])
    for number, case in enumerate(cases):
        opened = mb.open_case(case)
        written = cv2.imread(str(runs[0].output_path(case.id, 0)))[..., ::-1]
        for key, picture in (
            (data["cases"][number][3][0][1], opened.previous),
            (data["cases"][number][3][1][1], opened.reference),
            (data["outputs"][0]["picture"][number], written),
        ):
            for kind, longest in ((small, 224), (large, 512)):
                if key not in kind:
                    continue
                shown = pixels(kind[key])
                expected = web_images.shrink(np.ascontiguousarray(picture), longest)
                assert shown.shape == expected.shape
                assert cv2.PSNR(shown, np.ascontiguousarray(expected)) > 30
