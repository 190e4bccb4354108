"""BERTScore as a metric, raw and rescaled, on a tiny BERT of the real class."""

from __future__ import annotations

import math

import numpy as np
import pytest

import medebench as mb
from medebench.cases import Case
from medebench.encoders.token_encoder import TokenEncoder
from medebench.errors import NotReadyError
from medebench.metrics import Undefined, find_metric, metric_info
from medebench.metrics.metric import Subject
from medebench.metrics.text.token_similarity import match_tokens
from medebench.outputs import Output

REFERENCES = ["the scar of the skin", "remove the mole", "whiten the teeth", "a photograph"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    tiny = pytest.importorskip("tests.encoders.tiny_models", exc_type=ImportError)
    return tiny.tiny_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


def cases(references=REFERENCES):
    return [Case(str(n), None, "What is seen?", answer=one) for n, one in enumerate(references)]


def scores(metric, answers, references=REFERENCES):
    empty = np.zeros((0, 0, 3), np.uint8)
    prepared = [
        metric.prepare(Subject(mb.open_case(case), empty, whole=Output(text=answer)))
        for case, answer in zip(cases(references), answers, strict=True)
    ]
    return metric.measure(prepared)


def test_the_raw_score_is_that_of_the_last_layer(bert):
    metric = find_metric(f"bertscore:{bert}")
    assert metric.name == "bertscore_tiny-bert" and metric.of == "text"
    answers = ["the skin", "the mole", "teeth", "a photograph"]
    found = [one.value for one in scores(metric, answers)]
    read = TokenEncoder(str(bert), layer=3).read([*answers, *REFERENCES])
    expected = [match_tokens(read[n], read[n + 4]).f1 for n in range(4)]
    assert found == pytest.approx(expected, abs=1e-5)
    assert found[3] == pytest.approx(1, abs=1e-5)


def test_rescaled_is_0_for_unrelated_references_and_1_for_the_same(bert):
    metric = find_metric(f"bertscore_rescaled:{bert}").over(cases())
    perfect = scores(metric, REFERENCES)
    assert [one.value for one in perfect] == pytest.approx([1] * 4, abs=1e-5)
    detail = perfect[0].detail
    assert detail["baseline_pairs"] == 4 and 0 < detail["baseline"] < 1
    # The baseline by hand: every reference beside one other, whichever order the seed gives.
    read = TokenEncoder(str(bert)).read(REFERENCES)
    like = np.array([[match_tokens(one, other).f1 for other in read] for one in read])
    rings = [(0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3), (0, 2, 3, 1), (0, 3, 1, 2), (0, 3, 2, 1)]
    means = [np.mean([like[r[i], r[(i + 1) % 4]] for i in range(4)]) for r in rings]
    assert min(abs(mean - detail["baseline"]) for mean in means) < 1e-6
    wrong = scores(metric, ["a photograph", *REFERENCES[1:]])[0]
    raw = wrong.detail["raw"]
    assert wrong.value == pytest.approx((raw - detail["baseline"]) / (1 - detail["baseline"]))
    assert wrong.value < 1 and scores(metric, ["", *REFERENCES[1:]])[0].value == 0


def test_without_other_references_there_is_no_baseline(bert):
    alone = find_metric(f"bertscore_rescaled:{bert}")
    assert "needs the references of a case set" in str(scores(alone, REFERENCES)[0])
    same = ["the mole"] * 3
    (first, *_) = scores(alone.over(cases(same)), same, same)
    assert isinstance(first, Undefined) and "two references that differ" in str(first)
    other = alone.over(cases(REFERENCES[:2]))
    assert other.variant != alone.over(cases()).variant
    assert other.variant == alone.over(reversed(cases(REFERENCES[:2]))).variant


def test_names_and_what_is_missing():
    assert metric_info("bertscore").name == "bertscore_pubmedbert"
    told = metric_info("bertscore_rescaled_pubmedbert")
    assert told.name == "bertscore_rescaled_pubmedbert" and told.low == -math.inf
    former = "microsoft/BiomedNLP-PubMedBERT-base-uncased-abstract"
    assert metric_info(f"bertscore:{former}").name == "bertscore_pubmedbert"
    with pytest.raises(NotReadyError, match="medebench weights get pubmedbert"):
        find_metric("bertscore")
