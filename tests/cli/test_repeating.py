"""The same call again finds all there; another call onto the same folder is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.stamp import STAMP
from tests.conftest import write_set


def call(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert "unexpected" not in done.stderr, done.stderr
    return done.exit_code, done.stderr


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def repeat(out: Path, *words: object) -> None:
    code, _ = call(*words)
    assert code == 0
    before = state(out)
    code, said = call(*words)
    assert code == 0 and "already complete" in said, said
    assert state(out) == before
    facts = json.loads(CliRunner().invoke(app, [*map(str, words), "--json"]).stdout)
    assert (facts.get("fix") or facts)["already_complete"] is True


def is_refused(*words: object) -> str:
    code, said = call(*words)
    assert code == 2 and said.count("\n") == 1, said
    return said


@pytest.mark.parametrize("kind", ["phantoms", "chest-phantoms"])
def test_cases_make(kind, tmp_path):
    out = tmp_path / "out"
    words = ["cases", "make", kind, "--out", out, "--seed", 3, "--count"]
    repeat(out, *words, 2)
    assert "count differ" in is_refused(*words, 3)
    assert len(mb.load_cases(out)) == 2
    (out / "editing" / "previous" / "2.png").unlink()
    assert "previous/2.png: is missing or was changed" in is_refused(*words, 2)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    said = is_refused("cases", "make", kind, "--count", 2, "--out", tmp_path / "mine")
    assert "is not empty" in said


def test_cases_check_fix(tmp_path):
    cases, out = write_set(tmp_path / "set", 3), tmp_path / "out"
    mask = cases / "editing/previous_mask/2.png"
    Image.open(mask).convert("RGB").save(mask)
    words = ["cases", "check", cases, "--fix", "--out", out]
    _, first = call(*words)
    code, again = call(*words)
    assert code == 0 and again == "already complete: " + first and "1 pictures repaired" in first
    repeat(out, *words)
    Image.open(mask).convert("L").save(mask)
    assert "was made by another call (cases differ)" in is_refused(*words)
    other = write_set(tmp_path / "other", 2)
    assert "another call" in is_refused("cases", "check", other, "--fix", "--out", out)


def test_study_new(tmp_path):
    cases, out = write_set(tmp_path / "set", 8), tmp_path / "study"
    runs = [tmp_path / name for name in ("one", "two")]
    for run, editor in zip(runs, ("noise", "blur"), strict=True):
        mb.edit(cases, editor, run)
    words = ["study", "new", *runs, "--out", out, "--per-organ", 2]
    repeat(out, *words)
    # What the study gathers afterwards does not matter.
    (out / "answers.sqlite").touch()
    code, said = call(*words)
    assert code == 0 and "already complete" in said and "next: medebench study serve" in said
    assert "seed" in is_refused(*words, "--seed", 1)
    assert "title" in is_refused(*words, "--title", "Eyes")
    (out / STAMP).unlink()
    assert "is not empty" in is_refused(*words)


def test_the_others_have_nothing_to_do_either(tmp_path, small_set):
    run, made = tmp_path / "run", tmp_path / "made"
    made.mkdir()
    for case in mb.load_cases(small_set):
        (made / f"{case.id}_0.png").write_bytes(case.previous.read_bytes())
    for words in (
        ["edit", small_set, "--editor", "noise", "--out", run],
        ["adopt", made, "--cases", small_set, "--out", tmp_path / "adopted"],
        ["score", run],
        ["ground", run],
        ["report", run, "--out", tmp_path / "report"],
        ["export", run, "--out", tmp_path / "scores.csv"],
        ["cases", "show", small_set, "1", "--out", tmp_path / "case.png"],
    ):
        assert [call(*words)[0] for _ in range(2)] == [0, 0], words
