"""From edits and answers to the outcome of a stress test: tables, thresholds, verdict, text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from medebench.stresstest.predictor_comparison import Answers, compare, paired_difference
from medebench.stresstest.sample import StressSet
from medebench.stresstest.score_thresholds import at_thresholds
from medebench.stresstest.stress_outcome import EditOutcome, StressOutcome
from medebench.stresstest.stress_verdict import verdicts
from medebench.stresstest.verdict_text import words


def analyze(
    name: str,
    stress: StressSet,
    edits: Sequence[EditOutcome],
    answers: Sequence[Answers],
    *,
    threshold: float,
    encoder: str,
    seed: int = 0,
) -> StressOutcome:
    """Everything that follows from the edits, kept or not, and from the predictors' answers.

    `answers` should include discarded edits: without them, nothing can be said about lower
    thresholds. `encoder` is empty if edits are not scored.
    """
    outcome = StressOutcome(
        name,
        stress.task,
        stress.samples,
        tuple(edits),
        tuple(compare(stress, edits, one, seed=seed) for one in answers),
        threshold,
        encoder,
        tuple(at_thresholds(stress, edits, answers, threshold, seed=seed)) if encoder else (),
    )
    differences = {
        (one.name, other.name): paired_difference(stress, edits, one, other)
        for one in answers
        for other in answers
        if other.reference and not one.reference
    }
    return replace(
        outcome,
        verdict={name: found.word for name, found in verdicts(outcome).items()},
        words=words(outcome, differences),
    )
