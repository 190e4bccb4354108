"""Phantoms: reproducible pixels, exact regions, sound texts and an all-or-nothing writer.

The pixels of some cases are pinned in ``golden_phantoms.json``. After a deliberate change of
the drawings (which also needs a higher ``VERSION``) write the file anew with

    python tests/phantoms/drawings/test_phantoms.py
"""

from __future__ import annotations

import hashlib
import importlib
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from PIL import Image

from medebench.phantoms import drawings
from medebench.phantoms.drawings import ORGANS, TASKS, Phantom, PhantomSpec, render, sample
from medebench.phantoms.drawings import phantom_files as writing
from medebench.phantoms.drawings.phantom_renderer import BY_NAME, BY_ORGAN
from medebench.phantoms.drawings.phantom_spec import Draw

GOLDEN = Path(__file__).with_name("golden_phantoms.json")
PINNED = tuple(range(13))
KINDS = {"removal", "addition", "reconstruction", "correction"}


@cache
def case(index: int, seed: int = 0) -> Phantom:
    return render(sample(index, seed))


def fingerprint(phantom: Phantom) -> str:
    digest = hashlib.sha256()
    for pixels in (phantom.previous, phantom.reference, phantom.roi):
        digest.update(pixels.tobytes())
    return digest.hexdigest()


def difference_hash(image: np.ndarray) -> int:
    grey = np.asarray(Image.fromarray(image).convert("L").resize((9, 8)), dtype=int)
    bits = (grey[:, 1:] > grey[:, :-1]).ravel()
    return int("".join("1" if b else "0" for b in bits), 2)


def check(phantom: Phantom) -> None:
    """Everything a case promises, whatever its task."""
    for pixels in (phantom.previous, phantom.reference):
        assert pixels.shape == (256, 256, 3)
        assert pixels.dtype == np.uint8
    assert phantom.roi.shape == (256, 256)
    assert phantom.roi.dtype == np.uint8
    assert set(np.unique(phantom.roi)) == {0, 255}
    inside = phantom.roi == 255
    changed = (phantom.previous != phantom.reference).any(axis=-1)
    assert not (changed & ~inside).any()
    assert 0.005 <= inside.mean() <= 0.6
    gap = np.abs(phantom.previous.astype(int) - phantom.reference)[inside]
    assert gap.mean() > 3.0
    assert phantom.key_concept in phantom.prompt
    assert phantom.prompt != phantom.rephrased_prompt
    assert len(phantom.description.split()) >= 12
    for text in (phantom.prompt, phantom.rephrased_prompt, phantom.description):
        assert text[0].isupper()
        assert text.endswith(".")
        assert "{" not in text
        assert "  " not in text


def test_organs_and_tasks() -> None:
    assert len(ORGANS) == 13
    assert {t.organ for t in TASKS} == set(ORGANS)
    assert {t.templates["kind"] for t in TASKS} == KINDS
    assert len({(t.organ, t.task) for t in TASKS}) == len(TASKS)
    for organ in ORGANS:
        assert len(BY_ORGAN[organ]) >= 2


def test_cycle_of_organs() -> None:
    specs = [sample(i) for i in range(130)]
    for organ in ORGANS:
        mine = [s.task for s in specs if s.organ == organ]
        assert len(mine) == 10
        assert mine[0] != mine[1]
    assert {s.organ for s in specs[:13]} == set(ORGANS)


def test_templates() -> None:
    for task in BY_NAME.values():
        texts = task.texts(task.sample(Draw(np.random.Generator(np.random.PCG64(1)))))
        prompts, rephrased = texts["prompts"], texts["rephrased_prompts"]
        assert len(set(prompts)) >= 4
        assert len(set(rephrased)) >= 4
        assert not set(prompts) & set(rephrased)
        assert all(texts["key_concept"] in prompt for prompt in prompts)
        assert len(texts["descriptions"]) >= 2


@pytest.mark.parametrize("task", list(BY_NAME.values()), ids=lambda t: f"{t.organ}-{t.task}")
def test_every_task(task: object) -> None:
    found = next(
        i for i in range(39) if sample(i).task == task.task and sample(i).organ == task.organ
    )
    phantom = case(found)
    check(phantom)
    assert phantom.kind == task.templates["kind"]
    assert phantom.modality == task.templates["modality"]
    if "radiograph" in phantom.modality:
        assert (phantom.previous[..., 0] == phantom.previous[..., 2]).all()


@settings(max_examples=12, deadline=None, derandomize=True)
@given(some.integers(0, 5000), some.integers(0, 2**31))
def test_any_case(index: int, seed: int) -> None:
    check(render(sample(index, seed)))


def test_parameters_survive_json() -> None:
    for index in (0, 18, 30):
        spec = sample(index)
        again = PhantomSpec(
            spec.index, spec.seed, spec.organ, spec.task, json.loads(json.dumps(spec.params))
        )
        assert again == spec
        assert fingerprint(render(again)) == fingerprint(case(index))


def test_rendering_leaves_parameters_alone() -> None:
    spec = sample(7)
    before = json.dumps(spec.params)
    render(spec)
    assert json.dumps(spec.params) == before


def test_seed_matters() -> None:
    assert sample(3, 0).params != sample(3, 1).params


def test_negative_index() -> None:
    with pytest.raises(ValueError, match="negative"):
        sample(-1)


def test_no_near_duplicates() -> None:
    hashes = [difference_hash(case(i).previous) for i in range(39)]
    assert len(set(hashes)) == len(hashes)


@pytest.mark.parametrize("index", PINNED)
def test_golden(index: int) -> None:
    pinned = json.loads(GOLDEN.read_text())
    assert pinned["version"] == drawings.VERSION
    assert fingerprint(case(index)) == pinned["sha256"][str(index)]


def test_write(tmp_path: Path) -> None:
    seen: list[int] = []
    out = drawings.write_phantoms(tmp_path / "set", 3, 5, progress=seen.append, workers=1)
    assert out == tmp_path / "set"
    assert seen == [1, 2, 3]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["set"]
    samples = json.loads((out / "editing/editing_metadata.json").read_text())["samples"]
    assert [s["id"] for s in samples] == [1, 2, 3]
    for index, entry in enumerate(samples):
        phantom = case(index, 5)
        assert entry["Organ"] == phantom.spec.organ
        assert entry["Task"] == phantom.spec.task
        assert entry["detailed_prompt"] == phantom.description
        assert entry["phantom"] == {"index": index, "seed": 5, "version": drawings.VERSION}
        assert entry["url"] == ""
        for key, folder, pixels in (
            ("previous_image", "previous", phantom.previous),
            ("changed_image", "changed", phantom.reference),
            ("previous_mask", "previous_mask", phantom.roi),
        ):
            assert entry[key] == f"editing/{folder}/{index + 1}.png"
            assert np.array_equal(np.asarray(Image.open(out / entry[key])), pixels)


def test_write_in_processes(tmp_path: Path) -> None:
    out = drawings.write_phantoms(tmp_path / "new" / "set", 3, 5, workers=2)
    stored = np.asarray(Image.open(out / "editing/previous/3.png"))
    assert np.array_equal(stored, case(2, 5).previous)


def test_write_refuses_a_full_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(FileExistsError):
        drawings.write_phantoms(tmp_path, 1, workers=1)
    assert (tmp_path / "mine.txt").read_text() == "keep"


def test_write_accepts_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    out = drawings.write_phantoms(tmp_path / "set", 1, workers=1)
    assert (out / "editing/editing_metadata.json").exists()


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError])
def test_write_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: type[BaseException]
) -> None:
    real = writing.write_case

    def fail(root: Path, index: int, *rest: Any) -> dict[str, object]:
        if index == 1:
            raise stop
        return real(root, index, *rest)

    monkeypatch.setattr(writing, "write_case", fail)
    with pytest.raises(stop):
        drawings.write_phantoms(tmp_path / "set", 3, workers=1)
    assert list(tmp_path.iterdir()) == []


def test_write_needs_no_main_guard(tmp_path: Path) -> None:
    """A plain script may draw with several processes; `multiprocessing` would start it again."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\n"
        "from medebench.phantoms.drawings import write_phantoms\n"
        "write_phantoms(Path(sys.argv[1]), 2, workers=2)\nprint('once')\n"
    )
    call = [sys.executable, str(script), str(tmp_path / "set")]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert done.stdout == "once\n" and (tmp_path / "set" / "editing").is_dir()


def test_a_full_disk_in_a_worker_is_an_error_here(tmp_path: Path) -> None:
    from medebench.phantoms.drawings.phantom_files import Drawers

    with (
        Drawers(tmp_path / "gone", 0, processes=True) as draw,
        pytest.raises(FileNotFoundError, match=r"1\.png"),
    ):
        draw(0)


def test_write_stops_its_workers(tmp_path: Path) -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drawings.write_phantoms(tmp_path / "set", 4, progress=stop, workers=2)
    assert list(tmp_path.iterdir()) == []


def test_contact_sheet(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("selenium")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "tools"))
    sheet = importlib.import_module("pictures").contact_sheet(2, 64, 2)
    assert sheet.size == (2 * (2 * 64 + 2) + 18, 64 + 12)


if __name__ == "__main__":
    pins = {str(i): fingerprint(render(sample(i))) for i in PINNED}
    content = {"version": drawings.VERSION, "sha256": pins}
    GOLDEN.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
