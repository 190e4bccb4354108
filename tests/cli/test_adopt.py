"""Taking over outputs as people name them, from one folder or many, and what does not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import medebench as mb
from tests.cli.test_cli import call
from tests.conftest import write_set


@pytest.fixture
def outputs(small_set, tmp_path):
    """A folder of one model's outputs, with names made of ids."""

    def write(model, *names):
        folder = tmp_path / "outputs" / model
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            (folder / name).write_bytes((small_set / "editing/previous/1.png").read_bytes())
        return folder

    return write


def test_many_folders_become_runs_of_their_names(small_set, tmp_path, outputs):
    folders = [outputs("one", "1.png", "2.png"), outputs("two", "3.png")]
    readme = tmp_path / "outputs" / "README.md"
    readme.touch()
    words = ["adopt", *folders, readme, "--cases", small_set, "--out", tmp_path / "runs"]
    done = call(*words)
    assert done.exit_code == 0, done.output
    assert [mb.open_run(tmp_path / "runs" / name).info.editor for name in ("one", "two")] == [
        *("one", "two")
    ]
    # A pattern may find a single folder.
    single = ["adopt", folders[0], "--cases", small_set, "--out"]
    assert call(*single, f"{tmp_path}/more/").exit_code == 0
    assert call(*single, f"{tmp_path}/more/one/").exit_code == 0  # a run by now
    assert mb.open_run(tmp_path / "more" / "one").info.editor == "one"
    facts = json.loads(call(*words, "--json").stdout)["runs"]
    assert [one["outputs"] for one in facts] == [2, 1]


@pytest.mark.parametrize(
    ("make", "more", "problem"),
    [
        (lambda o: [o("a", "1.png"), o("b", "x.png")], [], "it has 'x.png'"),
        (lambda o: [o("a", "1.png"), o("b", "2.png")], ["--name", "c"], "cannot have one name"),
        (lambda o: [o("a", "1.png"), o("b/a", "2.png")], [], "two folders are called 'a'"),
        (lambda o: [o("a", "1.png") / "1.png"], [], "is a file; name its folder"),
    ],
)
def test_nothing_is_taken_where_one_of_many_does_not_fit(
    make, more, problem, small_set, tmp_path, outputs
):
    words = ["adopt", *make(outputs), "--cases", small_set, "--out", tmp_path / "runs"]
    done = call(*words, *more)
    assert done.exit_code == 2 and problem in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["0002_0.png"], "'0002_0.png', and the ids are '1', '2', ...; rename '0002_0.png' to"),
        (["0002.png"], "rename '0002.png' to '2.png': the ids have other leading zeros"),
        (["2_final.png"], "rename '2_final.png' to '2_0.png': behind the id 2 stands no output"),
        (["2_seed123456789.png"], "rename '2_seed123456789.png' to '2_0.png'"),
        (["mole.png"], "it has 'mole.png', and the ids are '1', '2', ..."),
        (["1.npy"], "it has '1.npy'"),
        ([], "it has no files"),
    ],
)
def test_names_that_fit_no_case_are_explained(names, words, small_set, tmp_path, outputs):
    folder = outputs("model", *names)
    done = call("adopt", folder, "--cases", small_set, "--out", tmp_path / "run")
    assert done.exit_code == 2 and words in done.stderr and done.stderr.count("\n") == 1
    # Beside files that fit, the others are ignored with the same advice.
    outputs("model", "1.png")
    done = call("adopt", folder, "--cases", small_set, "--out", tmp_path / "run")
    hint = words.partition("rename")[2]
    assert done.exit_code == 0 and hint in done.stderr


def test_ids_that_have_the_zeros(tmp_path, outputs):
    folder, cases = outputs("model", "7_1.png"), tmp_path / "zeros"
    write_set(cases, 1, id="007")
    with pytest.raises(mb.InputError, match=r"rename '7_1.png' to '007_1.png'"):
        mb.adopt(folder, cases, tmp_path / "run")


def test_subfolders_that_would_fit(small_set, tmp_path, outputs):
    outer = outputs("one", "1.png").parent
    words = ["adopt", outer, "--cases", small_set, "--out", tmp_path / "run"]
    assert f"its subfolder 'one' fits: adopt {outer / 'one'}" in call(*words).stderr
    outputs("two", "1.png")
    outputs("three", "x.png")
    assert f"its subfolders fit (one, two): adopt {outer}/* --out RUNS" in call(*words).stderr


def test_numbers_may_be_called_seeds(small_set, tmp_path, outputs):
    folder = outputs("model", "1_seed3.png", "2_k0.png", "3_2.png", "4_sample-1.png")
    run = mb.adopt(folder, small_set, tmp_path / "run")
    with run.ledger() as ledger:
        assert sorted(ledger.outputs()) == [("1", 3), ("2", 0), ("3", 2), ("4", 1)]
    assert run.info.unmatched == []


def test_broken_files_and_what_to_do_about_them(small_set, tmp_path, outputs):
    folder = outputs("model", "1.png", "2.png", "3.png", "4.png")
    whole = (folder / "1.png").read_bytes()
    for name, data in {"2": b"", "3": b"hello", "4": whole[: len(whole) // 2]}.items():
        (folder / f"{name}.png").write_bytes(data)
    words = ["adopt", folder, "--cases", small_set, "--out", tmp_path / "run"]
    done = call(*words)
    assert done.exit_code == 1 and "--retry-failed" not in done.stderr
    assert "unreadable: 1 cut off, 1 empty, 1 not an image" in done.stderr
    assert "replace these files and run the same command again" in done.stderr
    for name in "234":
        (folder / f"{name}.png").write_bytes(whole)
    done = call(*words)
    assert done.exit_code == 0 and "4 outputs, 4 of 4 cases, 0 failed" in done.stderr


def test_no_folder(small_set, tmp_path):
    done = call("adopt", Path("nowhere"), "--cases", small_set, "--out", tmp_path / "run")
    assert done.exit_code == 2 and "no such folder" in done.stderr
