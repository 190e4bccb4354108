"""BLEU, ROUGE-L and CIDEr-D against other people's packages, and on answers that fool them."""

from __future__ import annotations

import math
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import medebench as mb
from medebench.cases import Case, CaseSet
from medebench.metrics import Undefined, find_metric
from medebench.metrics.metric import Subject
from medebench.metrics.text.bleu_sacre import bleu_sacre, tokens_13a
from medebench.metrics.text.cider import Cider
from medebench.metrics.text.rouge_l import common_length, plain_words, rouge_l
from medebench.outputs import Output
from tests.conftest import draw
from tests.references import FOLDER, run_reference

HERE = __file__
WORDS = re.split(
    " ",
    "no left right pleural effusion pneumothorax is seen in the lung, a 3.5 cm mass; T2-weighted "
    "(hyperintense) lesion. &amp; 1,5 - 10-12 mm? 5-year <skipped> it's Größe x/y $5 [a] - -\n "
    "end.",
)


def pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Answers and references of 0 to 40 words, some with much in common."""
    generator = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        reference = list(generator.choice(WORDS, generator.integers(1, 40)))
        answer = [one for one in reference if generator.random() < 0.8]
        if generator.random() < 0.3:
            answer = list(generator.choice(WORDS, generator.integers(0, 40)))
        made.append((" ".join(answer), " ".join(reference)))
    return made


def case(answer: str, task: str = "question-answering", number: int = 1) -> mb.cases.OpenCase:
    return mb.open_case(Case(str(number), None, "What is seen?", task=task, answer=answer))


PACKAGES = """
from sacrebleu.metrics import BLEU
from rouge_score.rouge_scorer import RougeScorer
bleu, rouge = BLEU(effective_order=True), RougeScorer(["rougeL"])
rows = []
for said, due in zip(given["answers"], given["references"]):
    r = rouge.score(str(due), str(said))["rougeL"]
    b = bleu.sentence_score(str(said), [str(due)])
    rows.append([b.score, r.precision, r.recall, r.fmeasure])
answer["rows"] = np.array(rows)
answer["tokens"] = np.array([bleu.tokenizer(str(one).rstrip()) for one in given["references"]])
"""


def test_bleu_and_rouge_equal_the_packages():
    if not (FOLDER / "sacrebleu").is_dir() or not (FOLDER / "rouge_score").is_dir():
        pytest.skip("sacrebleu and rouge-score are not installed (make test installs them)")
    given = pairs(400)
    told = run_reference(
        PACKAGES,
        answers=np.array([one for one, _ in given]),
        references=np.array([one for _, one in given]),
    )
    ours = np.array([[100 * bleu_sacre(*one), *rouge_l(*one)] for one in given])
    np.testing.assert_allclose(ours, told["rows"], atol=1e-9)
    assert [" ".join(tokens_13a(one)) for _, one in given] == list(told["tokens"])


def test_a_perfect_answer_is_perfect_however_short():
    for text in ("left", "left lung", "No pleural effusion.", "A 3.5 cm mass, on the left."):
        assert find_metric("bleu_sacre")(case(text), text) == pytest.approx(1)
        assert find_metric("rouge_l")(case(text), text) == 1


def test_an_empty_answer_scores_0_and_an_empty_reference_is_no_question():
    for name in ("bleu_sacre", "rouge_l"):
        metric = find_metric(name)
        assert metric(case("a mass"), "") == 0
        with pytest.raises(Undefined, match="holds no word"):
            metric(case("..." if name == "rouge_l" else " "), "a mass")
        with pytest.raises(Undefined, match="has no answer"):
            metric(case(""), "")


@given(st.text("abc ", max_size=30), st.text("abc ", max_size=30))
def test_the_longest_common_subsequence(one, other):
    a, b = one.split(), tuple(other.split())
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            best = max(table[i, j + 1], table[i + 1, j])
            table[i + 1, j + 1] = table[i, j] + 1 if x == y else best
    assert common_length(a, b) == table[-1, -1]


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_has_a_score_between_0_and_1(one, other):
    assert 0 <= bleu_sacre(one, other) <= 1 + 1e-12
    assert all(0 <= value <= 1 for value in rouge_l(one, other))


def slow_cider(answer: str, reference: str, references: list[str]) -> float:
    """The formula with arrays over all runs of the set, as an independent computation."""

    def runs(text, n):
        words = plain_words(text)
        return Counter(" ".join(words[i : i + n]) for i in range(len(words) - n + 1))

    total = 0.0
    for n in (1, 2, 3, 4):
        every = [runs(one, n) for one in references]
        names = sorted(set().union(*every, runs(answer, n)))
        held = np.array([[name in one for name in names] for one in every]).sum(0)
        weight = math.log(len(references)) - np.log(np.maximum(1, held))
        a = weight * np.array([runs(answer, n)[name] for name in names])
        r = weight * np.array([runs(reference, n)[name] for name in names])
        if a.any() and r.any():
            total += np.minimum(a, r) @ r / np.linalg.norm(a) / np.linalg.norm(r)
    lengths = [max(0, len(plain_words(one)) - 1) for one in (answer, reference)]
    return 10 * total / 4 * math.exp(-((lengths[0] - lengths[1]) ** 2) / 72)


def cider_of(given: list[tuple[str, str]]):
    cases = [case(due, number=n) for n, (_, due) in enumerate(given)]
    metric = Cider().over(one.case for one in cases)
    empty = np.zeros((0, 0, 3), np.uint8)
    prepared = [
        metric.prepare(Subject(one, empty, whole=Output(text=said)))
        for one, (said, _) in zip(cases, given, strict=True)
    ]
    return metric.measure(prepared)


def test_cider_is_its_formula():
    given = [one for one in pairs(60, seed=1) if plain_words(one[1])]
    references = [due for _, due in given]
    checked = 0
    for found, (said, due) in zip(cider_of(given), given, strict=True):
        if isinstance(found, Undefined):
            continue
        assert found.value == pytest.approx(slow_cider(said, due, references), abs=1e-9)
        checked += 1
    assert checked > 40


def test_the_reference_gets_10_or_no_number():
    due = [
        "no left pleural effusion is seen",
        "a mass of the right lung is seen",
        "left",
        "the same",
    ]
    perfect = cider_of([(one, one) for one in due])
    assert [getattr(one, "value", str(one)) for one in perfect] == [
        pytest.approx(10),
        pytest.approx(10),
        "the reference is shorter than four words",
        "the reference is shorter than four words",
    ]
    (same, _) = cider_of([("it is the same text", "it is the same text")] * 2)
    assert "no runs of words that tell it from the 2 of its kind" in str(same)
    assert cider_of([("", "no left pleural effusion is seen"), ("a", "b c d e")])[0].value == 0


class Talker(mb.System):
    gives = ("text",)

    def generate(self, request):
        return "the lung is clear and no effusion is seen"


def cases(text, progress, folder=None):
    from medebench.files import cache_folder

    answers = ["the lung is clear", "a left effusion is seen here", "no mass of the liver is seen"]
    picture = cache_folder() / "asked.png"
    if not picture.exists():
        picture.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw(1)).save(picture)
    made = [
        Case(str(n), picture, "What?", task="question-answering", answer=one)
        for n, one in enumerate(answers)
    ]
    return CaseSet("asked", cache_folder(), tuple(made), text, task="vqa")


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_a_run_over_a_part_of_the_set_has_the_weights_of_all(tmp_path, executor):
    whole = mb.load_cases(f"{HERE}:cases")
    names = "cider,bleu_sacre"
    one = mb.generate(whole, f"{HERE}:Talker", tmp_path / "whole")
    part = mb.generate(whole.select(["1"]), f"{HERE}:Talker", tmp_path / "part")
    for run in (one, part):
        mb.score(run, names, executor=executor, workers=1)
    found = [run.frame().filter(case="1", metric="cider")["value"].item() for run in (one, part)]
    assert found[0] == found[1] > 0
    # nothing is left to do
    before = one.frame()
    mb.score(one, names)
    assert one.frame().equals(before)
