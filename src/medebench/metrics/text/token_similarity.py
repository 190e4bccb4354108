"""The matching of BERTScore: every token finds the one most like it in the other text.

    P = mean over tokens c of the candidate of max over r of cos(c, r)
    R = the same for the tokens of the reference;  F1 = 2 P R / (P + R)

As in the package bert-score without idf weights: the tokens that begin and end a text count in no
mean, but another token may find them. Any `TokenEncoder` can have made the vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.encoders.token_encoder import TokenEncoder, TokenVectors
from medebench.metrics.metric import Measured, Undefined


@dataclass(frozen=True)
class TokenMatch:
    """How well the tokens of two texts find each other."""

    precision: float
    recall: float
    f1: float


def match_tokens(candidate: TokenVectors, reference: TokenVectors) -> TokenMatch:
    """Precision, recall and F1 of two texts; 0 where one of them has no token of its own.

    >>> from medebench.encoders.token_encoder import TokenVectors
    >>> ends = np.array([False, True, False])
    >>> one = TokenVectors(np.eye(3, dtype=np.float32), ends, 3, 3)
    >>> match_tokens(one, one).f1
    1.0
    """
    if not candidate.counts.any() or not reference.counts.any():
        return TokenMatch(0.0, 0.0, 0.0)
    similar = _unit(candidate.vectors) @ _unit(reference.vectors).T
    precision = float(similar.max(axis=1)[candidate.counts].mean())
    recall = float(similar.max(axis=0)[reference.counts].mean())
    total = precision + recall
    return TokenMatch(precision, recall, 2 * precision * recall / total if total else 0.0)


def match_texts(
    encoder: TokenEncoder, pairs: Sequence[tuple[str, str]]
) -> list[Measured | Undefined]:
    """F1 of answers with their references, or why there is none."""
    read = iter(encoder.read([text for pair in pairs for text in pair]))
    found: list[Measured | Undefined] = []
    for one, other in zip(read, read, strict=True):
        cut = {"tokens": one.tokens, "read": one.read} if one.truncated else {}
        try:
            match = match_tokens(one, other)
        except Undefined as why:
            found.append(why)
            continue
        told: dict[str, Any] = {"precision": match.precision, "recall": match.recall}
        # Rounding may lift a text beside itself above 1.
        found.append(Measured(min(1.0, match.f1), told | cut))
    return found


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    exact = vectors.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise Undefined("the encoder returned a vector without a direction")
    unit: NDArray[np.float64] = exact / lengths
    return unit
