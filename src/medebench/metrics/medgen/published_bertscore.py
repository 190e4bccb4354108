"""BERTScore of MedGEN-Bench: PubMedBERT, layer 12, F1, no weights, not rescaled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from medebench.encoders.token_encoder import (
    PUBMEDBERT,
    PUBMEDBERT_LAYER,
    TokenEncoder,
    shared_encoder,
)
from medebench.metrics.medgen import UNRANKED
from medebench.metrics.medgen.published_texts import published_pair
from medebench.metrics.metric import BatchMetric, Measured, MetricInfo, Of, Subject, Undefined
from medebench.metrics.text.token_similarity import match_texts
from medebench.reason import Reason

INFO = MetricInfo(
    "bertscore_medgen",
    "BERTScore F1 of PubMedBERT, raw: 0.86 to 0.89 for everybody (honest: bertscore_rescaled)",
    "higher",
    -1.0,
    1.0,
    ("answer",),
    label="BERTScore",
    sublabel="MedGEN",
    unranked=UNRANKED,
    definition="F1 of tokens that find the most similar one of the other text, by the states of "
    "layer 12; without weights for rare tokens, not rescaled.",
)


class PublishedBertScore(BatchMetric):
    info = INFO
    of: Of = "text"

    def __init__(self, encoder: TokenEncoder) -> None:
        self.encoder = encoder
        self.variant = ""
        if encoder.problem() is None:
            self.variant = f"bertscore-1 {encoder.identity}"

    def problem(self) -> str | None:
        return self.encoder.problem()

    def prepare(self, subject: Subject) -> tuple[str, str]:
        self.info.require(subject.case)
        if subject.whole.text is None:
            raise Undefined(Reason("no-part", "the output has no text"))
        return published_pair(subject.case, subject.whole.text)

    def measure(self, prepared: Sequence[tuple[str, str]]) -> list[Measured | Undefined]:
        return match_texts(self._shared, prepared)

    @cached_property
    def _shared(self) -> TokenEncoder:
        return shared_encoder(self.encoder)

    def close(self) -> None:
        self.__dict__.pop("_shared", None)
        self.encoder.close()


def info(name: str, which: str | None = None) -> MetricInfo:
    """For the list of learned metrics."""
    return INFO


def make(
    name: str, which: str | None = None, device: str = "auto", batch: int | None = None
) -> PublishedBertScore:
    """The metric on PubMedBERT, or on `which`: a hub id or a folder of 12 layers at least."""
    return PublishedBertScore(
        TokenEncoder(which or PUBMEDBERT, device=device, batch=batch, layer=PUBMEDBERT_LAYER)
    )
