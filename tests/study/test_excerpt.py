"""The real outputs of the paper's seven models against rankings: which metric stands in."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import rankdata, spearmanr
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.images.picture import Picture
from medebench.judge import Verdict
from medebench.study import read_study
from medebench.study.results.compute import study_results

PUBLISHED = {"ea": "gpt4o_editing_accuracy_detailed", "vq": "gpt4o_visual_quality_detailed"}
Rank = Callable[[str, str, str, str], float]


class Replay:
    """The judge of the paper, as far as it was published."""

    name = "published"
    summary = "for tests"
    stand_in = False
    scores = ("ea_published", "vq_published")

    def __init__(self, values: dict[str, dict[str, float]]) -> None:
        self.values = values

    def judge(self, case: mb.OpenCase, output: Picture) -> dict[str, Verdict]:
        mine = self.values[case.case.id]
        return {f"{name}_published": Verdict(mine[key] / 10) for name, key in PUBLISHED.items()}


@pytest.fixture(scope="module")
def published(excerpt: Path) -> dict[str, dict[str, dict[str, float]]]:
    return json.loads((excerpt / "published_scores.json").read_text())  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def runs(excerpt: Path, published, tmp_path_factory: pytest.TempPathFactory) -> list[mb.Run]:
    out = tmp_path_factory.mktemp("study-excerpt")
    found = []
    for folder in sorted((excerpt / "generated_images").iterdir()):
        run = mb.adopt(folder, excerpt, out / folder.name)
        mb.score(run, judge="offline")
        mb.score(run, metrics=["cp_published"], judge=Replay(published[folder.name]))
        found.append(run)
    return found


def _write(
    path: Path, runs: list[mb.Run], people: Iterable[str], dimensions: Iterable[str], rank: Rank
) -> Path:
    cases = sorted(runs[0].frame()["case"].unique())
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["annotator", "case", "dimension", "model", "rank"])
        for who in people:
            for case in cases:
                for dimension in dimensions:
                    for run in runs:
                        place = rank(who, case, dimension, run.name)
                        writer.writerow([who, case, dimension, run.name, place])
    return path


def test_people_who_rank_like_the_published_judge_are_followed_by_it_best(
    runs, published, tmp_path
):
    def rank(_who: str, case: str, dimension: str, model: str) -> float:
        return 11 - published[model][case][PUBLISHED[dimension]]

    table = _write(tmp_path / "judge.csv", runs, ["one", "two"], PUBLISHED, rank)
    told, found = read_study(table, [run.path for run in runs])
    results = study_results(told, found, resamples=200)
    for one in results.dimensions:
        assert one.worths is not None
        best, second = one.worths.metrics[:2]
        assert best.metric == f"{one.key}_published"
        assert best.rho.value == pytest.approx(1.0)
        assert second.rho.value is not None and second.rho.value < 0.9
        assert one.agreement.spearman.value == pytest.approx(1.0)
        assert any(f"{one.key}_published" in sentence for sentence in one.answer)


def test_made_up_rankings_give_the_table_of_every_metric(runs, tmp_path):
    rng = np.random.default_rng(7)
    drawn: dict[tuple[str, ...], float] = {}

    def rank(*key: str) -> float:
        return drawn.setdefault(key, float(rng.integers(1, 6)))

    table = _write(tmp_path / "made-up.csv", runs, ["one", "two"], ["ea", "cp", "vq"], rank)
    out = tmp_path / "results"
    names = [str(run.path) for run in runs]
    words = ["study", "results", str(table), "--runs", *names, "--out", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    rows = pl.read_csv(out / "metrics.csv")
    scores = pl.concat([run.frame() for run in runs])
    directed = {"cp", "cp_published", "ssim", "psnr", "intended_offline", "vq_offline"}
    directed |= {"ea_published", "vq_published", "change_outside"}
    assert directed <= set(rows["metric"])
    for dimension in ("ea", "cp", "vq"):
        for metric, sign in (("psnr", 1), ("change_outside", -1), ("vq_published", 1)):
            row = rows.filter(pl.col("metric") == metric, pl.col("dimension") == dimension)
            expected, n = _by_hand(scores, drawn, metric, sign, dimension)
            assert row["rho"].item() == pytest.approx(expected, abs=1e-12)
            assert row["rho_n"].item() == n
            assert row["rho_low"].item() < expected < row["rho_high"].item()
    for name in ("results.md", "results.tex", "standings.csv", "agreement.csv"):
        assert (out / name).stat().st_size > 100


def _by_hand(
    scores: pl.DataFrame, drawn: dict[tuple[str, ...], float], metric: str, sign: int, name: str
) -> tuple[float, int]:
    """Mean over the cases of SciPy's coefficient between a metric and the mean rank of two."""
    found = []
    own = scores.filter(pl.col("metric") == metric)
    for case in sorted(own["case"].unique()):
        rows = own.filter(pl.col("case") == case).drop_nulls("value").sort("run")
        models = rows["run"].to_list()
        people = [rankdata([drawn[who, case, name, m] for m in models]) for who in ("one", "two")]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rho = spearmanr(-np.mean(people, axis=0), sign * rows["value"].to_numpy()).statistic
        if len(models) >= 3 and np.isfinite(rho):
            found.append(float(rho))
    return float(np.mean(found)), len(found)
