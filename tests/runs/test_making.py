"""What an editor may do beside making a picture: not try, keep attempts, work in many threads."""

from __future__ import annotations

import json
import threading

import numpy as np
import polars as pl
import pytest
from PIL import Image
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.runs.generate_run import NotAllTriedError
from medebench.systems import NotTried, find_system
from tests.patience import PATIENCE

EDITOR = """
import medebench as mb
class Own:
    summary = ''
    Settings = mb.Settings
    sees = ()
    control = False
    def __init__(self, settings):
        pass
    def edit(self, request):
        return request.case.previous
"""


@pytest.fixture
def own(tmp_path):
    """An editor of the test's own, as `find_system` gives it."""
    path = tmp_path / "own.py"
    path.write_text(EDITOR)
    return find_system(f"{path}:Own")


def test_what_was_not_tried_is_not_in_the_ledger_and_is_tried_again(small_set, tmp_path, own):
    tried: list[str] = []

    def edit(request):
        tried.append(request.case.case.id)
        if len(tried) in (2, 3):
            raise NotTried("no money left")
        return request.case.previous

    own.system.edit = edit
    own.system.at_once = 1
    with pytest.raises(NotAllTriedError, match="2 outputs were not tried: no money left; run aga"):
        mb.edit(small_set, own, tmp_path / "run")
    run = mb.open_run(tmp_path / "run")
    with run.ledger() as ledger:
        assert len(ledger.outputs()) == 2 and len(ledger.cases()) == 4
    mb.score(run, ["cp"])
    assert run.frame()["reason"].to_list().count("not made yet") == 2
    mb.edit(small_set, own, tmp_path / "run")
    assert sorted(tried) == sorted([*"1234", *tried[1:3]])


def test_the_reason_keeps_what_the_editor_says_beside_it(small_set, tmp_path, own):
    def edit(request):
        raise mb.Refused("the model said no", {"said": "I would rather not", "cost": 0.01})

    own.system.edit = edit
    run = mb.edit(small_set, own, tmp_path / "run")
    with run.ledger() as ledger:
        rows = list(ledger.outputs().values())
    assert {row.reason for row in rows} == {"the model said no"}
    assert all(row.detail == {"said": "I would rather not", "cost": 0.01} for row in rows)


def test_attempts_are_kept_beside_the_output(small_set, tmp_path, own):
    def edit(request):
        made = [request.case.previous // n for n in (1, 2, 3)]
        told = [{"instruction": f"try {n}"} for n in range(3)]
        return mb.Edit(made[1], {"attempts": told, "chosen": 1}, attempts=tuple(made))

    own.system.edit = edit
    run = mb.edit(small_set, own, tmp_path / "run", outputs=2)
    assert len(list((run.path / "attempts").iterdir())) == 4 * 2 * 3
    first = [np.asarray(Image.open(run.attempt_path("1", 1, n))) for n in range(3)]
    assert (first[1] == np.asarray(Image.open(run.output_path("1", 1)))).all()
    assert (first[2] == first[0] // 3).all()


def test_as_many_at_once_as_the_editor_wants(make_set, tmp_path, own):
    meet = threading.Barrier(6, timeout=PATIENCE)

    def edit(request):
        meet.wait()
        return request.case.previous

    own.system.edit = edit
    own.system.at_once = 6
    run = mb.edit(make_set(12), own, tmp_path / "run", workers=1)
    with run.ledger() as ledger:
        assert all(row.reason is None for row in ledger.outputs().values())


@pytest.mark.parametrize("trouble", [None, KeyboardInterrupt])
def test_an_editor_is_let_go_at_the_end(small_set, tmp_path, own, trouble):
    closed = []
    own.system.close = lambda: closed.append(1)

    def progress(done, total):
        if trouble and done == 2:
            raise trouble

    if trouble:
        with pytest.raises(trouble):
            mb.edit(small_set, own, tmp_path / "run", progress=progress)
    else:
        mb.edit(small_set, own, tmp_path / "run", progress=progress)
    assert closed == [1]


def test_a_dry_run_of_what_costs_nothing_is_refused(small_set, tmp_path):
    words = ["edit", str(small_set), "--editor", "blur", "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(app, [*words, "--dry-run"])
    assert result.exit_code == 2 and "editor 'blur' makes no calls that cost" in result.output
    assert not (tmp_path / "run").exists()


def test_a_sweep_is_one_run_with_a_setting_for_each_k(small_set, tmp_path):
    chosen = [find_system(f"blur:sigma={sigma}") for sigma in (1, 2, 4)]
    run = mb.edit(small_set, chosen, tmp_path / "run")
    stored = json.loads((run.path / "run.json").read_text())
    assert stored["sweep"] == [{"sigma": 1.0}, {"sigma": 2.0}, {"sigma": 4.0}]
    mb.score(run, ["change_outside"])
    values = run.frame().group_by("k").agg(mean=pl.col("value").mean()).sort("k")["mean"].to_list()
    assert values == sorted(values) and len(set(values)) == 3
    with pytest.raises(mb.InputError, match=r"sweep is .* there"):
        mb.edit(small_set, chosen[:2], tmp_path / "run")
