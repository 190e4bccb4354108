"""Answers as models write them: each file says what must be read, and what must be refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.judge.answers import complaint, parse

FILES = sorted((Path(__file__).parent / "corpus").glob("*.txt"))


def read(path):
    head, _, text = path.read_bytes().decode("utf-8").partition("\n---\n")
    return yaml.safe_load(head), text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_corpus(path):
    head, text = read(path)
    asked = head.get("asked", ["ea", "vq"])
    parsed = parse(text, asked, finish=head.get("finish", "stop"))
    expected = {name: head[name] for name in asked if head.get(name, "unreadable") != "unreadable"}
    assert {name: one.value for name, one in parsed.scores.items()} == expected
    assert parsed.refused == head.get("refused", False)
    assert set(parsed.missing) == set(asked) - set(expected)
    assert bool(parsed.problems) == bool(parsed.missing) == bool(complaint(parsed))


def test_the_corpus_is_large_and_holds_enough_that_must_be_refused():
    heads = [read(path)[0] for path in FILES]
    assert len(heads) >= 80
    assert sum("unreadable" in head.values() or head.get("refused", False) for head in heads) >= 20
