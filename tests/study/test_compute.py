"""Rankings beside the scores of real runs: what is compared, what is left out and said."""

from __future__ import annotations

import math
import shutil
import sqlite3
from pathlib import Path

import cv2
import numpy as np
import pytest

import medebench as mb
from medebench.errors import InputError
from medebench.study import export_rankings, read_study
from medebench.study.rankings import About, Given, Rankings
from medebench.study.rankings_source import StudyRankings, from_table
from medebench.study.rankings_table import rankings_csv
from medebench.study.results.compute import study_results
from medebench.study.results.ledger_scores import read_scores
from medebench.study.results.results_model import StudyResults
from medebench.study.server.answer_store import open_store
from medebench.study.server.stored_answers import Save
from medebench.study.study_setup import new_study
from tests.reporting.conftest import make_runs, make_set

MODELS = ("best", "good", "poor")
CONTROLS = ("identity", "reference")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[mb.Run]:
    folder = tmp_path_factory.mktemp("compute")
    cases = mb.load_cases(make_set(folder / "set", count=12))
    return make_runs(cases, folder, models=MODELS, controls=CONTROLS)


def _rankings(
    models: tuple[str, ...] = (*MODELS, *CONTROLS), people: tuple[str, ...] = ("a", "b")
) -> Rankings:
    """Everybody ranks as the models are called."""
    cases = {f"c{i}": About("Teeth", f"s{i}") for i in range(12)}
    ranks = {name: float(place) for place, name in enumerate(models, start=1)}
    given = {Given(who, case, "vq"): ranks for who in people for case in cases}
    return Rankings(people, models, ("vq",), cases, given)


def _results(rankings: Rankings, runs: list[mb.Run], **options: object) -> StudyResults:
    told = StudyRankings("t", "table", rankings, {})
    return study_results(told, runs, resamples=100, **options)  # type: ignore[arg-type]


def test_controls_take_no_part_where_three_models_remain(runs):
    results = _results(_rankings(), runs)
    assert results.compared == MODELS and results.controls == set(CONTROLS)
    assert results.models == (*MODELS, *CONTROLS)
    rows = {one.metric: one for one in results.dimensions[0].worths.metrics}
    # more and more blurred, and ranked so
    assert rows["ssim"].rho.value == rows["psnr"].rho.value == 1.0
    assert rows["ssim"].rho.n == 12


def test_with_few_models_controls_are_compared_too(runs):
    results = _results(_rankings(("best", "identity", "reference")), runs)
    assert results.compared == ("best", "identity", "reference")


def test_a_model_without_a_run_is_left_out_and_named(runs):
    results = _results(_rankings(), runs[1:])
    assert results.compared == ("good", "poor", *CONTROLS)
    assert "No scores of best: no run of this name was given." in results.notes


def test_a_run_that_nobody_ranked_is_named(runs):
    results = _results(_rankings(MODELS), runs)
    assert "Nobody ranked identity, reference: not used." in results.notes


def test_a_model_that_is_called_almost_like_a_run_is_a_slip(runs):
    for wrong in ("Best", "beest"):
        with pytest.raises(InputError, match=f"model '{wrong}' .* if 'best' is meant"):
            _results(_rankings((wrong, "good", "poor")), runs)
    whole = _rankings(MODELS)
    given = dict(whole.given)
    given[Given("a", "c0", "vq")] = {"beest": 1.0, "good": 2.0, "poor": 3.0}
    models = ("best", "beest", "good", "poor")
    slip = Rankings(whole.annotators, models, ("vq",), whole.cases, given)
    with pytest.raises(InputError, match="model 'beest'"):
        _results(slip, runs)
    # ranked side by side, they are two
    assert "beest" not in _results(_rankings(models), runs).compared
    with pytest.raises(InputError, match="none of the runs"):
        _results(_rankings(("x", "y", "z")), runs)


def test_names_of_people_can_be_kept_out(runs):
    results = _results(_rankings(people=("Dr. Wu", "Ana")), runs, anonymous=True)
    assert list(results.dimensions[0].agreement.pairs) == [("annotator 1", "annotator 2")]
    assert "Wu" not in repr(results) and "Ana" not in repr(results)


def test_an_infinite_score_is_the_first_place(runs):
    scores = read_scores(runs, _rankings(), {}, 0)
    assert scores.values["psnr"]["c1", "reference"] == math.inf
    assert math.isfinite(scores.values["psnr"]["c1", "best"])
    ranked = _rankings().ranked("vq")
    assert np.isposinf(scores.arrays(ranked)["psnr"][:, ranked.models.index("reference")]).all()
    # lower is better there, so it is turned round
    outside = scores.arrays(ranked)["change_outside"]
    assert (outside <= 0).all()
    assert set(scores.left_out) == {"change_inside", "edit_completion"}


def test_a_replaced_output_has_no_score_that_counts(runs):
    shown = {"good": {"c0": "0" * 64}}
    scores = read_scores(runs, _rankings(), shown, 0)
    assert ("c0", "good") not in scores.values["ssim"] and ("c1", "good") in scores.values["ssim"]
    assert any("1 output is no longer the one that people saw" in note for note in scores.notes)


def test_other_cases_under_the_same_id_are_named(runs, tmp_path):
    texts = [f"Another text {i}." for i in range(12)]
    other = mb.load_cases(make_set(tmp_path / "set", count=12, texts=texts))
    [late] = make_runs(other, tmp_path, models=["late"], controls=[])
    results = _results(_rankings((*MODELS, "late")), [*runs[:3], late])
    assert any("12 ranked cases are not the same in all runs" in note for note in results.notes)
    # without a score for one of the models, metrics say nothing rather than something else
    assert all(one.rho.value is None for one in results.dimensions[0].worths.metrics)


def test_gaps_are_told(runs):
    whole = _rankings(MODELS)
    given = dict(whole.given)
    given[Given("a", "c0", "vq")] = {"best": 1.0, "good": 2.0}
    del given[Given("a", "c1", "vq")], given[Given("b", "c1", "vq")]
    given[Given("a", "c1", "vq", 2)] = {"best": 1.0, "good": 2.0, "poor": 3.0}
    given[Given("a", "c2", "vq")] = given[Given("b", "c2", "vq")] = {"best": 1.0}
    results = _results(Rankings(*[whole.annotators, whole.models, ("vq",), whole.cases, given]), [])
    assert "3 of 23 rankings leave out a model." in results.notes
    assert "1 case has a second ranking, but no first: not used." in results.notes
    assert results.cases == 10


def test_sources_come_from_the_table_else_from_the_runs_else_are_not_known(runs, tmp_path):
    path = tmp_path / "r.csv"
    lines = rankings_csv(_rankings(MODELS)).splitlines()
    path.write_text("\n".join(lines))
    assert from_table(path).rankings.sources_known
    bare = [",".join(line.split(",")[:5]) for line in lines]
    path.write_text("\n".join(bare))
    told = from_table(path)
    assert not told.rankings.sources_known
    assert not study_results(told, resamples=10).sources_known
    assert study_results(told, runs, resamples=10).sources_known


def _answer_all(path: Path, database: str | None = None) -> None:
    study = mb.open_study(path)
    with open_store(study, database) as store:
        for one in study.design.annotators:
            for place, task in enumerate(one.tasks):
                order = [[letter] for letter in "ABCDE"[: len(task.order)]]
                ranks = dict.fromkeys(study.design.dimensions, order)
                key = f"{one.name}-{place:06}"
                store.save(Save(one.name, place, 0, key, "done", ranks, "", 20.0, None))


@pytest.fixture(scope="module")
def study(runs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("answered") / "study"
    new_study(runs, path, per_organ=3)
    _answer_all(path)
    return path


def test_a_study_and_its_table_say_the_same(study, runs, tmp_path):
    told, found = read_study(study)
    assert [run.name for run in found] == [run.name for run in runs]
    rows = export_rankings(mb.open_study(study), tmp_path / "r.csv")
    assert rows == len((tmp_path / "r.csv").read_text().splitlines()) - 1
    table, given = read_study(tmp_path / "r.csv", [run.path for run in runs])
    from_study, from_csv = (
        study_results(*one, resamples=50) for one in ((told, found), (table, given))
    )
    assert from_csv.controls == from_study.controls == set(CONTROLS)
    for one, other in zip(from_study.dimensions, from_csv.dimensions, strict=True):
        assert one.agreement.spearman == other.agreement.spearman
        assert {s.model: s.mean_rank for s in one.ordering.standings} == {
            s.model: s.mean_rank for s in other.ordering.standings
        }
        assert {m.metric: m.rho for m in one.worths.metrics} == {
            m.metric: m.rho for m in other.worths.metrics
        }
    assert [one.seconds for one in from_study.annotators] == [20.0, 20.0]
    assert [one.seconds for one in from_csv.annotators] == [None, None]


def test_who_is_left_out_by_wish(study):
    told, _ = read_study(study)
    results = study_results(told, without=["annotator-1"], resamples=10)
    assert [one.name for one in results.annotators] == ["annotator-2"]
    assert "Left out on request: annotator-1." in results.notes
    with pytest.raises(InputError, match="--without nobody: no annotator of this name"):
        study_results(told, without=["nobody"])


def test_runs_that_have_gone_are_named_and_found_again(study, runs, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(study, moved)
    text = (moved / "study.json").read_text()
    place = str(runs[0].path)
    (moved / "study.json").write_text(text.replace(place, place + "-gone"))
    with sqlite3.connect(moved / "answers.sqlite") as db:
        fingerprint = mb.open_study(moved).fingerprint
        db.execute("UPDATE medebench_study SET fingerprint = ?", (fingerprint,))
    db.close()
    told, found = read_study(moved)
    assert [run.name for run in found] == [run.name for run in runs[1:]]
    assert "best: its run has moved or gone; name its folder with --runs." in told.notes
    assert len(read_study(moved, [run.path for run in runs])[1]) == len(runs)


def test_wrong_calls_are_one_line(study, runs, tmp_path):
    with pytest.raises(InputError, match="-k 1: a study knows which output was shown"):
        read_study(study, k=1)
    bare = tmp_path / "bare"
    new_study(runs, bare, per_organ=1)
    with pytest.raises(InputError, match=r"nobody has answered yet .* --database"):
        read_study(bare)
    assert not (bare / "answers.sqlite").exists()
    with open_store(mb.open_study(bare)):
        pass
    told, found = read_study(bare)
    with pytest.raises(InputError, match="no case has been ranked completely yet"):
        study_results(told, found)
    with pytest.raises(InputError, match="no case has been ranked completely yet"):
        export_rankings(mb.open_study(bare), tmp_path / "x.csv")
    with pytest.raises(InputError, match="exists and is not a CSV file"):
        export_rankings(mb.open_study(study), bare)
    with pytest.raises(InputError, match="not a study"):
        read_study(tmp_path)


def test_outputs_that_nobody_scored_are_a_note(study, runs, tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for case in runs[0].cases:
        picture = np.asarray(mb.open_case(case).reference)
        cv2.imwrite(str(folder / f"{case.id}_0.png"), picture[..., ::-1])
    unscored = mb.adopt(folder, runs[0].cases, tmp_path / "unscored")
    path = tmp_path / "study"
    new_study([runs[0], unscored], path, per_organ=1)
    _answer_all(path)
    told, found = read_study(path)
    assert [run.name for run in found] == ["best"]
    assert "unscored: has no scores; run `medebench score`." in told.notes


def test_scores_of_a_case_that_changed_are_left_out_and_named(tmp_path):
    cases = mb.load_cases(make_set(tmp_path / "set", count=12))
    runs = make_runs(cases, tmp_path, models=MODELS, controls=[])
    reference = cases["c3"].reference
    assert reference is not None
    cv2.imwrite(str(reference), 255 - cv2.imread(str(reference)))
    cv2.imwrite(str(runs[0].output_path("c4", 0)), np.zeros((48, 64, 3), np.uint8))
    scores = read_scores(runs, _rankings(MODELS), {}, 0)
    assert not [key for key in scores.values["ssim"] if key[0] == "c3" or key == ("c4", "best")]
    assert ("c4", "good") in scores.values["ssim"]
    assert any("of 2 cases are out of date and left out" in note for note in scores.notes)
