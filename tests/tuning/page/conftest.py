"""Experiments that pages are made of."""

from __future__ import annotations

import pytest

from medebench.tuning.learning_curve import answer
from medebench.tuning.tuning_answers import TuningAnswers
from medebench.tuning.tuning_outcome import TuningOutcome
from tests.tuning.synthetic_outcome import Curve, Made, made_up

Pair = tuple[TuningOutcome, TuningAnswers]
HOSTILE = '<img src=x onerror=alert(1)> & "Ear" $x_1$ 100% |'


@pytest.fixture(scope="session")
def usual() -> Pair:
    outcome = made_up()
    return outcome, answer(outcome)


@pytest.fixture(scope="session")
def phantom() -> Pair:
    """Scores that nobody published, of one task."""
    curves = {"Add a ring": {"done": Curve(0.1, 0.6, 0.5), "missed": Curve(0.9, -0.6, -0.5)}}
    noise = {"done": 0.1, "missed": 0.1}
    outcome = made_up(Made(2, 2, test=8, curves=curves, noise=noise, primary="done"))
    return outcome, answer(outcome)


@pytest.fixture(scope="session")
def hostile() -> Pair:
    curves = {HOSTILE: {"done": Curve(0.1, 0.6)}}
    outcome = made_up(Made(1, 1, test=6, curves=curves, noise={"done": 0.1}, primary="done"))
    return outcome, answer(outcome)
