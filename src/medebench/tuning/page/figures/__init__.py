"""The figures of an experiment; `draw_tuning` is all of them."""

from __future__ import annotations

from collections.abc import Iterable

from medebench.page.figure import Drawing, draw
from medebench.page.score_columns import Score
from medebench.tuning.page.figures import contrast_rows, curve_panels
from medebench.tuning.tuning_answers import TuningAnswers
from medebench.tuning.tuning_outcome import TuningOutcome


def draw_tuning(
    outcome: TuningOutcome, answers: TuningAnswers, scores: Iterable[Score]
) -> list[Drawing]:
    """Curves of each score, then the comparisons of the primary one."""
    shown = list(scores)
    sketches = [curve_panels.sketch(outcome, answers, score) for score in shown]
    first = [score for score in shown if score.name == answers.primary] or shown[:1]
    sketches += [contrast_rows.sketch(outcome, answers, score) for score in first]
    return draw(one for one in sketches if one is not None)
