"""Why there is no output or no score: words for people, and a code that stays when they change."""

from __future__ import annotations

from typing import Any

from medebench.errors import ImageError, one_line

#: What each code means; a ledger holds no others.
KINDS = {
    "undefined": "there is no such number for this case or output, by definition",
    "not-applicable": "the score is not about cases or outputs of this kind",
    "no-output": "there is no output to score",
    "no-part": "the output lacks what is scored: its image, its text or its attention",
    "missing-file": "the output was made, and its file is gone",
    "unreadable": "a file cannot be read",
    "case-changed": "the output was made from another state of the case",
    "stale": "the score was computed from another state of the output or the case",
    "refused": "the system or the judge declined",
    "error": "the system, the metric or the judge broke down",
    "impossible": "a number outside of its range came back",
    "unanswered": "the judge could not be asked, or its answer could not be read",
    "disk": "it could not be written",
    "damaged": "its row in the ledger was damaged",
    "not-made": "the output has not been made yet",
    "not-scored": "the output has not been scored yet",
}


class Reason(str):
    """The words, with their code.

    >>> Reason("no-output", "no output: the model declined").kind
    'no-output'
    """

    __slots__ = ("kind",)
    kind: str

    def __new__(cls, kind: str, words: str) -> Reason:
        assert kind in KINDS, kind
        made = super().__new__(cls, words)
        made.kind = kind
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Reason, (self.kind, str(self))


#: How the words began in ledgers that had no codes yet, and begin still where a user's judge or
#: metric repeats ours; the first that fits counts.
_BEFORE = {
    "no output": "no-output",
    "the output file is missing": "missing-file",
    "unreadable output": "unreadable",
    "the case has changed since the edit": "case-changed",
    "failed: the metric returned": "impossible",
    "failed: the judge returned": "impossible",
    "failed: ": "error",
    "the judge gave no such score": "error",
    "the judge refused": "refused",
    "the judge could not be asked": "unanswered",
    "the judge's answer could not be read": "unanswered",
    "the output has no ": "no-part",
    "no attention": "no-part",
    "the attention map is missing": "missing-file",
    "could not be written": "disk",
    "its row in the ledger was damaged": "damaged",
    "not made yet": "not-made",
}


def kind_of(reason: str, usual: str = "undefined") -> str:
    """The code of a reason; of plain words, by how they begin.

    >>> kind_of("failed: the metric raised ValueError: no")
    'error'
    """
    if isinstance(reason, Reason):
        return reason.kind
    if reason.endswith("; score again"):
        return "damaged" if "damaged" in reason else "stale"
    return next((kind for words, kind in _BEFORE.items() if reason.startswith(words)), usual)


def reason_of(error: Exception) -> Reason:
    """What was raised where there is no number: a file that cannot be read, or an `Undefined`.

    >>> reason_of(ImageError("a.png: no image")).kind
    'unreadable'
    """
    words = error.args[0] if error.args and isinstance(error.args[0], Reason) else str(error)
    usual = "unreadable" if isinstance(error, ImageError) else "undefined"
    return Reason(kind_of(words, usual), one_line(words))


def with_kind(reason: str | None, usual: str = "undefined") -> Reason | None:
    """A reason of any origin with its code, or None."""
    return None if reason is None else Reason(kind_of(reason, usual), reason)
