"""The ledger's file: no damage is taken for a value, and older ledgers are read and continued."""

from __future__ import annotations

import random
import sqlite3
import zlib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.errors import InputError, MedebenchError
from medebench.runs import ledger_file
from medebench.runs.ledger import Ledger, OutputRow, ScoreRow, SetRow
from medebench.runs.recovery import DAMAGED

#: A ledger as medebench wrote it before rows had checksums.
VERSION_1 = """
CREATE TABLE cases (
    case_id TEXT PRIMARY KEY, organ TEXT NOT NULL, task TEXT NOT NULL, digest TEXT NOT NULL,
    source TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE outputs (
    case_id TEXT NOT NULL, k INTEGER NOT NULL, sha256 TEXT, reason TEXT, seed INTEGER, detail TEXT,
    seconds REAL NOT NULL, PRIMARY KEY (case_id, k),
    CHECK ((sha256 IS NULL) <> (reason IS NULL))) WITHOUT ROWID;
CREATE TABLE scores (
    case_id TEXT NOT NULL, k INTEGER NOT NULL, metric TEXT NOT NULL, output TEXT, value REAL,
    reason TEXT, detail TEXT, seconds REAL NOT NULL, cost REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (case_id, k, metric), CHECK ((value IS NULL) <> (reason IS NULL))) WITHOUT ROWID;
INSERT INTO cases SELECT case_id, organ, task, digest, source FROM now.cases;
INSERT INTO outputs SELECT case_id, k, sha256, reason, seed, detail, seconds FROM now.outputs;
INSERT INTO scores SELECT case_id, k, metric, output, value, reason, detail, seconds, cost
    FROM now.scores;
PRAGMA user_version = 1;
"""


@pytest.fixture
def run(small_set, tmp_path):
    made = mb.edit(small_set, "noise", out=tmp_path / "run", outputs=2)
    return mb.score(made, ["cp", "ssim"], "offline")


def path_of(run) -> Path:
    return run.path / "ledger.sqlite"


def settle(run) -> None:
    """All of the ledger in one file."""
    db = sqlite3.connect(path_of(run))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def put(run, data: bytes) -> None:
    for ending in ("-wal", "-shm"):
        Path(f"{path_of(run)}{ending}").unlink(missing_ok=True)
    path_of(run).write_bytes(data)


def change(run, statement: str) -> None:
    db = sqlite3.connect(path_of(run))
    db.execute(statement)
    db.commit()
    db.close()


def make_older(run) -> None:
    settle(run)
    new = path_of(run).rename(run.path / "now.sqlite")
    db = sqlite3.connect(path_of(run))
    db.execute("ATTACH ? AS now", (str(new),))
    db.executescript(VERSION_1)
    db.close()
    new.unlink()


def version(run) -> int:
    db = sqlite3.connect(path_of(run))
    found = db.execute("PRAGMA user_version").fetchone()[0]
    db.close()
    return int(found)


def contents(ledger):
    return ledger.cases(), ledger.outputs(), list(ledger.scores()), ledger.sets()


def by_key(scores):
    return {(row.case_id, row.k, row.metric): row for row in scores}


def test_no_flipped_bit_is_taken_for_a_value(run):
    with run.locked() as ledger:
        digest = ledger.outputs_digest()
        rows = [SetRow("fid", part, digest, "v", 1.5, None, (1, 2), 3, 3) for part in ("", "Skin")]
        ledger.write_sets("fid", rows)
    with run.ledger() as ledger:
        cases, outputs, scores, sets = truth = contents(ledger)
    known = by_key(scores)
    settle(run)
    whole = path_of(run).read_bytes()
    drawn, refused, recovered = random.Random(16), 0, 0
    for _ in range(300):
        bit = drawn.randrange(len(whole) * 8)
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        put(run, bytes(data))
        try:
            with run.ledger() as ledger:
                assert contents(ledger) == truth, bit
            continue
        except MedebenchError as error:
            line = str(error)
            assert str(path_of(run)) in line and "\n" not in line
            refused += 1
        if "rows are damaged" not in line:
            assert "restore a backup" in line
            continue
        with run.locked() as ledger:
            found = contents(ledger)
        recovered += 1
        assert found[0] == cases, bit
        assert {key: row.sha256 for key, row in found[1].items()} == {
            key: row.sha256 for key, row in outputs.items()
        }
        kept = {key: row for key, row in by_key(found[2]).items() if row.reason != DAMAGED}
        assert all(row == known[key] for key, row in kept.items()), bit
        assert len(found[2]) >= len(scores) - 1
        assert all(row in sets or row.reason == DAMAGED for row in found[3]), bit
    # The check would mean nothing if no flip hit anything.
    assert refused > 80 and recovered > 50


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE scores SET value = value + 0.25 WHERE case_id = '2' AND metric = 'ssim' AND k = 0",
        "UPDATE scores SET metric = 'ssil' WHERE case_id = '2' AND metric = 'ssim' AND k = 0",
        "UPDATE scores SET case_id = '9' WHERE case_id = '2' AND metric = 'ssim' AND k = 0",
        "UPDATE scores SET value = NULL, reason = 'no' WHERE case_id = '2' AND metric = 'ssim'",
        "UPDATE scores SET checksum = 0, written = 1 WHERE case_id = '2' AND metric = 'ssim'",
    ],
)
def test_a_damaged_score_is_an_error_and_then_computed_again(run, damage):
    before = run.frame()
    change(run, damage)
    with pytest.raises(InputError, match=r"rows are damaged \(scores \d\); `medebench score"):
        run.frame()
    assert mb.score(run, ["cp", "ssim"], "offline").recovery.damaged.keys() == {"scores"}
    assert run.frame().equals(before)
    mb.score(run, ["cp"])
    assert run.recovery is None


def test_a_damaged_score_that_is_not_asked_for_stays_visible(run):
    change(run, "UPDATE scores SET value = 0.5 WHERE case_id = '2' AND metric = 'ssim' AND k = 0")
    mb.score(run, ["cp"])
    (row,) = run.frame().filter(case="2", metric="ssim", k=0).iter_rows(named=True)
    assert (row["value"], row["reason"]) == (None, DAMAGED)


def test_a_damaged_output_is_found_again_by_its_picture(run):
    before = run.frame()
    change(run, "UPDATE outputs SET sha256 = 'f' || substr(sha256, 2), seed = 7 WHERE k = 1")
    with pytest.raises(InputError, match=r"rows are damaged \(outputs \d\)"):
        run.frame()
    mb.score(run, ["cp", "ssim"], "offline")
    assert "4 of 4 outputs found again" in str(run.recovery)
    assert run.frame().equals(before)


def test_a_damaged_output_without_a_picture_is_made_again(run, small_set):
    before = run.frame()
    run.output_path("3", 1).unlink()
    change(run, "UPDATE outputs SET seconds = -1 WHERE case_id = '3' AND k = 1")
    mb.edit(small_set, "noise", out=run.path, outputs=2)
    mb.score(run, ["cp", "ssim"], "offline")
    assert run.frame().equals(before)


@pytest.mark.parametrize("column", ["case_id", "organ", "digest", "source", "parts"])
def test_a_damaged_case_is_read_again(run, column):
    before = run.frame()
    change(run, f"UPDATE cases SET {column} = 'x' || {column} WHERE case_id = '2'")
    with pytest.raises(InputError, match=r"rows are damaged \(cases 1\)"):
        run.frame()
    mb.score(run, ["cp"])
    assert run.frame().equals(before)


def test_the_command_says_what_was_damaged(run):
    change(run, "UPDATE scores SET value = 0.5 WHERE case_id = '2' AND metric = 'ssim' AND k = 0")
    shown = CliRunner().invoke(app, ["report", str(run.path), "--out", str(run.path.parent / "r")])
    assert shown.exit_code == 2 and "1 of its rows are damaged" in shown.stderr
    done = CliRunner().invoke(app, ["score", str(run.path), "--judge", "offline"])
    assert done.exit_code == 0 and "1 damaged row in the ledger (scores 1)" in done.stderr


def test_a_damaged_structure_is_one_line_with_a_way_out(run):
    settle(run)
    data = bytearray(path_of(run).read_bytes())
    data[4096:8192] = bytes(4096)
    put(run, bytes(data))
    with pytest.raises(InputError, match=r"damaged ledger \(.+\); restore .+`medebench adopt"):
        run.frame()


def test_an_older_ledger_is_read_as_it_is(run, tmp_path):
    before = run.frame()
    make_older(run)
    assert run.frame().equals(before)
    with run.ledger() as ledger:
        assert ledger.unchecked() == 4 + 8 + 8 * 4
    assert version(run) == 1
    done = CliRunner().invoke(app, ["report", str(run.path), "--out", str(tmp_path / "report")])
    assert done.exit_code == 0
    assert "wrote without checksums" in (tmp_path / "report/index.html").read_text()


def test_an_older_ledger_is_continued(run, small_set):
    before = run.frame()
    make_older(run)
    done = CliRunner().invoke(app, ["score", str(run.path), "--metrics", "cp,ssim,psnr"])
    # The cases have just been looked at: they are known to be what they were.
    assert done.exit_code == 0 and "40 rows come from an earlier medebench" in done.stderr
    assert version(run) == 3
    frame = run.frame()
    assert frame.filter(frame["metric"] != "psnr").equals(before)
    assert frame.filter(metric="psnr")["value"].null_count() == 0
    # From now on damage shows, also to what was taken over.
    change(run, "UPDATE scores SET value = 0.5 WHERE case_id = '2' AND metric = 'ssim' AND k = 0")
    with pytest.raises(InputError, match="rows are damaged"):
        run.frame()
    mb.edit(small_set, "noise", out=run.path, outputs=3)
    assert len(list(run.edits.iterdir())) == 12


def test_what_cannot_be_a_row_of_an_older_ledger_is_done_again(run):
    before = run.frame()
    make_older(run)
    change(
        run, "UPDATE scores SET detail = '{' WHERE case_id = '2' AND metric = 'intended_offline'"
    )
    with pytest.raises(InputError, match=r"rows are damaged \(scores 2\)"):
        run.frame()
    mb.score(run, ["cp", "ssim"], "offline")
    assert run.frame().equals(before)


def test_a_changed_case_of_an_older_ledger_cannot_be_told_apart(run, small_set):
    make_older(run)
    changed = small_set / "editing/changed/1.png"
    changed.write_bytes((small_set / "editing/changed/2.png").read_bytes())
    mb.score(run, ["ssim"])
    (reason,) = run.frame().filter(case="1", metric="ssim")["reason"].unique()
    assert "ledger is too old to say how" in reason


def test_what_is_written_is_what_is_read(tmp_path):
    numpy = pytest.importorskip("numpy")
    with Ledger(tmp_path / "ledger.sqlite", create=True) as ledger:
        values = [-0.0, 0.0, 1, 1e300, 5e-324, 1e18, numpy.float64(0.1), 2**53 + 0.0]
        rows = [
            ScoreRow("a\0b é", k, "m", "x", value, None, {"t": "ü\x00", "n": float("inf")})
            for k, value in enumerate(values)
        ]
        ledger.write(OutputRow("1", 0, None, "no", 2**62, {}, 0), *rows)
        assert [row.value for row in ledger.scores()] == values
        assert ledger.damage() == {}


@pytest.mark.parametrize("older", [False, True])
def test_a_ledger_that_cannot_be_written_is_read(run, monkeypatch, older):
    before = run.frame()
    if older:
        make_older(run)
    settle(run)
    # Permissions mean nothing to root, who runs tests in containers.
    monkeypatch.setattr(ledger_file.os, "access", lambda *_: False)
    assert run.frame().equals(before)
    with run.ledger() as ledger, pytest.raises(MedebenchError, match="readonly"):
        ledger.write(OutputRow("1", 0, None, "no"))


def test_a_checksum_is_what_the_documentation_says(run):
    settle(run)
    db = sqlite3.connect(path_of(run))
    for table in ("cases", "outputs", "scores"):
        for *values, checksum in db.execute(f"SELECT * FROM {table}"):
            texts = [one if isinstance(one, str) else repr(one) for one in values]
            told = ["\0" if one is None else text for one, text in zip(values, texts, strict=True)]
            assert zlib.crc32("\x1f".join([table, *told]).encode()) == checksum
    db.close()
