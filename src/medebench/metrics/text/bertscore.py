"""BERTScore of answers, raw and rescaled: F1 of tokens that find their like in the other text.

The raw number lies between 0.86 and 0.89 for nearly every system, because any two medical texts
are alike to such a model. `bertscore_rescaled` takes that off:

    (F1 - b) / (1 - b),    b = mean F1 of references with other references

over references of the same kind of question in the case set, each beside one drawn by a fixed seed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from medebench.cases.case import Case
from medebench.encoders.token_encoder import PUBMEDBERT, TokenEncoder, shared_encoder
from medebench.errors import InputError
from medebench.metrics.metric import BatchMetric, Measured, MetricInfo, Of, Subject, Undefined
from medebench.metrics.text.reference_pool import ReferencePool, kind_of_question, pool_references
from medebench.metrics.text.reference_text import reference_pieces
from medebench.metrics.text.token_similarity import match_texts
from medebench.weights.hub_cache import is_hub_id
from medebench.weights.known_weights import known_as

RAW, RESCALED = "bertscore", "bertscore_rescaled"
#: Pairs of references that a baseline is the mean of, at most.
PAIRS = 200
_TOKENS = (
    "F1 of the cosines with which tokens of answer and reference find the most similar one of the "
    "other text, by the last layer of {}; without weights for rare tokens"
)


def info(name: str, which: str | None = None) -> MetricInfo:
    """What the numbers of `bertscore_<model>` mean; needs no weights."""
    if name not in (RAW, RESCALED):
        raise InputError(f"metric '{name}': is not BERTScore; expected {RAW} or {RESCALED}")
    model, rescaled = _model_name(which), name == RESCALED
    about = (
        "similarity of answer and reference to a language model, 0 for unrelated references"
        if rescaled
        else "similarity of answer and reference to a language model, raw: about 0.87 for anything"
    )
    definition = _TOKENS.format(model) + (
        ", rescaled so that 0 is the mean of references paired with other references of the case "
        "set and 1 is the reference itself"
        if rescaled
        else ", not rescaled: unrelated texts are near 0.85 as well"
    )
    return MetricInfo(
        f"{name}_{model}",
        about,
        "higher",
        -math.inf if rescaled else -1.0,
        1.0,
        ("answer",),
        label="BERTScore",
        sublabel="rescaled" if rescaled else "raw",
        decimals=3,
        definition=f"{definition}.",
    )


def make(name: str, which: str | None, device: str, batch: int | None) -> BatchMetric:
    """On PubMedBERT, or on `which`: a hub id or a folder with a BERT-like model."""
    return BertScore(name, TokenEncoder(which, _model_name(which), device=device, batch=batch))


def _model_name(which: str | None) -> str:
    which = which or PUBMEDBERT
    if (known := known_as(which)) and not Path(which).expanduser().exists():
        return known.name
    if is_hub_id(which) and not Path(which).expanduser().exists():
        return which
    return re.sub(r"[^\w.+-]+", "-", Path(which).expanduser().absolute().name).strip("-") or "model"


@dataclass(frozen=True)
class _Pair:
    kind: str
    answer: str
    reference: str


class BertScore(BatchMetric):
    of: Of = "text"

    def __init__(self, name: str, encoder: TokenEncoder, pool: ReferencePool | None = None) -> None:
        self.info = info(name, encoder.source)
        self.encoder = encoder
        self._rescaled, self._pool = name == RESCALED, pool
        self._baselines: dict[str, Measured | Undefined] = {}
        self.variant = ""
        if encoder.problem() is None:
            among = f" references {pool.digest if pool else 'none'}" if self._rescaled else ""
            self.variant = f"bertscore-1 {encoder.identity}{among}"

    def problem(self) -> str | None:
        return self.encoder.problem()

    def over(self, cases: Iterable[Case]) -> BertScore:
        if not self._rescaled:
            return self
        return BertScore(RESCALED, self.encoder, pool_references(cases))

    def prepare(self, subject: Subject) -> _Pair:
        case = subject.case
        due = case.case.answer.strip()
        reference_pieces(case, due)
        return _Pair(kind_of_question(case.case), subject.said, due)

    def measure(self, prepared: Sequence[_Pair]) -> list[Measured | Undefined]:
        found = match_texts(self._shared, [(one.answer, one.reference) for one in prepared])
        return [self._finish(one, raw) for one, raw in zip(prepared, found, strict=True)]

    def _finish(self, pair: _Pair, raw: Measured | Undefined) -> Measured | Undefined:
        if isinstance(raw, Undefined) or not self._rescaled:
            return raw
        if pair.kind not in self._baselines:
            self._baselines[pair.kind] = self._baseline(pair.kind)
        base = self._baselines[pair.kind]
        if isinstance(base, Undefined):
            return base
        # No words are as good as unrelated ones: their raw 0 would be many times worse.
        gain = raw.value - base.value if pair.answer.strip() else 0.0
        told = {"raw": raw.value, "baseline": base.value, **base.detail}
        return Measured(gain / (1 - base.value), raw.detail | told)

    def _baseline(self, kind: str) -> Measured | Undefined:
        if self._pool is None:
            return Undefined("the baseline needs the references of a case set; score a run")
        pairs = list(_shuffled(self._pool.kinds.get(kind, ())))
        if not pairs:
            return Undefined("the baseline needs two references that differ; the set has none")
        found = [one for one in match_texts(self._shared, pairs) if isinstance(one, Measured)]
        mean = float(np.mean([one.value for one in found])) if found else 1.0
        if mean >= 1 - 1e-9:
            return Undefined("to the model all references are alike: nothing to rescale by")
        return Measured(mean, {"baseline_pairs": len(found)})

    @cached_property
    def _shared(self) -> TokenEncoder:
        return shared_encoder(self.encoder)

    def close(self) -> None:
        self.__dict__.pop("_shared", None)
        self.encoder.close()


def _shuffled(references: Sequence[str]) -> Iterator[tuple[str, str]]:
    """References beside others, which say something else; the same ones every time."""
    distinct = sorted(set(references))
    if len(distinct) < 2:
        return
    order = np.random.default_rng(0).permutation(len(distinct))[:PAIRS].tolist()
    # Each beside the next one of the shuffled order: nobody beside itself.
    for place, one in enumerate(order):
        yield distinct[one], distinct[order[(place + 1) % len(order)]]
