"""What a set of cases is made of: page, figures, tables."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.errors import InputError, NotReadyError
from tests.reporting.conftest import make_set
from tests.reporting.toy_tasks import __file__ as TOYS
from tests.reporting.toy_tasks import write_cases

#: The organs of the release, and how many of its 70 tasks each of them gets here.
ORGANS = ("Skin", "Hair", "Eyes", "Nose", "Face", "Teeth", "Ears", "Torso", "Feet", "Mouth")
ORGANS += ("Hands", "Gastrointestinal Tract", "Spine and Bones")
TASKS = 70


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


def numbers_of(found: mb.SetDescription) -> dict[str, dict[str, object]]:
    return {str(row[""]): row for row in found.numbers.records()}


def figures_of(found: mb.SetDescription) -> set[str]:
    """The figures that are there as SVG and as PDF, and are on the page."""
    folder = found.index.parent / "figures"
    names = {path.stem for path in folder.glob("*.svg")}
    page = found.index.read_text("utf-8")
    assert names == {path.stem for path in folder.glob("*.pdf")}
    assert names == set(re.findall(r'<figure id="figure-([^"]+)"', page))
    return names


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set in the layout and of the size of the release; three cases in ten share an image."""
    folder = make_set(tmp_path_factory.mktemp("release") / "set", count=10)
    metadata = folder / "editing" / "editing_metadata.json"
    [*samples] = json.loads(metadata.read_text())["samples"]
    for name in ("previous", "previous_mask"):
        for copy in ("c1", "c2"):
            (folder / "editing" / name / f"{copy}.png").write_bytes(
                (folder / "editing" / name / "c0.png").read_bytes()
            )
    found = []
    for number in range(1182):
        organ = ORGANS[number % 13]
        task = f"Reconstruct, repair or replace what is missing ({(number * 7) % TASKS})"
        facts = {"id": str(number), "Organ": organ, "Task": task if number % TASKS else "Rare."}
        found.append(samples[number % 10] | facts)
    metadata.write_text(json.dumps({"samples": found}))
    return folder


def test_the_release_is_described_in_full(release: Path, tmp_path: Path) -> None:
    found = mb.describe_cases(release, tmp_path / "d")
    cases = mb.load_cases(release)
    page = found.index.read_text("utf-8")
    assert "<dd>1,182</dd>" in page and "<dd>13</dd>" in page
    groups = rows_of(found.index.parent / "groups.csv")
    organs = {row["value"]: int(row["cases"]) for row in groups if row["group"] == "organ"}
    assert organs == Counter(case.organ for case in cases)
    tasks = {(r["within"], r["value"]): int(r["cases"]) for r in groups if r["group"] == "task"}
    assert tasks == Counter((case.organ, case.task) for case in cases)
    assert figures_of(found) >= {"cases-by-organ", "cases-by-organ-and-task", "roi", "lengths"}

    svg = (found.index.parent / "figures" / "cases-by-organ.svg").read_text("utf-8")
    assert all(f">{organ}<" in svg and f">{count}<" in svg for organ, count in organs.items())
    # Pairs beyond those that fit are counted together, none is lost.
    svg = (found.index.parent / "figures" / "cases-by-organ-and-task.svg").read_text("utf-8")
    texts = re.findall(r"<text [^>]*>([^<]+)</text>", svg)
    assert sum(int(text) for text in texts if text.isdecimal()) == 1182
    assert len(tasks) > 120 and any(re.fullmatch(r"\d+ more", text) for text in texts)


def test_labels_of_a_figure_do_not_touch(release: Path, tmp_path: Path) -> None:
    found = mb.describe_cases(release, tmp_path / "d")
    for name in ("cases-by-organ", "cases-by-organ-and-task"):
        svg = (found.index.parent / "figures" / f"{name}.svg").read_text("utf-8")
        left = re.findall(r'text-anchor: end[^"]*" x="([\d.]+)" y="([\d.]+)"', svg)
        columns: dict[str, list[float]] = {}
        for x, y in left:
            columns.setdefault(x, []).append(float(y))
        assert columns
        for places in columns.values():
            steps = np.diff(sorted(places))
            # Letters are 7 points high; none begins left of the figure.
            assert len(steps) == 0 or steps.min() > 8
        for anchor, text in re.findall(r'text-anchor: end[^"]*" x="([\d.]+)"[^>]*>([^<]+)<', svg):
            assert float(anchor) > 3.6 * len(text), text


def test_numbers_are_those_of_the_cases(release: Path, tmp_path: Path) -> None:
    found = mb.describe_cases(release, tmp_path / "d")
    told, rows = numbers_of(found), rows_of(found.index.parent / "cases.csv")
    cases = mb.load_cases(release)
    shares = [float(mb.open_case(case).roi.mean()) for case in list(cases)[:10]]
    assert [float(row["roi"]) for row in rows[:10]] == pytest.approx(shares)
    every = [100 * shares[number % 10] for number in range(1182)]
    assert told["ROI, % of the frame"]["median"] == pytest.approx(float(np.median(every)))
    assert told["Width, pixels"]["most"] == 64 and told["Height, pixels"]["least"] == 48
    words = [len(case.prompt.split()) for case in cases]
    assert told["Prompt, words"]["most"] == max(words) and told["Prompt, words"]["cases"] == 1182
    # Ten images of which three are one: eight sources.
    sources = Counter(row["source"] for row in rows)
    assert len(sources) == 8 and all(
        int(r["cases of the source"]) == sources[r["source"]] for r in rows
    )
    assert "<dd>8; 1,182 cases share one of 8</dd>" in found.index.read_text("utf-8")
    assert "sources" in figures_of(found)


def test_a_folder_without_masks_groups_and_references(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    (folder / "previous").mkdir(parents=True)
    deep = np.random.default_rng(0).integers(0, 4095, (40, 30), dtype=np.uint16)
    for name, picture in (("a", deep), ("b", (deep >> 4).astype(np.uint8)), ("c", deep[:, :20])):
        cv2.imwrite(str(folder / "previous" / f"{name}.png"), picture)
    (folder / "previous" / "d.png").write_bytes(b"no image")
    texts = {"a": "Widen the gap.", "b": "=1+1", "c": "填补牙齿", "d": "Close it, please."}
    lines = [json.dumps({"id": name, "prompt": text}) for name, text in texts.items()]
    (folder / "cases.jsonl").write_text("\n".join(lines), "utf-8")
    found = mb.describe_cases(folder, tmp_path / "d")
    assert figures_of(found) == {"sizes", "lengths"}
    told = numbers_of(found)
    assert set(told) == {"Width, pixels", "Height, pixels", "Prompt, words"}
    assert (told["Width, pixels"]["cases"], told["Prompt, words"]["cases"]) == (3, 4)
    page = found.index.read_text("utf-8")
    assert "1 of 8 bits and 2 of 16 bits" in page
    assert "1 case not measured in full: the previous image: not an image" in page
    assert str(tmp_path) not in page
    rows = {row["case"]: row for row in rows_of(found.index.parent / "cases.csv")}
    assert rows["d"]["width"] == "" and "not an image" in rows["d"]["reason"]


def test_questions_with_answers_have_groups_of_their_own(tmp_path: Path) -> None:
    cases = mb.load_cases(write_cases(tmp_path / "set"), task=f"{TOYS}:Questions")
    found = mb.describe_cases(cases, tmp_path / "d")
    # All first images have one size.
    by_group = {"cases-by-modality", "cases-by-modality-and-difficulty", "cases-by-subtask"}
    assert figures_of(found) == {*by_group, "lengths"}
    groups = rows_of(found.index.parent / "groups.csv")
    assert {row["value"] for row in groups if row["group"] == "modality"} == {
        *("CT", "MR", "X-ray", "no modality named"),
    }
    assert numbers_of(found)["Answer, words"]["cases"] == 12
    page = found.index.read_text("utf-8")
    assert "ROI" not in page and "organ" not in page


def test_prompts_are_compared_with_images_where_the_encoder_is_ready(
    tmp_path: Path, no_network: list[object]
) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    torch.set_num_threads(1)
    cases = mb.load_cases("chest-phantoms:count=20")
    plain = mb.describe_cases(cases, tmp_path / "plain")
    assert not any("Prompt and image" in name for name in numbers_of(plain))
    found = mb.describe_cases(cases, tmp_path / "d", encoder="chest-phantoms")
    rows = rows_of(found.index.parent / "cases.csv")
    close = [float(row["similarity"]) for row in rows]
    assert len(close) == 20 and np.std(close) > 0.01 and "similarity" in figures_of(found)
    # The same as the metric of a system that leaves the image as it is.
    run = mb.edit(cases, "identity", tmp_path / "identity")
    mb.score(run, "talign_prompt:chest-phantoms")
    values = dict(run.frame().select("case", "value").rows())
    assert close == pytest.approx([values[row["case"]] for row in rows], abs=1e-5)
    with pytest.raises(NotReadyError, match="medebench weights get clip-vit-l14"):
        mb.describe_cases(cases, tmp_path / "no", encoder="clip-vit-l14")
    with pytest.raises(InputError, match="'rad-dino': reads no texts"):
        mb.describe_cases(cases, tmp_path / "no", encoder="rad-dino")
    assert not (tmp_path / "no").exists() and no_network == []


def test_a_description_is_renewed_and_nothing_else_is_overwritten(tmp_path: Path) -> None:
    folder, out = make_set(tmp_path / "set"), tmp_path / "d"
    figures = figures_of(mb.describe_cases(folder, out))
    before = {p.name: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    mb.describe_cases(folder, out)
    assert {p.name: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before
    fewer = mb.load_cases(folder).select(limit=1)
    (out / "figures" / "earlier.svg").write_text("of an earlier description")
    assert figures_of(mb.describe_cases(fewer, out)) == figures
    with pytest.raises(InputError, match="is not empty and not a description of a set"):
        mb.describe_cases(folder, folder)


def test_the_command_prints_the_numbers(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "set")
    call = ["cases", "describe", str(folder), "--out", str(tmp_path / "d")]
    told = CliRunner().invoke(app, call)
    assert told.exit_code == 0 and "Prompt, words" in told.stdout
    read = json.loads(CliRunner().invoke(app, [*call, "--json"]).stdout)
    assert read["numbers"]["rows"][0]["cases"] == 9 and Path(read["page"]).is_file()
    wrong = CliRunner().invoke(app, [*call, "--encoder", "no-such"])
    assert wrong.exit_code == 2


def test_the_excerpt_of_the_release(excerpt: Path, tmp_path: Path) -> None:
    found = mb.describe_cases(excerpt, tmp_path / "d")
    page = found.index.read_text("utf-8")
    assert "<dd>67; 4 cases share one of 2</dd>" in page and "<dd>36</dd>" in page
    told = numbers_of(found)
    # Masks of nearly nothing and of nearly everything are among its known flaws.
    assert told["ROI, % of the frame"]["least"] < 0.2  # type: ignore[operator]
    assert told["ROI, % of the frame"]["most"] > 95  # type: ignore[operator]
    assert told["Width, pixels"]["most"] == 512
