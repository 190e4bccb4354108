"""`tools/compare_trees.py` sees what it must see, and nothing else."""

from __future__ import annotations

import csv
import json
import sqlite3
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import REPOSITORY, load_tool

SCORES = [
    ("1", 0, "cp", 0.25, None),
    ("1", 0, "psnr", None, "infinite: the output equals the reference"),
    ("2", 0, "cp", 0.5, None),
    ("2", 0, "psnr", 31.5, None),
    ("3", 0, "cp", None, "no output: '3.png' is damaged"),
    ("3", 0, "psnr", None, "no output: '3.png' is damaged"),
]
TABLE = [
    {"run": "noise", "metric": "cp", "mean": "0.375", "why": "scored 2 of 3"},
    {"run": "noise", "metric": "psnr", "mean": "31.5", "why": "scored 1 of 3"},
    {"run": "blur", "metric": "cp", "mean": "", "why": "no score"},
]
Row = tuple[Any, ...]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools"))
    return load_tool("compare_trees")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return write(tmp_path / "old")


def write(
    folder: Path, scores: list[Row] = SCORES, table: list[dict[str, str]] = TABLE, *, later=False
) -> Path:
    """What a tree may leave behind; `later`: in a ledger with other names and a column more."""
    run = folder / "runs" / "noise"
    run.mkdir(parents=True)
    case, code = ("case_id", "") if not later else ('"case"', ", code TEXT")
    with closing(sqlite3.connect(run / "ledger.sqlite")) as db, db:
        db.execute(
            f"CREATE TABLE scores ({case} TEXT, k INTEGER, metric TEXT, value REAL, reason TEXT"
            f"{code}, seconds REAL, detail TEXT)"
        )
        for one in scores:
            more = ("made-up",) if later else ()
            row = (*one, *more, 0.1 if later else 0.2, json.dumps({"stray": 0.5}))
            db.execute(f"INSERT INTO scores VALUES ({','.join('?' * len(row))})", row)
    with (folder / "table.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    return folder


def changed(place: int, **cells: str) -> list[dict[str, str]]:
    return [row | cells if i == place else row for i, row in enumerate(TABLE)]


def replaced(place: int, row: Row) -> list[Row]:
    return [row if i == place else one for i, one in enumerate(SCORES)]


@pytest.fixture
def differences(tool: ModuleType, old: Path, tmp_path: Path) -> Callable[..., list[str]]:
    def found(*accepted: str, **new: Any) -> list[str]:
        result = tool.compare(old, write(tmp_path / "new", **new), {}, list(accepted))
        return list(result.differences)

    return found


def test_equal_folders_are_equal_whatever_the_ledger_calls_its_columns(tool, old, tmp_path):
    found = tool.compare(old, write(tmp_path / "new", later=True), {}, [])
    assert found.differences == []
    assert sum(found.notes.values()) == 3
    assert all(note.startswith("code of a reason: made-up: ") for note in found.notes)
    assert found.checked["scores"] == 6 and found.checked["reasons"] == 3
    assert found.checked["tables"] == 1


def test_a_changed_value_is_seen_to_its_last_digit(differences):
    (line,) = differences(scores=replaced(2, ("2", 0, "cp", 0.5 + 1e-15, None)))
    assert line.startswith("runs/noise: scores 2 0 cp: value: 0.5 -> 0.5000000000000")


@pytest.mark.parametrize(
    "row", [("1", 0, "psnr", 99.0, None), ("2", 0, "psnr", None, "too dark")], ids=["value", "gone"]
)
def test_a_reason_in_place_of_a_value_is_seen_both_ways(differences, row):
    place = next(i for i, one in enumerate(SCORES) if one[:3] == row[:3])
    (line,) = differences(scores=replaced(place, row))
    assert "reason '" in line and f"scores {row[0]} 0 psnr" in line


def test_rows_that_are_missing_or_new_are_seen(differences):
    lines = differences(scores=[*SCORES[1:], ("4", 0, "cp", 0.1, None)])
    assert lines == [
        "runs/noise: scores 1 0 cp: 0.25 -> no row",
        "runs/noise: scores 4 0 cp: no row -> 0.1",
    ]


def test_a_renamed_metric_is_found_by_its_values(tool, old, tmp_path):
    scores = [(c, k, {"cp": "context"}.get(m, m), v, r) for c, k, m, v, r in SCORES]
    table = [row | {"metric": row["metric"].replace("cp", "context")} for row in TABLE]
    found = tool.compare(old, write(tmp_path / "new", scores, table), {}, [])
    assert found.differences == []
    assert list(found.notes) == ["renamed metric: cp -> context"]


def test_other_words_for_a_reason_are_listed(tool, old, tmp_path):
    scores = [
        (c, k, m, v, r and r.replace("no output:", "output missing:")) for c, k, m, v, r in SCORES
    ]
    found = tool.compare(old, write(tmp_path / "new", scores), {}, [])
    assert found.differences == []
    ((note, count),) = found.notes.items()
    assert count == 2
    assert note.endswith("no output: '…' is damaged => output missing: '…' is damaged")


def test_two_kinds_of_reason_do_not_become_one(differences, tmp_path):
    scores = [(c, k, m, v, r and "failed") for c, k, m, v, r in SCORES]
    lines = differences(scores=scores)
    assert len(lines) == 2 and all("became one with others" in line for line in lines)


def test_two_kinds_may_become_one_if_a_person_says_so(differences):
    scores = [(c, k, m, v, r and "failed") for c, k, m, v, r in SCORES]
    assert not differences("no output: '…' is damaged => failed", scores=scores)


def test_a_changed_number_in_a_table_is_seen(differences):
    (line,) = differences(table=changed(1, mean="31.4"))
    assert line.startswith("table.csv: row noise psnr")
    assert line.endswith("mean: 31.5 -> 31.4")


def test_a_row_more_does_not_hide_a_changed_number(differences):
    more = {"run": "blur", "metric": "psnr", "mean": "20", "why": "scored 3 of 3"}
    lines = differences(table=[more, *changed(1, mean="31.4")])
    assert lines == [
        "table.csv: row noise psnr: mean: 31.5 -> 31.4",
        "table.csv: row blur psnr: no such row -> there",
    ]


def test_a_verdict_that_changed_in_one_row_is_no_change_of_words(tool, tmp_path):
    table = [{"case": str(i), "type": "weak" if i < 3 else "nothing"} for i in range(5)]
    old, new = write(tmp_path / "old", table=table), tmp_path / "new"
    words = [row | {"type": "feeble"} if row["type"] == "weak" else row for row in table]
    assert tool.compare(old, write(new, table=words), {}, []).differences == []
    words[1]["type"] = "nothing"
    found = tool.compare(old, write(tmp_path / "other", table=words), {}, [])
    assert [line.partition(" (")[0] for line in found.differences] == [
        "table.csv: type: weak => feeble",
        "table.csv: type: weak => nothing",
    ]


def test_a_number_that_became_a_gap_or_stands_in_a_sentence_is_seen(differences, old, tool):
    lines = differences(table=changed(0, mean="", why="scored 3 of 3"))
    assert [line.split(": ", 2)[2] for line in lines] == [
        "mean: 0.375 -> None",
        "why: scored 2 of 3 -> scored 3 of 3",
    ]


def test_order_new_columns_and_new_words_in_a_table_are_no_differences(tool, old, tmp_path):
    table = [row | {"extra": "1"} for row in reversed(changed(2, why="nothing scored"))]
    table = [{("average" if c == "mean" else c): cell for c, cell in r.items()} for r in table]
    found = tool.compare(old, write(tmp_path / "new", table=table), {}, [])
    assert found.differences == []
    assert set(found.notes) == {
        "renamed column: mean -> average",
        "new column: table.csv: extra",
        "changed wording of table.csv: why: no score => nothing scored",
    }


def test_a_table_or_a_row_that_is_gone_is_seen(tool, old, tmp_path):
    new = write(tmp_path / "new", table=TABLE[:2])
    assert any("no such row" in line for line in tool.compare(old, new, {}, []).differences)
    (new / "table.csv").unlink()
    assert tool.compare(old, new, {}, []).differences == ["table.csv: is gone"]


def test_a_tree_equals_itself_until_a_number_is_planted(tool, tmp_path, monkeypatch, capsys):
    def tiny(part: Any, _sample: Path | None) -> None:
        part.call("edit", "phantoms:count=2", "--editor", "reference", "--out", "run", "--json")
        part.call("score", "run", "--metrics", "cp,psnr", "--json")

    def run(*words: str) -> int:
        names = [str(REPOSITORY), str(REPOSITORY), "--only", "tiny", "--python", sys.executable]
        monkeypatch.setattr(sys, "argv", ["compare_trees", *names, "--work", str(work), *words])
        with pytest.raises(SystemExit) as ended:
            tool.main()
        assert isinstance(ended.value.code, int)
        return ended.value.code

    work = tmp_path / "work"
    monkeypatch.setattr(tool, "PARTS", {"tiny": tiny})
    assert run() == 0
    assert "4 scores" in capsys.readouterr().out
    with closing(sqlite3.connect(work / "new" / "tiny" / "run" / "ledger.sqlite")) as db, db:
        db.execute("UPDATE scores SET value = 0.75 WHERE case_id = '1' AND metric = 'cp'")
    assert run("--compare-only") == 1
    told = capsys.readouterr().out
    assert "run: scores 1 0 cp: value: 1.0 -> 0.75" in told
    assert "1 difference" in told


def test_only_what_is_meant_is_explained(tool: ModuleType) -> None:
    meant = [
        "runs/a: scores 3 0 roi_residual: no row -> 0.5",
        "runs/a: scores 3 0 roi_structure: value: -0.4 -> 1.2e-05",
        "report/comparisons.csv: row models cp a b: low: -0.21 -> -0.22",
        "report/organs.csv: row Torso asked noise psnr: no such row -> there",
    ]
    errors = [
        "runs/a: scores 3 0 cp: no row -> 0.5",
        "runs/a: scores 3 0 roi_structure: value: -0.4 -> reason 'too small'",
        "report/comparisons.csv: row models cp a b: difference: -0.21 -> -0.22",
        "report/organs.csv: row Torso own noise psnr: no such row -> there",
        "report/organs.csv: row Torso own noise psnr: mean: 1.0 -> 2.0",
        "scores.csv: row a Eyes 3 0 cp: value: 0.1 -> 0.2",
    ]
    left, explained = tool.sort_out([*meant, *errors])
    assert left == errors
    assert sorted(explained.values()) == [1, 1, 1, 1]


def test_a_printed_table_of_another_basis_is_no_difference(tool, old, tmp_path):
    def put(folder: Path, basis: str, mean: float, runs: int) -> Path:
        table = {"basis": basis, "rows": [{"mean": mean}]}
        (folder / "report.json").write_text(json.dumps({"table": table, "runs": runs}))
        return folder

    put(old, "own", 0.5, 3)
    new = put(write(tmp_path / "new"), "asked", 0.4, 3)
    found = tool.compare(old, new, {}, [])
    assert found.differences == []
    assert "report.json: shows asked instead of own" in found.notes
    put(new, "own", 0.4, 4)
    assert tool.compare(old, new, {}, []).differences == [
        "report.json: table.rows.0.mean: 0.5 -> 0.4",
        "report.json: runs: 3 -> 4",
    ]


def ask(address: str, picture: str) -> tuple[int, str]:
    part = {"type": "image_url", "image_url": {"url": picture}}
    body = json.dumps({"messages": [{"role": "user", "content": [part]}]}).encode()
    request = urllib.request.Request(f"{address}/chat/completions", body)
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.fixture
def addresses(tool: ModuleType) -> Iterator[tuple[str, str]]:
    from trees.odd_judge import odd_judge  # type: ignore[import-not-found]

    with odd_judge() as one, odd_judge() as other:
        yield one, other


def test_the_judge_misbehaves_in_the_same_way_for_both_trees(addresses):
    wishes = [f"data:{number}" for number in range(150)] * 2
    answers = [ask(addresses[0], wish) for wish in wishes]
    statuses = {status for status, _ in answers}
    assert statuses == {200, 400, 429, 500}
    assert any('"refusal": "I' in text for _, text in answers)
    assert sum('\\"score\\"' in text for _, text in answers) > 150
    # Another order of questions changes nothing: what counts is how often each was asked.
    backwards = {wish: ask(addresses[1], wish) for wish in reversed(wishes[:150])}
    assert [backwards[wish] for wish in wishes[:150]] == answers[:150]
