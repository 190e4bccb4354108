"""A run on disk: what is done is done once, what failed is a reason, what is replaced is seen."""

from __future__ import annotations

import errno
import json
import sqlite3

import numpy as np
import polars as pl
import pytest
from PIL import Image

import medebench as mb
from medebench.errors import BusyError, InputError, MedebenchError
from medebench.outputs import output_files
from medebench.runs import COLUMNS
from medebench.runs.export_table import export_runs
from medebench.runs.stages import pixel_scores
from medebench.systems import controls


@pytest.fixture
def run(small_set, tmp_path):
    return mb.edit(small_set, "noise", out=tmp_path / "run", outputs=2)


def _values(run):
    return {(r["case"], r["k"], r["metric"]): r["value"] for r in run.frame().iter_rows(named=True)}


def test_layout_and_info(run):
    assert sorted(p.name for p in run.edits.iterdir()) == [
        f"{case}_{k}.png" for case in (1, 2, 3, 4) for k in (0, 1)
    ]
    info = json.loads((run.path / "run.json").read_text())
    assert info["editor"] == "noise" and info["settings"] == {"sigma": 0.15}
    assert info["cases"]["count"] == 4 and info["cases"]["fingerprint"] == run.cases.fingerprint
    assert info["versions"]["medebench"] == mb.__version__


def test_outputs_of_a_case_differ_by_k_and_not_by_order(run, small_set, tmp_path):
    assert (run.edits / "1_0.png").read_bytes() != (run.edits / "1_1.png").read_bytes()
    backwards = mb.load_cases(small_set).select(ids=["4", "3", "2", "1"])
    other = mb.edit(backwards, "noise", out=tmp_path / "other", workers=1)
    for case in "1234":
        name = f"{case}_0.png"
        assert (other.edits / name).read_bytes() == (run.edits / name).read_bytes()


def test_running_again_repeats_nothing(run, small_set, monkeypatch):
    def forbidden(*_):
        raise AssertionError("edited again")

    times = {path: path.stat().st_mtime_ns for path in run.edits.iterdir()}
    monkeypatch.setattr(controls.Noise, "edit", forbidden)
    mb.edit(small_set, "noise", out=run.path, outputs=2)
    assert {path: path.stat().st_mtime_ns for path in run.edits.iterdir()} == times
    with run.ledger() as ledger:
        assert {row.reason for row in ledger.outputs().values()} == {None}


def test_only_what_is_missing_is_done_again(run, small_set):
    times = {p.name: p.stat().st_mtime_ns for p in run.edits.iterdir()}
    (run.edits / "3_1.png").unlink()
    mb.edit(small_set, "noise", out=run.path, outputs=2)
    again = {p.name for p in run.edits.iterdir() if p.stat().st_mtime_ns != times[p.name]}
    assert again == {"3_1.png"}


def test_more_outputs_can_be_added(run, small_set):
    mb.edit(small_set, "noise", out=run.path, outputs=3)
    assert len(list(run.edits.iterdir())) == 12


@pytest.mark.parametrize(
    ("editor", "options", "word"),
    [("blur", {}, "editor"), ("noise:sigma=0.2", {}, "settings"), ("noise", {"seed": 1}, "seed")],
)
def test_another_run_in_the_same_folder_is_refused(run, small_set, editor, options, word):
    with pytest.raises(InputError, match=f"holds another run \\({word}"):
        mb.edit(small_set, editor, out=run.path, **options)


def test_changed_cases_are_refused(run, small_set):
    Image.new("RGB", (64, 48)).save(small_set / "editing/previous/1.png")
    with pytest.raises(InputError, match="have changed"):
        mb.edit(small_set, "noise", out=run.path, outputs=2)


def test_a_foreign_folder_is_refused(small_set, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="not empty and not a run"):
        mb.edit(small_set, "identity", out=tmp_path / "mine")
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_a_second_process_is_refused(run, small_set):
    with run.locked(), pytest.raises(BusyError, match="another medebench"):
        mb.score(run)


def test_scores_are_the_metrics(run):
    mb.score(run, ["cp", "change_outside"])
    case = mb.open_case(run.cases["2"])
    output = np.asarray(Image.open(run.output_path("2", 1)))
    from medebench.metrics.context import cp

    assert _values(run)["2", 1, "cp"] == cp(case.previous, output, case.roi)
    assert run.frame().height == 4 * 2 * 2


def test_scoring_again_computes_nothing_and_new_metrics_are_added(run, monkeypatch):
    mb.score(run, ["cp"])
    calls = []
    measure = pixel_scores.measure
    monkeypatch.setattr(
        pixel_scores, "measure", lambda m, *rest: calls.append(m.name) or measure(m, *rest)
    )
    mb.score(run, ["cp"])
    assert calls == []
    mb.score(run, ["cp", "psnr"])
    assert set(calls) == {"psnr"} and len(calls) == 8


def test_a_replaced_picture_is_scored_again(run):
    mb.score(run, ["cp"])
    before = _values(run)
    Image.open(run.cases["1"].previous).save(run.output_path("1", 0))
    mb.score(run, ["cp"])
    after = _values(run)
    assert after["1", 0, "cp"] == 1.0 != before["1", 0, "cp"]
    assert after["1", 1, "cp"] == before["1", 1, "cp"]


def test_missing_and_damaged_outputs_are_reasons(run):
    run.output_path("1", 0).unlink()
    run.output_path("2", 0).write_bytes(run.output_path("2", 0).read_bytes()[:300])
    mb.score(run, ["cp"])
    reasons = {(r["case"], r["k"]): r["reason"] for r in run.frame().iter_rows(named=True)}
    assert reasons["1", 0] == "the output file is missing"
    assert reasons["2", 0].startswith("unreadable output: damaged or truncated")
    assert reasons["3", 0] is None


def test_a_case_that_changed_after_the_edit_is_a_reason(run, small_set):
    Image.new("RGB", (64, 48)).save(small_set / "editing/previous/1.png")
    mb.score(run, ["cp"])
    rows = run.frame().filter(pl.col("case") == "1")
    assert rows["reason"].unique().to_list() == [
        "the case has changed since the edit (previous image); edit it again"
    ]
    assert run.frame().filter(pl.col("case") == "2")["value"].null_count() == 0


def test_retry_failed_does_only_what_has_a_reason(run, small_set):
    damaged = run.output_path("2", 0)
    whole = damaged.read_bytes()
    damaged.write_bytes(b"")
    mb.score(run, ["cp"])
    damaged.write_bytes(whole)
    mb.score(run, ["cp"], retry_failed=True)
    assert run.frame()["value"].null_count() == 0


def test_unreadable_input_is_a_reason_for_that_case_only(small_set, tmp_path):
    path = small_set / "editing/previous/3.png"
    path.write_bytes(path.read_bytes()[:200])
    run = mb.edit(small_set, "identity", out=tmp_path / "run")
    mb.score(run)
    with run.ledger() as ledger:
        outputs = ledger.outputs()
    assert "3.png: damaged or truncated" in outputs["3", 0].reason
    assert [k for k, row in outputs.items() if row.reason] == [("3", 0)]
    reasons = run.frame().filter(pl.col("case") == "3")["reason"].to_list()
    assert all(reason.startswith("no output: ") for reason in reasons)


def test_full_disk_is_a_reason_and_a_clear_word(small_set, tmp_path, monkeypatch):
    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(output_files, "write_bytes", full)
        with pytest.raises(MedebenchError, match=r"disk is full.*--retry-failed"):
            mb.edit(small_set, "identity", out=tmp_path / "run", workers=1)
    run = mb.open_run(tmp_path / "run")
    with run.ledger() as ledger:
        assert {row.reason for row in ledger.outputs().values()} == {"the disk is full"}
    mb.edit(small_set, "identity", out=run.path, retry_failed=True)
    with run.ledger() as ledger:
        assert [row.reason for row in ledger.outputs().values()] == [None] * 4


def test_adopted_outputs_of_all_names_and_sizes(small_set, tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    Image.new("RGB", (640, 480), (9, 9, 9)).save(folder / "1_0.png")
    Image.new("L", (64, 48), 9).save(folder / "1_1.png")
    Image.new("RGB", (64, 48), (9, 9, 9)).save(folder / "2.jpg", quality=100)
    Image.new("RGB", (64, 48)).save(folder / "99_0.png")
    (folder / "3_0.png").write_bytes(b"no image")
    run = mb.adopt(folder, small_set, tmp_path / "run", name="theirs-v2")
    assert (run.info.editor, run.info.cases.count, run.info.cases.of) == ("theirs-v2", 3, 4)
    mb.score(run, ["ssim"])
    values = _values(run)
    assert values["1", 0, "ssim"] == pytest.approx(values["1", 1, "ssim"], abs=1e-9)
    assert values["3", 0, "ssim"] is None
    # The same folder again continues, another one is refused.
    mb.adopt(folder, small_set, tmp_path / "run", name="theirs-v2")
    with pytest.raises(InputError, match="holds another run"):
        mb.adopt(folder, small_set, tmp_path / "run", name="other")


@pytest.mark.parametrize(
    ("names", "words"), [([], "no file is named"), (["1_0.png", "1.png"], "the same output")]
)
def test_folders_that_cannot_be_adopted(small_set, tmp_path, names, words):
    folder = tmp_path / "theirs"
    folder.mkdir()
    for name in names:
        Image.new("RGB", (8, 8)).save(folder / name)
    with pytest.raises(InputError, match=words):
        mb.adopt(folder, small_set, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_export_has_the_promised_columns(run, tmp_path):
    mb.score(run, ["cp"])
    readers = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}
    for form, read in readers.items():
        path = tmp_path / f"scores.{form}"
        assert export_runs([run], path, form) == 8
        table = read(path)
        assert tuple(table.columns) == COLUMNS
        assert table["value"].to_list() == run.frame()["value"].to_list()
    with pytest.raises(InputError, match="two runs are called"):
        export_runs([run, run], tmp_path / "x", "csv")


def test_damaged_runs_are_one_line(run, tmp_path):
    with pytest.raises(InputError, match=r"not a run"):
        mb.open_run(tmp_path / "nothing")
    (run.path / "ledger.sqlite").write_bytes(b"this is not a database" * 100)
    for leftover in run.path.glob("ledger.sqlite-*"):
        leftover.unlink()
    with pytest.raises(InputError, match="ledger"):
        run.frame()
    (run.path / "run.json").write_text("{}")
    with pytest.raises(InputError, match=r"run\.json: editor"):
        mb.open_run(run.path)


def test_a_ledger_of_the_future_is_refused(run):
    with sqlite3.connect(run.path / "ledger.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="version 99"):
        run.frame()


def test_old_scores_do_not_survive_a_replaced_picture(run):
    mb.score(run, ["cp", "ssim"])
    Image.open(run.cases["1"].previous).save(run.output_path("1", 0))
    mb.score(run, ["cp"])
    rows = {r["metric"]: r for r in run.frame().filter(case="1", k=0).iter_rows(named=True)}
    assert rows["cp"]["value"] == 1.0
    assert rows["ssim"]["value"] is None and "score again" in rows["ssim"]["reason"]
    mb.score(run, ["ssim"])
    assert run.frame()["value"].null_count() == 0


def test_adopting_a_file_that_became_unreadable_drops_the_old_output(small_set, tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    Image.new("RGB", (64, 48)).save(folder / "1_0.png")
    Image.new("RGB", (64, 48)).save(folder / "2_0.png")
    run = mb.adopt(folder, small_set, tmp_path / "run")
    mb.score(run, ["cp"])
    (folder / "1_0.png").write_bytes(b"broken")
    mb.adopt(folder, small_set, run.path)
    assert run.frame().filter(case="1")["value"].to_list() == [None]
    mb.score(run, ["cp"])
    (row,) = run.frame().filter(case="1").iter_rows(named=True)
    assert row["value"] is None and row["reason"].startswith("no output: ")


def test_outputs_that_were_asked_for_and_not_made_count_as_missing(run, small_set, monkeypatch):
    mb.score(run, ["cp"])

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mb.edit(small_set, "noise", out=run.path, outputs=3, workers=1, progress=stop)
    run = mb.open_run(run.path)
    missing = run.frame().filter(reason="not made yet")
    assert 0 < missing.height <= 3 and set(missing["k"]) == {2}


def test_a_metric_cannot_change_what_the_next_one_sees(run):
    @mb.metric("vandal", "paints everything black")
    def vandal(case, output):
        output[:] = 0
        return 0.0

    mb.score(run, [vandal, "ssim"])
    reasons = run.frame().filter(metric="vandal")["reason"].to_list()
    assert all("failed: the metric raised ValueError" in reason for reason in reasons)
    expected = run.frame().filter(metric="ssim")["value"].to_list()
    assert min(expected) > 0.01


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (mb.Verdict(-1.0), "returned -1, outside 0 to 1"),
        (mb.Verdict(85.0), "returned 85"),
        (mb.Verdict(float("nan")), "returned nan"),
        (mb.Verdict("high"), "raised ValueError"),
        (0.5, "raised AttributeError"),
        (None, "gave no such score"),
    ],
)
def test_what_a_judge_returns_is_checked(run, verdict, words):
    class Odd:
        name, summary, stand_in, scores = "odd-1", "", True, ("ea_odd", "vq_odd")

        def judge(self, case, output):
            return {"ea_odd": verdict, "vq_odd": mb.Verdict(0.5)}

    mb.score(run, [], Odd())
    assert all(words in reason for reason in run.frame().filter(metric="ea_odd")["reason"])


def test_another_version_of_a_judge_judges_again(run):
    class First:
        name, summary, stand_in, scores = "j-1", "", True, ("ea_j",)

        def judge(self, case, output):
            return {"ea_j": mb.Verdict(0.1 if self.name == "j-1" else 0.9)}

    class Second(First):
        name = "j-2"

    mb.score(run, [], First())
    mb.score(run, [], Second())
    assert set(run.frame()["value"]) == {0.9}


def test_another_editor_of_the_same_name_is_refused(small_set, tmp_path):
    code = "class My:\n    def __init__(self, s): pass\n"
    code += "    def edit(self, r): return r.case.previous\n"
    for name, extra in (("a", ""), ("b", "# another\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.py").write_text(code + extra)
    mb.edit(small_set, f"{tmp_path}/a/mine.py:My", out=tmp_path / "run")
    with pytest.raises(InputError, match="holds another run \\(origin"):
        mb.edit(small_set, f"{tmp_path}/b/mine.py:My", out=tmp_path / "run")


def test_reserved_names_are_refused(run, tmp_path):
    (tmp_path / "own.py").write_text(
        "import medebench as mb\n@mb.metric('cp', 'mine')\ndef cp(case, output): return 0.5\n"
    )
    with pytest.raises(InputError, match="built-in name"):
        mb.score(run, [f"{tmp_path / 'own.py'}:cp"])


def test_an_export_replaces_no_run_and_no_program(run, tmp_path):
    mb.score(run, ["cp"])
    (tmp_path / "thesis.tex").write_text("precious")
    for target, words in [
        (run.path / "ledger.sqlite", "inside a run"),
        (tmp_path, "is a folder"),
        (tmp_path / "thesis.tex", "is not a table"),
    ]:
        with pytest.raises(InputError, match=words):
            export_runs([run], target, "csv")
    assert run.frame().height == 8 and (tmp_path / "thesis.tex").read_text() == "precious"


def test_values_above_the_stated_bits_are_a_reason(tmp_path):
    deep = np.full((20, 20), 60000, np.uint16)
    (tmp_path / "set/previous").mkdir(parents=True)
    Image.fromarray(deep).save(tmp_path / "set/previous/1.png")
    (tmp_path / "set/cases.csv").write_text("id,prompt,bits\n1,Remove it now.,12\n")
    run = mb.edit(tmp_path / "set", "identity", tmp_path / "run")
    with run.ledger() as ledger:
        assert "above 12 bits" in ledger.outputs()["1", 0].reason
