"""The answer that a metric is about: its words, and whether it was cut; or why there is none."""

from __future__ import annotations

from medebench.cases.open_case import OpenCase
from medebench.metrics.metric import Undefined
from medebench.outputs import Output
from medebench.reason import Reason
from medebench.tasks.medgen_tasks import AnswerKind, answer_kind

#: How servers say that they stopped at their limit of tokens.
_LIMITS = {"length", "max_tokens", "max_output_tokens", "token_limit"}


def answer_text(output: Output | str) -> tuple[str, bool]:
    """The text of an output, and whether the model was stopped in the middle of it."""
    if isinstance(output, str):
        return output, False
    if output.text is None:
        raise Undefined(Reason("no-part", "the output has no text"))
    finish = str(output.detail.get("finish", "")).strip().lower()
    return output.text, output.detail.get("truncated") is True or finish in _LIMITS


def require_kind(case: OpenCase, kind: AnswerKind, score: str) -> None:
    """Scores of one kind of answer say nothing about another."""
    if answer_kind(case.case) != kind:
        raise Undefined(Reason("not-applicable", f"{score} is not about answers of this kind"))
