"""What a model thinks aloud is no part of its answer: honest text metrics do not see it."""

from __future__ import annotations

import pytest

import medebench as mb
from medebench.metrics import METRICS, Metric, find_metric
from medebench.metrics.metric import part_of

CASE = mb.Case("1", None, "What do you see?", answer="There is a left pleural effusion.")
THOUGHT = "<think>Perhaps a right pneumothorax, no left pleural effusion.</think>\n"


def test_every_honest_metric_of_texts_is_named_here():
    given = {name: find_metric(name) for name in METRICS.builtin}
    seen = {name for name, one in given.items() if isinstance(one, Metric) and one.of == "text"}
    assert {one for one in seen if "_medgen" not in one} == {
        *(
            "answer_length",
            "answer_language",
            "answer_refused",
        )  # which leave thoughts out themselves
    }


@pytest.mark.parametrize("name", ["rouge_l", "bleu_sacre", "finding_f1", "exact_match", "token_f1"])
def test_thoughts_are_not_scored(name):
    case, metric = mb.open_case(CASE), find_metric(name)
    assert part_of(metric.of) == "text"
    plain = metric(case, mb.Output(text=CASE.answer))
    assert plain == pytest.approx(1) == metric(case, mb.Output(text=THOUGHT + CASE.answer))
    assert metric(case, CASE.answer) == plain
    assert metric(case, mb.Output(text=f"<think>{CASE.answer}")) == 0


def test_published_metrics_see_all_as_the_paper_did():
    case, metric = mb.open_case(CASE), find_metric("bleu_medgen")
    assert metric(case, mb.Output(text=THOUGHT + CASE.answer)) < metric(case, CASE.answer)
