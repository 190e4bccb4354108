from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from medebench.errors import InputError
from medebench.stresstest.separation import separated_at, separation


def _scores(good=60, failed=40, apart=2.0):
    rng = np.random.default_rng(0)
    scores = np.tanh(np.r_[rng.normal(apart, 1, good), rng.normal(0, 1, failed)] / 4)
    return scores.tolist(), [True] * good + [False] * failed


def test_separation_is_the_rank_sum_within_its_interval():
    scores, good = _scores()
    found = separation(scores, good)
    u = mannwhitneyu(scores[:60], scores[60:]).statistic / (60 * 40)
    assert found.value == pytest.approx(u)
    assert found.interval.low < found.value < found.interval.high < 1
    assert found.n == 100


def test_edits_of_one_patient_are_weaker_evidence():
    scores, good = _scores()
    patients = [f"{place // 10}" for place in range(100)]
    alone, together = separation(scores, good), separation(np.sort(scores).tolist(), good, patients)
    assert np.diff(together.interval)[0] > np.diff(alone.interval)[0]


def test_thresholds_are_counted():
    scores, good = _scores()
    values, true = np.array(scores), np.array(good)
    for one in separated_at(scores, good):
        kept = values >= one.threshold
        assert one.kept + one.thrown == 100
        assert one.good_kept.value == pytest.approx(kept[true].mean())
        assert one.failed_thrown.value == pytest.approx((~kept)[~true].mean())
        assert one.good_kept.interval.low <= one.good_kept.value <= one.good_kept.interval.high
        if kept.any():
            assert one.good_of_kept.value == pytest.approx(true[kept].mean())
    assert separated_at(scores, good, thresholds=[2])[0].good_of_kept.reason == "no edit is kept"


def test_where_there_is_nothing_to_separate():
    assert separation([0.1, 0.2], [True, True]).reason == "all edits are good"
    assert separation([0.1, 0.2], [False, False]).reason == "all edits failed"
    assert separation([], []).reason == "there is no edit"
    assert separated_at([0.1], [True], thresholds=[0])[0].failed_thrown.reason == "no edit failed"
    with pytest.raises(InputError, match="finite"):
        separation([0.1, float("nan")], [True, False])
    with pytest.raises(InputError, match="2 scores, 1 verdicts"):
        separation([0.1, 0.2], [True])
