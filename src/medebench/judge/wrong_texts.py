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
_NOT = re.compile(r"\b(is|are|was|were|does|do|has|have)(?: not|n't)\b", re.I)
_THERE = re.compile(
    r"\b(there (?:is|are|was|were)|shows?|reveals?|demonstrates?|has|have)\s+", re.I
)
_ARTICLE = re.compile(r"(?:an?|the|some)\s+", re.I)
_IS = re.compile(r"\b(is|are|was|were)\b", re.I)


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
    """The text with its first finding denied, or asserted where it was denied.

    >>> negated("There is a fracture of the radius.")
    'There is no fracture of the radius.'
    >>> negated("No pneumothorax."), negated("The heart is enlarged."), negated("Melanoma")
    ('Pneumothorax.', 'The heart is not enlarged.', 'No melanoma')
    """
    body = text.strip()
    if not re.search(r"[^\W\d_]", body):
        return None
    if found := _NO.search(body):
        other = body[: found.start()] + body[found.end() :]
        return other[:1].upper() + other[1:] if found.start() == 0 else other
    if found := _NOT.search(body):
        return body[: found.end(1)] + body[found.end() :]
    if found := _THERE.search(body):
        rest = _ARTICLE.sub("", body[found.end() :], count=1) if _leads(body, found) else ""
        return f"{body[: found.end()]}no {rest or body[found.end() :]}"
    if found := _IS.search(body):
        return f"{body[: found.end()]} not{body[found.end() :]}"
    if len(body.split()) > 6:
        return None
    return f"No {body[:1].lower()}{body[1:]}"


def _leads(body: str, found: re.Match[str]) -> bool:
    """Whether an article follows at once, which gives way to "no"."""
    return bool(_ARTICLE.match(body, found.end()))
