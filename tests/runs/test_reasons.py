"""Every reason in a ledger has a code that says the right thing, whatever its words are."""

from __future__ import annotations

import pickle

import polars as pl
import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.judge import find_judge
from medebench.reason import KINDS, Reason, kind_of, reason_of, with_kind
from medebench.runs.ledger import CaseRow, Ledger, OutputRow
from tests.conftest import write_set
from tests.models.server import FakeServer, always
from tests.runs.test_learned import Distance, Grey

OWN = """
import numpy as np
import medebench as mb

class Moody:
    summary, sees, control, Settings = 'moody', (), False, mb.Settings

    def __init__(self, settings):
        pass

    def edit(self, request):
        name = request.case.case.id
        if name == '2':
            raise mb.Refused('not this one')
        if name == '3':
            raise ValueError('out of ideas')
        return mb.Output(request.case.previous, attention=None)

@mb.metric('breaks', 'raises')
def breaks(case, output):
    raise KeyError('x')

@mb.metric('wild', 'out of its range')
def wild(case, output):
    return 7.0

@mb.metric('shy', 'has no number')
def shy(case, output):
    raise mb.Undefined('nothing to say')

class Judge:
    name, summary, stand_in = 'own-1', 'own', True
    scores = ('ea_own', 'vq_own', 'context_own', 'intended_own')

    def judge(self, case, output):
        return {
            'ea_own': mb.Verdict(7.0),
            'vq_own': mb.Verdict(None, 'I cannot tell'),
            'intended_own': mb.Verdict(0.5),
        }

class Broken(Judge):
    name, scores = 'broken-1', ('ea_broken',)

    def judge(self, case, output):
        raise RuntimeError('no')
"""


@pytest.fixture(autouse=True)
def _own_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-0123456789")


@pytest.fixture(autouse=True)
def _written_with_kinds(monkeypatch):
    """Nothing of ours leaves its code to chance: the words alone tell it for older ledgers."""
    write = Ledger._write

    def checked(self, rows):
        rows = list(rows)
        for row in rows:
            assert isinstance(row, CaseRow) or row.reason is None or type(row.reason) is Reason, row
        write(self, rows)

    monkeypatch.setattr(Ledger, "_write", checked)


def kinds(run, **which):
    rows = run.frame().filter(**which).iter_rows(named=True)
    return {(row["case"], row["metric"]): row["kind"] for row in rows}


def test_a_varied_day(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    own, folder = f"{tmp_path / 'own.py'}:", write_set(tmp_path / "set", 8)
    images = folder / "editing"
    (images / "previous" / "4.png").write_bytes(b"broken")
    (images / "changed" / "5.png").write_bytes(b"broken")
    run = mb.edit(folder, f"{own}Moody", tmp_path / "run")
    with run.ledger() as ledger:
        made = {case: row.reason.kind for (case, _), row in ledger.outputs().items() if row.reason}
    assert made == {"2": "refused", "3": "error", "4": "unreadable"}

    run.output_path("6", 0).unlink()
    run.output_path("7", 0).write_bytes(b"no image")
    names = ["ssim", "psnr", f"{own}breaks", f"{own}wild", f"{own}shy", Distance(Grey(), 99)]
    mb.score(run, names, f"{own}Judge")
    mb.score(run, [], f"{own}Broken")
    lost = {"2": "no-output", "3": "no-output", "4": "no-output"}
    lost |= {"6": "missing-file", "7": "unreadable"}
    common = {
        "breaks": "error",
        "wild": "impossible",
        "shy": "undefined",
        "ea_own": "impossible",
        "vq_own": "undefined",
        "context_own": "error",
        "intended_own": None,
        "ea_broken": "error",
    }
    for case in "158":
        expected = common | {"ssim": "unreadable" if case == "5" else None}
        for metric, kind in expected.items():
            assert kinds(run, case=case, metric=metric) == {(case, metric): kind}
    for case, kind in lost.items():
        assert set(kinds(run, case=case).values()) == {kind}
    assert {row.reason.kind for row in run.set_scores()} == {"undefined"}

    mb.ground(run)
    assert set(kinds(run, case="5", metric="edit_completion").values()) == {"unreadable"}
    assert kinds(run, case="2", metric="success") == {("2", "success"): "no-output"}
    # The case of an output is another one now.
    (images / "previous" / "8.png").write_bytes((images / "previous" / "1.png").read_bytes())
    assert set(kinds(run, case="8").values()) == {"stale"}
    mb.score(run, names[:2])
    assert set(kinds(run, case="8", metric="ssim").values()) == {"case-changed"}

    out = tmp_path / "scores.csv"
    CliRunner().invoke(app, ["export", str(run.path), "--out", str(out)])
    written = pl.read_csv(out).filter(pl.col("reason").is_not_null())
    assert written["kind"].null_count() == 0 and set(written["kind"]) <= set(KINDS)


@pytest.mark.parametrize(
    ("behaviour", "answer", "kind"),
    [("refusal", "", "refused"), ("ok", "lovely", "unanswered"), ("400", "", "unanswered")],
)
def test_a_model_that_gives_no_score(behaviour, answer, kind, small_set, tmp_path):
    run = mb.edit(small_set, "noise", tmp_path / "run")
    with FakeServer(plan=always(behaviour), answer=lambda call: answer) as server:
        judge = find_judge("openai:test", {"base_url": server.base_url("openai")})
        mb.score(run, [], judge)
    assert set(run.frame()["kind"]) == {kind}


def test_a_rubric_that_needs_what_a_case_lacks(tmp_path):
    run = mb.edit(write_set(tmp_path / "set", detailed_prompt=""), "noise", tmp_path / "run")
    with FakeServer() as server:
        judge = find_judge("openai:test", {"base_url": server.base_url("openai")})
        mb.score(run, [], judge)
    assert set(run.frame()["kind"]) == {"undefined"} and server.calls == []


def test_adopted_files_and_attention(small_set, tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "1_0.png").write_bytes(b"broken")
    (tmp_path / "theirs" / "2_0.png").write_bytes(
        (small_set / "editing" / "changed" / "2.png").read_bytes()
    )
    run = mb.adopt(tmp_path / "theirs", small_set, tmp_path / "run")
    with run.ledger() as ledger:
        rows = ledger.outputs()
        assert rows["1", 0].reason.kind == "unreadable"
        # As if its editor had shown where it looked, and the map were gone.
        ledger.write(OutputRow("2", 0, rows["2", 0].sha256, detail={"attention": {}}))
    mb.ground(run)
    assert kinds(run, case="2", metric="attention_iou") == {("2", "attention_iou"): "missing-file"}
    assert kinds(run, case="1", metric="attention_iou") == {("1", "attention_iou"): "no-output"}


#: Words of ledgers that had no codes, as earlier versions wrote them.
EARLIER = {
    "no output: RuntimeError: out of memory": "no-output",
    "the output file is missing": "missing-file",
    "unreadable output: not an image": "unreadable",
    "the case has changed since the edit (instruction); edit it again": "case-changed",
    "failed: the metric returned nan, outside 0 to 1": "impossible",
    "failed: the judge returned 7, outside 0 to 1": "impossible",
    "failed: the metric raised ValueError: x": "error",
    "failed: the judge raised KeyError: x": "error",
    "the judge gave no such score": "error",
    "the judge refused to answer": "refused",
    "the judge could not be asked: HTTP 500": "unanswered",
    "the judge's answer could not be read in 3 tries: nothing": "unanswered",
    "could not be written (No space left on device)": "disk",
    "its row in the ledger was damaged; score again": "damaged",
    "the output changed after it was scored; score again": "stale",
    "not made yet": "not-made",
    "no attention was recorded for this output": "no-part",
    "the attention map is missing; edit the case again": "missing-file",
    "the case has no ROI": "undefined",
}


@pytest.mark.parametrize("words", EARLIER)
def test_words_of_earlier_versions_are_known(words):
    assert kind_of(words) == EARLIER[words] == with_kind(words).kind


def test_an_error_keeps_the_code_it_was_raised_with():
    kept = Reason("no-part", "no text")
    assert reason_of(mb.Undefined(kept)).kind == "no-part"
    assert reason_of(mb.Undefined("failed: the metric raised X")).kind == "error"
    assert reason_of(mb.InputError("case 1: has no image")).kind == "undefined"
    assert pickle.loads(pickle.dumps(kept)).kind == "no-part"
