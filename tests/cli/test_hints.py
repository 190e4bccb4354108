"""What a user most likely meant, in the line that says what is wrong."""

from __future__ import annotations

import json

import pytest

import medebench as mb
from tests.cli.test_cli import call


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt-4o", "openai:gpt-4o"),
        ("gemini-2.5-pro", "gemini:gemini-2.5-pro"),
        ("claude-sonnet-9", "anthropic:claude-sonnet-9"),
    ],
)
def test_a_model_without_its_provider(name, meant, small_set, tmp_path):
    run = mb.edit(small_set, "noise", tmp_path / "run").path
    for words in (["score", run], ["judge", "audit", "--cases", small_set]):
        done = call(*words, "--judge", name)
        assert done.exit_code == 2 and done.stderr.count("\n") == 1
        assert f"a model is named with its provider: '{meant}'" in done.stderr
    served = call("score", run, "--judge", "qwen2", "--base-url", "http://127.0.0.1:9/v1")
    assert served.exit_code == 2 and "'openai:qwen2'" in served.stderr
    assert "did you mean 'offline'?" in call("score", run, "--judge", "offlin").stderr


def test_what_is_not_a_run(small_set, tmp_path):
    made = mb.edit(small_set, "noise", tmp_path / "runs" / "noise")
    done = call("score", made.edits)
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
    assert f"`medebench adopt {made.edits} --cases CASES --out RUN`" in done.stderr
    done = call("report", tmp_path / "runs", "--out", tmp_path / "r")
    assert f"it holds runs (noise): name them, as in {tmp_path / 'runs'}/*" in done.stderr
    assert "no such folder" in call("score", tmp_path / "nowhere").stderr


@pytest.fixture
def metadata(small_set):
    path = small_set / "editing" / "editing_metadata.json"
    return path, json.loads(path.read_text())["samples"]


@pytest.mark.parametrize("wrapped", [False, True])
def test_metadata_by_id(metadata, wrapped, small_set):
    path, samples = metadata
    before = mb.load_cases(small_set)
    by_id = {str(one.pop("id")): one for one in samples}
    path.write_text(json.dumps({"samples": by_id} if wrapped else by_id))
    assert mb.load_cases(small_set).fingerprint == before.fingerprint
    by_id["2"]["ID"] = 2
    path.write_text(json.dumps(by_id))
    assert mb.load_cases(small_set).fingerprint == before.fingerprint
    by_id["2"]["ID"] = 3
    path.write_text(json.dumps(by_id))
    with pytest.raises(mb.InputError, match="case '2': field 'id': is '3' inside"):
        mb.load_cases(small_set)


@pytest.mark.parametrize("content", [{"samples": 5}, {"version": 1}, {}, 7, {"samples": {}}])
def test_another_shape_is_told_the_right_one(content, metadata, small_set):
    metadata[0].write_text(json.dumps(content))
    done = call("cases", "show", small_set)
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
    assert '[{"id": "1", "prompt": ...}, ...]' in done.stderr
    assert '{"1": {"prompt": ...}, ...}' in done.stderr


def test_a_set_is_one_line_and_knows_its_cases(small_set):
    cases = mb.load_cases(small_set)
    assert len(str(cases)) < 200 and "\n" not in f"{cases}" and "4 cases" in str(cases)
    assert cases["3"].id == cases[3].id == "3" and "3" in cases
    with pytest.raises(mb.InputError, match="no case '77'; the ids run from '1' to '4'"):
        _ = cases["77"]
