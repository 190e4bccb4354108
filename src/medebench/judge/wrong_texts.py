"""Texts that are wrong beyond doubt, made of right ones: the other side, the contrary.

Plain rules for English; where none applies there is no such text, rather than a doubtful one.
"""

from __future__ import annotations

import re

_SIDES = {"left": "right", "right": "left"}
_SIDE = re.compile(r"\b(?:left|right)\b", re.I)
#: "right" that is no side.
_OTHER_SENSE = re.compile(
    r"\b(?:all|is|are|not|was|were) right\b(?= ?[.,;!?]|$)|\bright (?:answer|away)\b", re.I
)
_NO = re.compile(r"\b(?:no evidence of|no signs? of|free of|without|no)\s+(?=\w)", re.I)
_NOT = re.compile(r"\b(?P<verb>is|are|was|were|has|have|can)(?: not|n't)\b", re.I)
_ARTICLE = r"(?:(?:an?|the|some|any|one|two|three|four|several|multiple)\s+)?"
#: What is there, or is shown: "a nodule" becomes "no nodule".
_SHOWN = re.compile(
    r"\b(there (?:is|are|was|were)|shows?|reveals?|demonstrates?|contains?|holds?|cuts?)\s+"
    rf"{_ARTICLE}",
    re.I,
)
_HAS = re.compile(r"\b(has|have|had)\s+(?:an?|some|one|two|three|several|multiple)\s+", re.I)
_IS = re.compile(r"\b(?:is|are|was|were|has|have)\b", re.I)
_LIES = re.compile(r"\b(lie|extend|measure)s\b", re.I)
_YES = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
_YES |= {"present": "absent", "absent": "present", "positive": "negative", "negative": "positive"}
#: Sentences and lines, with what stands between them.
_SENTENCES = re.compile(r"(\s*\n\s*|(?<=[.;!?])\s+)")
_HEADING = re.compile(r"[A-Z][A-Z /-]*:")


def other_side(text: str) -> str | None:
    """The text with left and right exchanged; None where it names no side.

    >>> other_side("Left-sided effusion, right lung clear.")
    'Right-sided effusion, left lung clear.'
    >>> other_side("The heart is enlarged.") is None
    True
    """
    if _OTHER_SENSE.search(text):
        return None

    def swapped(found: re.Match[str]) -> str:
        side = _SIDES[found[0].lower()]
        return side.capitalize() if found[0][0].isupper() else side

    other = _SIDE.sub(swapped, text)
    return None if other == text else other


def negated(text: str) -> str | None:
    """The text with its findings denied, and asserted where they were denied, sentence by sentence.

    >>> negated("There is a fracture of the radius.")
    'There is no fracture of the radius.'
    >>> negated("No pneumothorax."), negated("The heart is enlarged."), negated("Melanoma")
    ('Pneumothorax.', 'The heart is not enlarged.', 'No melanoma')
    """
    pieces = _SENTENCES.split(text.strip())
    changed = [piece if n % 2 else _denied(piece) or piece for n, piece in enumerate(pieces)]
    return None if changed == pieces else "".join(changed)


def _denied(sentence: str) -> str | None:
    """The contrary of one sentence by the first rule that fits."""
    if _HEADING.fullmatch(sentence) or not re.search(r"[^\W\d_]", sentence):
        return None
    head = _HEADING.match(sentence)
    if head is not None:
        rest = sentence[head.end() :]
        other = _denied(rest.lstrip())
        return other and f"{head[0]} {other}"
    word = sentence.rstrip(" .").lower()
    if word in _YES:
        return _YES[word].capitalize() if sentence[0].isupper() else _YES[word]
    if found := _NO.search(sentence):
        other = sentence[: found.start()] + sentence[found.end() :]
        return other[:1].upper() + other[1:] if found.start() == 0 else other
    if found := _NOT.search(sentence):
        return sentence[: found.end("verb")] + sentence[found.end() :]
    for rule in (_SHOWN, _HAS):
        if found := rule.search(sentence):
            return f"{sentence[: found.end(1)]} no {sentence[found.end() :]}"
    if found := _IS.search(sentence):
        return f"{sentence[: found.end()]} not{sentence[found.end() :]}"
    if found := _LIES.search(sentence):
        verb = found[1].lower()
        return f"{sentence[: found.start()]}does not {verb}{sentence[found.end() :]}"
    return None if len(sentence.split()) > 8 else f"No {sentence[:1].lower()}{sentence[1:]}"
