"""CIDEr-D: shared runs of words, those counting most that few references of the set have.

    s_n = sum_g min(a_g, r_g) r_g / (|a| |r|) * exp(-(la - lr)^2 / 72)
    CIDEr-D = 10 (s_1 + s_2 + s_3 + s_4) / 4

`a_g` and `r_g` are how often run g of n words stands in the answer and in the reference, times
log(N / references that have it), over the N references of the same kind of question in the case
set. `la` and `lr` are the numbers of pairs of neighbouring words, as in the published code.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from medebench.cases.case import Case
from medebench.metrics.metric import BatchMetric, Measured, MetricInfo, Subject, Undefined
from medebench.metrics.text.reference_pool import ReferencePool, kind_of_question, pool_references
from medebench.metrics.text.reference_text import reference_pieces
from medebench.metrics.text.rouge_l import plain_words
from medebench.metrics.text.word_runs import ORDERS, runs_by_length

#: Width of the penalty for another length, in words.
_SIGMA = 6.0


@dataclass(frozen=True)
class Weighted:
    """A text as CIDEr sees it: by length of run, the weight of each."""

    weights: tuple[dict[int, float], ...]
    norms: tuple[float, ...]
    pairs: int


class RunWeights:
    """How much a run tells, from the references of a set."""

    def __init__(self, references: Iterable[tuple[str, ...]]) -> None:
        self._numbers: dict[str, int] = {}
        held: Counter[int] = Counter()
        self.count = 0
        for words in references:
            self.count += 1
            # From 1 on: a run of two words is then never the number of one word.
            numbers = [self._numbers.setdefault(one, len(self._numbers) + 1) for one in words]
            for runs in runs_by_length(numbers):
                held.update(set(runs))
        self._rare = math.log(max(1, self.count))
        # What one reference has weighs as much as what none has: most runs need no place here.
        self._known = {
            run: self._rare - math.log(count) for run, count in held.items() if count > 1
        }
        self.weigh = lru_cache(4096)(self._weigh)

    def _weigh(self, words: tuple[str, ...]) -> Weighted:
        known, rare = self._known, self._rare
        new = [one for one in dict.fromkeys(words) if one not in self._numbers]
        others = {word: len(self._numbers) + place for place, word in enumerate(new, 1)}
        numbers = [self._numbers[one] if one in self._numbers else others[one] for one in words]
        weights = tuple(
            {run: count * known.get(run, rare) for run, count in Counter(runs).items()}
            for runs in runs_by_length(numbers)
        )
        norms = tuple(math.sqrt(sum(w * w for w in one.values())) for one in weights)
        return Weighted(weights, norms, max(0, len(words) - 1))


def cider_d(answer: Weighted, reference: Weighted) -> float:
    """0 to 10."""
    apart = answer.pairs - reference.pairs
    total = 0.0
    for ours, theirs, one, other in zip(
        answer.weights, reference.weights, answer.norms, reference.norms, strict=True
    ):
        if one and other:
            shared = sum(
                min(w, theirs[run]) * theirs[run] for run, w in ours.items() if run in theirs
            )
            total += shared / (one * other)
    return 10 * total / ORDERS * math.exp(-(apart**2) / (2 * _SIGMA**2))


@dataclass(frozen=True)
class _Texts:
    kind: str
    answer: tuple[str, ...]
    reference: tuple[str, ...]


class Cider(BatchMetric):
    """No network, but the references of the whole set, which `over` gives."""

    of = "text"
    info = MetricInfo(
        "cider",
        "runs of words shared with the reference, rare ones first (CIDEr-D)",
        "higher",
        0.0,
        10.0,
        ("answer",),
        label="CIDEr-D",
        decimals=2,
        definition="CIDEr-D, 0 to 10: runs of one to four words (small letters, no stemmer), "
        "weighted by how few references of the same kind of question in the case set have them. "
        "Undefined where not even the reference itself would get 10: where it is shorter than four "
        "words or shares all its words with every other.",
    )

    def __init__(self, pool: ReferencePool | None = None) -> None:
        self._pool = pool
        self.variant = f"cider-d-1 references {pool.digest if pool else 'none'}"
        self._weights: dict[str, RunWeights] = {}

    def over(self, cases: Iterable[Case]) -> Cider:
        return Cider(pool_references(cases))

    def problem(self) -> str | None:
        return None

    def prepare(self, subject: Subject) -> _Texts:
        case = subject.case
        due = tuple(reference_pieces(case, plain_words(case.case.answer)))
        return _Texts(kind_of_question(case.case), plain_words(subject.said), due)

    def measure(self, prepared: Sequence[_Texts]) -> list[Measured | Undefined]:
        return [self._measure(one) for one in prepared]

    def _measure(self, texts: _Texts) -> Measured | Undefined:
        if self._pool is None or texts.kind not in self._pool.kinds:
            return Undefined("CIDEr needs the references of a case set; score a run")
        if texts.kind not in self._weights:
            every = (plain_words(one) for one in self._pool.kinds[texts.kind])
            self._weights[texts.kind] = RunWeights(every)
        weights = self._weights[texts.kind]
        reference = weights.weigh(texts.reference)
        if not all(reference.norms):
            why = (
                "is shorter than four words"
                if len(texts.reference) < ORDERS
                else (f"has no runs of words that tell it from the {weights.count} of its kind")
            )
            return Undefined(f"the reference {why}")
        value = min(10.0, cider_d(weights.weigh(texts.answer), reference))
        return Measured(value, {"references": weights.count})


CIDER = Cider()
