"""The reference of a text metric: what there is to compare with, or why there is nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from medebench.cases.open_case import OpenCase
from medebench.metrics.metric import Undefined

Piece = TypeVar("Piece")


def reference_pieces(
    case: OpenCase, pieces: Sequence[Piece], what: str = "word"
) -> Sequence[Piece]:
    """The pieces of a reference; where it has none, no answer could be right or wrong.

    An answer without any is another matter: it was due and scores 0.
    """
    if not pieces:
        raise Undefined(f"the reference of case {case.case.id} holds no {what}")
    return pieces
