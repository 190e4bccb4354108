"""Answers as models write them, labelled before the readers existed: what is read, what is not."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from medebench.metrics.text.harmless_differences import same_filling
from medebench.models.answers.choice_answer import read_choice
from medebench.models.answers.gap_answer import read_gap
from medebench.models.answers.key_statement import read_key

CORPUS = Path(__file__).parent / "answers_corpus"
ROWS = [
    json.loads(line)
    for path in sorted(CORPUS.glob("*.jsonl"))
    for line in path.read_text("utf-8").splitlines()
]
#: Of the answers that give an option; what is read wrongly may be none.
MOST_MISSES = 10


def rows(kind):
    return [row for row in ROWS if row["kind"] == kind]


def test_the_corpus_is_what_it_says():
    assert len(ROWS) >= 180
    assert sum(row["by"] == "smollm2" for row in ROWS) >= 50
    nothing = [row for row in ROWS if row["status"] not in ("read", "stated")]
    assert len(nothing) >= 60
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    for row in rows("letter"):
        assert ("letter" in row) == (row["status"] == "read"), row["id"]


def test_no_choice_is_read_wrongly():
    false, missed, status = [], [], Counter()
    for row in rows("letter"):
        found = read_choice(row["answer"], row["choices"], cut=row.get("cut", False))
        if found.status == "read" and found.letter != row.get("letter"):
            false.append((row["id"], row["answer"], found))
        elif "letter" in row and found.status != "read":
            missed.append((row["id"], row["answer"], found.status))
        elif found.status != row["status"]:
            status[row["status"], found.status] += 1
    assert false == []
    assert len(missed) <= MOST_MISSES, missed
    assert status.total() <= 5, status


def test_what_is_read_stands_in_the_answer():
    for row in rows("letter"):
        found = read_choice(row["answer"], row["choices"], cut=row.get("cut", False))
        if found.status == "read" and found.span:
            start, end = found.span
            assert 0 <= start < end <= len(row["answer"])
            assert found.index is not None
        assert (found.index is None) == (found.status != "read")


@pytest.mark.parametrize("row", rows("gap"), ids=lambda row: row["id"])
def test_gaps(row):
    found = read_gap(row["answer"], row["question"], cut=row.get("cut", False))
    right = any(same_filling(one, row["reference"]) for one in found.readings)
    assert right == row["right"]
    assert (found.status == "read") == (row["status"] == "read")


def test_keys():
    wrong = []
    for row in rows("free"):
        found = read_key(row["answer"], row["key"], row["choices"], cut=row.get("cut", False))
        if found != row["status"]:
            wrong.append((row["id"], row["answer"], found))
    assert wrong == []
