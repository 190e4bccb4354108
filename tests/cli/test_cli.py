"""The command line: results on stdout, words on stderr, exit codes 0, 1, 2."""

from __future__ import annotations

import json
import subprocess
import sys

import polars as pl
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from medebench.cli import COMMANDS as HEADED
from medebench.cli import app


def call(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_from_cases_to_report(small_set, tmp_path):
    runs = []
    for editor in ("identity", "inpaint:radius=3"):
        runs.append(tmp_path / "runs" / editor.partition(":")[0])
        done = call("edit", small_set, "--editor", editor, "--out", runs[-1], "--json")
        assert done.exit_code == 0 and json.loads(done.stdout)["outputs"] == 4
    scored = call("score", *runs, "--judge", "offline")
    assert scored.exit_code == 0 and scored.stderr == ""
    assert "identity: 40 of 40 scores" in scored.stdout
    reported = call("report", *runs, "--out", tmp_path / "report", "--json")
    assert reported.exit_code == 0
    assert (tmp_path / "report" / "index.html").is_file()
    exported = call("export", *runs, "--format", "parquet", "--out", tmp_path / "t.parquet")
    assert exported.exit_code == 0 and pl.read_parquet(tmp_path / "t.parquet").height == 80


def test_ground(small_set, tmp_path):
    run = tmp_path / "run"
    call("edit", small_set, "--editor", "identity", "--out", run)
    done = call("ground", run)
    assert done.exit_code == 0 and "nothing done" in done.stdout and "change IoU" in done.stdout
    done = call("ground", run, "--threshold", "nothing_area=0", "--json")
    (facts,) = json.loads(done.stdout)["runs"]
    assert facts["outputs"] == 4 and facts["types"]["nothing"] == 0
    assert facts["change_iou"] == 0 and facts["attention_iou"] is None
    (run / "edits" / "2_0.png").unlink()
    done = call("ground", run)
    assert done.exit_code == 1 and "missing-file: 1 the output file is missing" in done.stdout


def test_some_failures_end_with_1(small_set, tmp_path):
    Image.new("L", (64, 48), 255).save(small_set / "editing/previous_mask/2.png")
    done = call("edit", small_set, "--editor", "inpaint", "--out", tmp_path / "run")
    assert done.exit_code == 1
    assert "3 outputs" in done.stderr and "refused: 1 ROI is the whole image" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["edit", "nowhere", "--editor", "identity", "--out", "r"], "no such folder or file"),
        (["edit", "{set}", "--editor", "magic", "--out", "r"], "no system 'magic'"),
        (["edit", "{set}", "--editor", "blur:sigma=x", "--out", "r"], "sigma"),
        (
            ["edit", "{set}", "--editor", "blur", "--organ", "Nose", "--out", "r"],
            "no case of organ",
        ),
        (["edit", "{set}", "--editor", "identity", "--out", "{set}"], "not empty and not a run"),
        (["score", "{set}"], "not a run"),
        (["score", "{set}", "--metrics", "magic"], "not a run"),
        (["score", "{set}", "--metrics", ","], "names no metric"),
        (["generate", "{set}", "--system", "identity", "--task", "no", "--out", "r"], "no task"),
        (["ground", "{set}"], "not a run"),
        (["ground", "{set}", "--threshold", "good_ea"], "expected key=value"),
        (["ground", "{set}", "--threshold", "goodea=1"], "no setting 'goodea'; it has: repainted"),
        (["ground", "{set}", "--threshold", "good_ea=2"], "good_ea: Input should be less than"),
        (["report", "{set}", "--out", "r"], "not a run"),
        (["export", "{set}", "--out", "r"], "not a run"),
        (["adopt", "nowhere", "--cases", "{set}", "--out", "r"], "no such folder"),
        (["cases", "check", "nowhere"], "no such folder"),
        (["cases", "check", "{set}", "--fix"], "--fix and --out go together"),
        (["cases", "show", "{set}", "77"], "no case '77'"),
        (["cases", "make", "unicorns", "--out", "r"], "chest-phantoms, medgen-phantoms, phantoms"),
        (["cases", "get", "unicorns", "--out", "r"], "unicorns"),
        (["run", "plann.yaml"], "no such plan"),
    ],
)
def test_a_mistake_is_one_line_exit_2_and_nothing_written(
    words, message, small_set, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    done = call(*[word.replace("{set}", str(small_set)) for word in words])
    assert done.exit_code == 2, done.output
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == "" and sorted(tmp_path.rglob("*")) == before


def test_unknown_metric_is_named_before_any_work(small_set, tmp_path):
    call("edit", small_set, "--editor", "identity", "--out", tmp_path / "run")
    done = call("score", tmp_path / "run", "--metrics", "cp,ssmi")
    assert done.exit_code == 2 and "no metric 'ssmi'; did you mean 'ssim'?" in done.stderr


def test_an_unwritable_place_is_one_line(small_set, tmp_path):
    (tmp_path / "file").write_text("x")
    done = call("edit", small_set, "--editor", "identity", "--out", tmp_path / "file" / "run")
    assert done.exit_code == 2 and len(done.stderr.strip().splitlines()) == 1


def test_cases_show(small_set, tmp_path):
    done = call("cases", "show", small_set, "--json")
    facts = json.loads(done.stdout)
    assert facts["cases"] == 4 and facts["organs"] == {"Skin": 2, "Teeth": 2}
    done = call("cases", "show", small_set, "3", "--out", tmp_path / "3.png")
    assert "Remove the mole number 3." in done.stdout
    with Image.open(tmp_path / "3.png") as picture:
        assert picture.size == (64 * 3 + 16, 48)


def test_cases_check_and_fix(small_set, tmp_path):
    Image.new("RGB", (64, 47), (255, 255, 255)).save(small_set / "editing/previous_mask/2.png")
    done = call("cases", "check", small_set, "--fix", "--out", tmp_path / "fixed", "--json")
    found = json.loads(done.stdout)
    codes = {finding["code"] for finding in found["findings"]}
    assert {"mask-size", "mask-mode"} <= codes and found["fix"]["cases"] == 4
    again = call("cases", "check", tmp_path / "fixed", "--json")
    assert not {"mask-size", "mask-mode"} & {
        f["code"] for f in json.loads(again.stdout)["findings"]
    }
    (small_set / "editing/previous/1.png").unlink()
    assert call("cases", "check", small_set).exit_code == 1


def test_cases_make(tmp_path):
    done = call("cases", "make", "phantoms", "--count", "2", "--out", tmp_path / "p", "--json")
    assert done.exit_code == 0 and json.loads(done.stdout)["count"] == 2
    again = call("cases", "make", "phantoms", "--count", "3", "--out", tmp_path / "p")
    assert again.exit_code == 2 and "another call (count differ)" in again.stderr


def _leaves(command, words=()):
    inner = getattr(command, "commands", None)
    if inner is None:
        return [words]
    return [leaf for name, one in inner.items() for leaf in _leaves(one, (*words, name))]


COMMANDS = _leaves(typer.main.get_command(app))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_of_every_command_has_an_example_of_it(words):
    done = call(*words, "--help")
    examples = done.stdout.partition("Example")[2]
    assert done.exit_code == 0 and f"medebench {' '.join(words)}" in examples


def test_every_command_stands_under_a_heading_and_is_told_in_full():
    told = call("--help").stdout
    assert {words[0] for words in COMMANDS} == {name for some in HEADED.values() for name in some}
    for heading, some in HEADED.items():
        below = told.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]
        assert all(f"\n  {name} " in f"\n{below}" for name in some), heading
    assert "..." not in told.partition("Options:")[2]


def test_debug_shows_the_traceback(tmp_path):
    command = [sys.executable, "-m", "medebench", "--debug", "cases", "show", tmp_path / "none"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "Traceback" in done.stderr and "no such folder" in done.stderr


def test_a_closed_pipe_is_no_error(small_set):
    command = f"{sys.executable} -m medebench cases show '{small_set}' | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout.startswith("name:") and done.stderr == ""
