"""1,000 mutated metadata files and pictures: one line or a reason, never a traceback."""

from __future__ import annotations

import io
import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from medebench.cli import app
from tests.conftest import draw, write_set

NASTY = [
    None,
    True,
    -1,
    10**400,
    1e308,
    "",
    " ",
    ".",
    "..",
    "../../../../tmp/evil",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "C:\\x",
    "con",
    "\0",
    "\ud800",
    "x" * 5000,
    "💉" * 40,
    "\u202e\u0000",
    "NaN",
    [],
    {},
    [[["deep"]]],
    {"samples": 1},
    "editing/previous",
    "editing/previous/1.png",
    "editing//previous/./1.png",
    "~root",
    "%s%n",
    "$(touch x)",
    "</script>",
]


def _snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def _call(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (0, 1, 2), result.output
    assert "Traceback" not in result.output and "unexpected" not in result.output, result.output
    if result.exit_code == 2:
        assert len(result.output.strip().splitlines()) == 1, result.output
    return result.exit_code, result.output


def _mutate_json(value: dict, generator: random.Random) -> str:
    samples = value["samples"]
    for _ in range(generator.randint(1, 3)):
        record = generator.choice(samples)
        kind = generator.random()
        if kind < 0.5 and isinstance(record, dict):
            record[generator.choice(list(record) or ["id"])] = generator.choice(NASTY)
        elif kind < 0.6 and isinstance(record, dict) and record:
            record.pop(generator.choice(list(record)))
        elif kind < 0.7:
            samples.append(generator.choice([record, generator.choice(NASTY)]))
        elif kind < 0.8 and isinstance(record, dict):
            record[str(generator.choice(NASTY))] = generator.choice(NASTY)
        else:
            samples[generator.randrange(len(samples))] = generator.choice(NASTY)
    return json.dumps(value)


def _mutate_bytes(data: bytes, generator: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(generator.choice([1, 1, 2, 8, 40])):
        kind, at = generator.random(), generator.randrange(len(changed) or 1)
        if kind < 0.5 and changed:
            changed[at] = generator.randrange(256)
        elif kind < 0.65:
            del changed[at : at + generator.randint(1, 60)]
        elif kind < 0.8:
            changed[at:at] = generator.randbytes(generator.randint(1, 30))
        elif kind < 0.9:
            del changed[at:]
        else:
            # Sizes and lengths are where decoders break.
            changed[16:24] = generator.choice([b"\xff" * 8, b"\0" * 8, b"\0\0\xc3\x50" * 2])
    return bytes(changed)


def _encoded(kind: str) -> bytes:
    picture = draw(1)
    image = Image.fromarray(picture)
    if kind == "deep":
        image = Image.fromarray(picture[..., 0].astype(np.uint16) * 257)
    if kind == "palette":
        image = image.quantize(16)
    stream = io.BytesIO()
    form = {"jpeg": "JPEG", "webp": "WEBP", "tiff": "TIFF", "bmp": "BMP"}.get(kind, "PNG")
    image.save(stream, form)
    return stream.getvalue()


@pytest.mark.parametrize("start", range(0, 500, 100))
def test_mutated_metadata(tmp_path, start):
    world = tmp_path / "world"
    cases = write_set(world / "set", 2)
    metadata = cases / "editing/editing_metadata.json"
    original = metadata.read_text()
    for seed in range(start, start + 100):
        generator = random.Random(seed)
        if seed % 4:
            metadata.write_text(_mutate_json(json.loads(original), generator))
        else:
            metadata.write_bytes(_mutate_bytes(original.encode(), generator))
        before = _snapshot(world)
        run = tmp_path / "run"
        code, _ = _call("edit", cases, "--editor", "identity", "--out", run, "--workers", "1")
        if code == 2:
            assert not run.exists()
        _call("cases", "check", cases)
        if seed % 5 == 0:
            _call("cases", "show", cases)
            _call("cases", "check", cases, "--fix", "--out", tmp_path / "fixed")
            shutil.rmtree(tmp_path / "fixed", ignore_errors=True)
            if code != 2:
                _call("score", run, "--metrics", "cp")
        assert _snapshot(world) == before
        assert {p.name for p in tmp_path.iterdir()} <= {"world", "run"}
        shutil.rmtree(run, ignore_errors=True)


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp", "tiff", "deep", "palette", "bmp"])
def test_mutated_pictures(tmp_path, kind):
    world = tmp_path / "world"
    cases = write_set(world / "set", 1)
    roles = [
        cases / "editing" / role / "1.png" for role in ("previous", "changed", "previous_mask")
    ]
    whole = [path.read_bytes() for path in roles]
    data = _encoded(kind)
    for seed in range(75):
        generator = random.Random(f"{kind}{seed}")
        for path, good in zip(roles, whole, strict=True):
            path.write_bytes(good)
        generator.choice(roles).write_bytes(_mutate_bytes(data, generator))
        before = _snapshot(world)
        run = tmp_path / "run"
        _call("edit", cases, "--editor", "inpaint", "--out", run, "--workers", "1")
        if run.exists():
            # A damaged output, too.
            for output in run.glob("edits/*.png"):
                output.write_bytes(_mutate_bytes(output.read_bytes(), generator))
            _call("score", run, "--judge", "offline", "--workers", "1")
        assert _snapshot(world) == before
        assert {p.name for p in tmp_path.iterdir()} <= {"world", "run"}
        shutil.rmtree(run, ignore_errors=True)
