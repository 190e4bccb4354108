"""A thousand damaged records: each is a case, or one line that says what is wrong and where."""

from __future__ import annotations

import json
import random

import polars as pl
import pytest

from medebench.cases import load_cases
from medebench.cases.case import id_problem
from medebench.cases.caseset import hash_case
from medebench.errors import InputError
from tests.cases.medgen_sets import (
    parquet_row,
    records,
    write_canonical,
    write_sample,
    write_view,
)

ODD = [
    *(None, True, False, 0, -1, 1e308, 10**30, "", " ", "x", "\x00", "../x", "/etc/passwd"),
    *("a" * 5000, [], {}, [[]], [None], [""], ["images/in_0_0.png", 3], {"a": {"b": [1, "c"]}}),
    *("VQA", "ImageEditing", "gen", "multi_choice", "style-transfer", "tableiv:VQA:x:1", "\u202e"),
    *("tableiv:VQA:multiple-choice:999999999", "images", ".", "~", "C:\\x", "\\\\host\\x"),
    *(float("nan"), float("inf"), [0.5] * 4, [float("nan")] * 4, ["A. a", "A. b"], "{", '{"a": 1}'),
    *("images/" + "d/" * 600 + "x.png", "\ud800", "Options:\nA. x\nB. y", [{"bytes": None}]),
]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def damaged(value, dice):
    """Some fields, at any depth, taken away, exchanged or replaced."""
    if not isinstance(value, dict) or not value:
        return dice.choice(ODD)
    found = dict(value)
    for _ in range(dice.choice((1, 1, 2, 3))):
        name = dice.choice(list(found) or [""])
        how = dice.random()
        if how < 0.2:
            found.pop(name, None)
        elif how < 0.3:
            found[dice.choice([*found, "sample_id", "eval_adapter", "bbox"])] = found.pop(name, 0)
        elif how < 0.5 and isinstance(found.get(name), dict):
            found[name] = damaged(found[name], dice)
        elif how < 0.6 and isinstance(found.get(name), list) and found[name]:
            found[name] = [*found[name][:-1], dice.choice(ODD)]
        else:
            found[name] = dice.choice(ODD)
    return found


def bitten(line: bytes, dice) -> bytes:
    """A line with bytes changed, cut or doubled."""
    at = dice.randrange(len(line))
    how = dice.random()
    if how < 0.4:
        return line[:at] + bytes([dice.randrange(256)]).replace(b"\n", b"?") + line[at + 1 :]
    if how < 0.7:
        return line[:at]
    return line[:at] + line[at // 2 :]


def check(path, root, cache):
    """A case that can be used, or one line; which of them."""
    try:
        found = load_cases(path)
    except InputError as error:
        text = str(error)
        assert "\n" not in text and str(path.parent) in text and len(text) < 2500
        return 0
    for case in found:
        assert id_problem(case.id) is None and case.task and case.prompt
        for file in case.files().values():
            assert file.resolve().is_relative_to(root) or file.is_relative_to(cache)
        hash_case(case)
        repr(case)
        case.prompt.encode(), case.answer.encode(), "".join(case.choices).encode()
    return 1


@pytest.mark.parametrize("spelling", ["canonical", "view", "sample"])
def test_damaged_records_never_end_in_a_traceback(tmp_path, cache, spelling):
    made = records(1)
    root = write_canonical(tmp_path / "set", made)
    files = sorted(root.rglob("data.jsonl"))
    if spelling == "view":
        view = write_view(tmp_path / "view", root)
        files = [view / name for name in ("vqa.jsonl", "edit.jsonl", "gen.jsonl")]
    elif spelling == "sample":
        root = write_sample(tmp_path / "sample", made)
        files = [root / "records.jsonl"]
    originals = [(file, line) for file in files for line in file.read_bytes().splitlines()]
    dice = random.Random(spelling)
    kept = 0
    for number in range(300):
        file, line = originals[number % len(originals)]
        if dice.random() < 0.25:
            content = bitten(line, dice)
        else:
            content = json.dumps(damaged(json.loads(line), dice)).encode()
        file.write_bytes(content + b"\n")
        kept += check(file, tmp_path, cache)
    # Damage to what has no meaning is none; but most of it must be noticed.
    assert 30 < kept < 270


def test_damaged_rows_of_parquet_never_end_in_a_traceback(tmp_path, cache):
    dice = random.Random("parquet")
    rows = [parquet_row(*one) for one in records(1)]
    path = tmp_path / "set" / "train.parquet"
    path.parent.mkdir()
    kept = 0
    for number in range(100):
        row = damaged(rows[number % len(rows)], dice)
        try:
            frame = pl.DataFrame({name: [value] for name, value in row.items()}, strict=False)
            frame.write_parquet(path)
        except Exception:
            # Not even a table.
            continue
        kept += check(path, tmp_path, cache)
    assert 5 < kept < 95
    whole = path.read_bytes()
    for _ in range(60):
        at = dice.randrange(len(whole))
        path.write_bytes(dice.choice([whole[:at], whole[:at] + b"\xff" * 9 + whole[at + 9 :]]))
        check(path, tmp_path, cache)


def test_a_file_of_any_bytes_is_one_line(tmp_path, cache):
    path = tmp_path / "vqa.jsonl"
    for content in (
        b"\x00" * 100,
        b"[" * 100_000,
        b'{"paper_task": ' + b"[" * 50_000,
        b'{"paper_task": "VQA", "x": ' + b"1" * 5000 + b"}",
        b'{"paper_task": "VQA"}\n' + b"x" * (1 << 23),
        b'{"paper_task": "VQA"}\n' * 50,
    ):
        path.write_bytes(content)
        assert check(path, tmp_path, cache) == 0
