"""What an answer puts into the gap of a sentence: the bare words, also out of a whole sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from medebench.models.answers.answer_body import answer_body
from medebench.models.answers.denial import is_denied
from medebench.models.answers.refusal import declines

GapStatus = Literal["read", "not_read", "refused", "several", "cut"]
_GAP = re.compile(r"_{2,}")
_QUOTED = re.compile(r"[\"“„«]\s*([^\"“”„«»\n]{1,120}?)\s*[\"”“»]")
_NOUN = r"(?:(?:missing|correct|right|final|best)\s+)*(?:answer|words?|phrase|term|blank|gap)"
_LEAD = re.compile(
    rf"""^(?:(?:sure|certainly|of\ course|okay|ok)\b[!.,:]*\s*)?(?:the\s+)?{_NOUN}\b[^:.\n]{{0,40}}?
    (?:\s(?:is|are|(?:should|would|must)\s+be)\b\s*:?|[:=])\s*""",
    re.I | re.X,
)
_QUOTE_MARK = re.compile(r"^(?:>\s*)+(?=[^\W\d])")
_EDGES = " \t\n\r,;:!?\"'“”„«»‘’()[]{}*#•。，"
#: What may follow the words without being a part of them: an explanation, a further sentence.
_REST = re.compile(
    r"""\s*(?:[,;(]|\s[-–—])\s*(?:which|that|because|as|since|a|an|the|located|lying|it|this|so)\b.*
    |\s*(?:\.(?=\s)|\n)(?!\s*(?:or|and|no|not|but|actually|wait|maybe|possibly|alternatively
      |perhaps|sorry|correction)\b).*
    |\s+(?:because|since|which|as\ it|so\ that)\b.*""",
    re.I | re.S | re.X,
)
#: What takes back the words before it, at the beginning of what follows or anywhere in it.
_TAKEN_BACK = re.compile(
    r"""\b(?:second\ thoughts?|hmm+|wait|actually|correction|sorry|scratch\ that|i\ me(?:an|ant)
      |first\ (?:thought|guess)|(?:first|initially)\ thought)\b
    |\b(?:(?:that|this|it|which)\ (?:is|was|would\ be)|that['’]s|it['’]s|isn['’]t|wasn['’]t)
      \ (?:\w+\ )?(?:wrong|incorrect|false|mistaken|not(?=\W*$)|not\ (?:correct|true|the\ case))\b
    |\b(?:is|was)(?:n['’]t|\ not)\W*$""",
    re.I | re.X,
)
#: So many words before the gap are enough to find it in a sentence that is told anew.
_ANCHOR = 3


@dataclass(frozen=True)
class GapAnswer:
    status: GapStatus
    #: What was put into the gap, and in further readings without what stands around it.
    readings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.readings[0] if self.readings else ""


def read_gap(answer: str, question: str = "", *, cut: bool = False) -> GapAnswer:
    """The words for the gap.

    Args:
        answer: as the model wrote it: bare words, a sentence about them, or the sentence filled.
        question: the sentence with its gap, a run of underscores.
        cut: the model was stopped by its limit of tokens.

    Returns:
        The words, as `readings`: as they stand, and without an explanation behind them.

    >>> read_gap('The missing word is "left".', "It lies in the ____ lung.").text
    'left'
    >>> read_gap("It lies in the left lung.", "It lies in the ____ lung.").text
    'left'
    """
    body = answer_body(answer)
    if cut or body.cut:
        return GapAnswer("cut")
    if body.marked is not None:
        given = [one.strip(_EDGES) for one in body.marked if one.strip(_EDGES)]
        if len(given) > 1:
            return GapAnswer("several")
        return _read(given[0], question) if given else GapAnswer("not_read")
    if declines(body.text):
        return GapAnswer("refused")
    return _read(body.text, question)


def _read(text: str, question: str) -> GapAnswer:
    text = " ".join(_GAP.sub(" ", text).split())
    if not any(one.isalnum() for one in text):
        return GapAnswer("not_read")
    before, after = _around(question)
    if _words(text) == [*before, *after] and question:
        return GapAnswer("not_read")
    every = (one for one in _QUOTED.finditer(text) if not is_denied(text, *one.span()))
    quoted = list(dict.fromkeys(one[1].strip(_EDGES) for one in every))
    if len(quoted) > 1:
        return GapAnswer("several")
    if quoted:
        return GapAnswer("read", (quoted[0],))
    bare = _LEAD.sub("", _QUOTE_MARK.sub("", text)).strip(_EDGES).rstrip(". ")
    readings = [_inside(bare, before, after), bare]
    readings += [head for one in readings if (head := _head(one))]
    return GapAnswer("read", tuple(dict.fromkeys(filter(None, readings))))


def _head(text: str) -> str:
    """The words without an explanation behind them; nothing where that takes them back."""
    rest = _REST.search(text)
    # "aorta. heart", "aorta, the heart": too short for an explanation, so rather another answer.
    if rest is None or len(_words(rest[0])) < 4 or _TAKEN_BACK.search(rest[0]):
        return ""
    return text[: rest.start()].strip(_EDGES)


def _around(question: str) -> tuple[list[str], list[str]]:
    """The words of the question's sentence before and after its gap."""
    parts = _GAP.split(question)
    if len(parts) != 2:
        return [], []
    before = re.split(r"[.:?!\n]\s", parts[0])[-1]
    after = re.split(r"[.?!\n]", parts[1])[0]
    return _words(before), _words(after)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:[.,][^\W_]+)*", text.casefold())


def _inside(text: str, before: Sequence[str], after: Sequence[str]) -> str:
    """The answer without those words of the question that it repeats around the gap."""
    found = list(re.finditer(r"[^\W_]+(?:[.,][^\W_]+)*", text))
    words = [one[0].casefold() for one in found]
    start, end = _start(words, before), len(words)
    for count in range(min(len(after), len(words) - start), 0, -1):
        if words[-count:] == list(after[:count]):
            end = len(words) - count
            break
    if start >= end:
        return text
    # From the end of the word before: a sign that belongs to a number stays.
    left = found[start - 1].end() if start else 0
    right = found[end].start() if end < len(words) else len(text)
    return text[left:right].strip(_EDGES).rstrip(". ")


def _start(words: Sequence[str], before: Sequence[str]) -> int:
    """How many words of the answer stand before the gap."""
    anchor = list(before[-_ANCHOR:])
    places = [i for i in range(len(words)) if words[i : i + _ANCHOR] == anchor]
    if len(anchor) == _ANCHOR and len(places) == 1:
        return places[0] + _ANCHOR
    repeated = range(min(len(before), len(words)), 0, -1)
    return next((count for count in repeated if [*words[:count]] == [*before[-count:]]), 0)
