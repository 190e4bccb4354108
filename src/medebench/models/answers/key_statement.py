"""Whether a free answer states its key, what can be checked of it, and no other option."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from medebench.models.answers.answer_body import answer_body
from medebench.models.answers.denial import is_denied, is_supposed
from medebench.models.answers.number_words import NUMBER_WORDS
from medebench.models.answers.option_mentions import OptionTexts
from medebench.models.answers.refusal import declines

KeyStatus = Literal["stated", "not_stated", "several", "refused", "cut"]
#: In words up to twelve, as people write them.
_NUMBERS = list(NUMBER_WORDS)[:13]
#: "3 mm" is not the number of anything.
_UNIT = re.compile(r"[\s-]*(?:[cmµk]?m|m?l|cc|[mk]?g|%|hu|years?|months?|days?|°|x)\b|\s*%", re.I)
_BACK = 90
_POLAR = {"yes", "no", "true", "false"}
_FIRST = re.compile(r"\W*([^\W\d_]+)(?=\W*$|\s*[,.;:!?–—-]|\s+and\b)")


#: "The left lung is clear": not the side of what is asked for, unless that is asked for.
_SIDED = re.compile(r"(?:left|right)\b")
_SOUND = r"(?:spared|clear|normal|unremarkable|unaffected|uninvolved|healthy|intact)\b"
_IS_SOUND = re.compile(
    rf"(?:\s\w+){{0,2}}\s(?:is|are|was|were|appears?|remains?)\s(?:\w+\s)?{_SOUND}", re.I
)


#: "That's right."
_AGREED = re.compile(r"(?:\bthat['’]?s|\bthat is|\ball|\byou are|\byou['’]re|\bquite)\s+$", re.I)


def read_key(
    answer: str, key: str, others: Sequence[str] = (), question: str = "", *, cut: bool = False
) -> KeyStatus:
    """Whether the key is stated, and none of the other options that there were.

    Args:
        answer: as the model wrote it.
        key: what must be stated, in a sentence or alone.
        others: the other options of the question; one stated beside the key makes it `several`.
        question: as it was asked; "which lung is clear" makes a clear lung an answer.
        cut: the model was stopped by its limit of tokens.

    >>> read_key("The mass is a meningioma, no glioma.", "meningioma", ["glioma"])
    'stated'
    >>> read_key("There is no effusion on the left.", "left", ["right"])
    'not_stated'
    """
    body = answer_body(answer)
    if cut or body.cut:
        return "cut"
    key_text = _folded(key)
    texts = [key_text, *(one for one in map(_folded, others) if one != key_text)]
    sound = bool(re.search(rf"\b{_SOUND}", question, re.I))
    stated = _stated(body.text, list(dict.fromkeys(texts)), sound)
    if 0 in stated:
        return "stated" if len(stated) == 1 else "several"
    return "refused" if not stated and declines(body.text) else "not_stated"


def _stated(text: str, texts: list[str], sound: bool) -> set[int]:
    if texts[0] in _POLAR:
        # "No" within a sentence is a negation, not an answer.
        first = _FIRST.match(text)
        lead = text[: first.end() + 12].casefold() if first else ""
        return {
            i for i, one in enumerate(texts) if one in _POLAR and re.search(rf"\b{one}\b", lead)
        }
    spelt = [(i, form) for i, one in enumerate(texts) for form in _spellings(one)]
    named = OptionTexts([form for _, form in spelt])
    return {
        spelt[place][0]
        for place, start, end in named.named(text)
        if not is_denied(text, start, end)
        and not is_supposed(text[max(0, start - _BACK) : start])
        and text[end : end + 1] != "?"
        and not (text[start:end].lower() == "right" and _AGREED.search(text[:start]))
        and (sound or not (_SIDED.match(texts[spelt[place][0]]) and _IS_SOUND.match(text, end)))
        and not (text[end - 1].isdigit() and _UNIT.match(text, end))
    }


def _spellings(text: str) -> list[str]:
    if text.isdigit() and int(text) < len(_NUMBERS):
        return [text, _NUMBERS[int(text)]]
    return [text, str(_NUMBERS.index(text))] if text in _NUMBERS else [text]


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .;,:")
