"""Scores in running text, lists and headings, under the names that models write.

A number counts only where its place says that it is a score: right behind the name of a score, on a
"Score:" line below it, or as "7/10" where a result stands. Everything else is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from medebench.judge.parser.parsed import Candidate
from medebench.judge.parser.score_numbers import Reading, Scale, note_scale, read_at, settled
from medebench.judge.parser.vocabulary import REASON_WORD, SCORE_WORD, Vocabulary
from medebench.models.answers.characters import BLANK, tidy

_SECTION = 6000
_NOTE = r"(?:[ \t]*[(\[](?P<note{n}>[^()\[\]\n]{{0,60}})[)\]])?"
#: From the end of a name to where its value begins.
_TO_VALUE = re.compile(
    r"[ \t\"'”’]*"
    + _NOTE.format(n=1)
    + rf"[ \t_\"'”’]*(?:{SCORE_WORD}(?!\w))?"
    + _NOTE.format(n=2)
    + r"""[ \t"'”’]*(?:
        (?P<strong>(?:[:=：]|->|→|⇒|–|—|-(?=[ \t]))+[ \t]*(?:-[ \t]+)?
          (?:[\[{("'“ \t]*(?:final[ ])?"""
    + SCORE_WORD
    + r"""["'”]?[ \t]*[:=][ \t]*|[{\[("'“ \t]+)?)
      | (?<=[ \t])(?P<verb>(?:is|was|gets|receives|received|earns|scores|scored|rated|of|at|a
          |comes[ ]in[ ]at|stands[ ]at|deserves|would[ ]rate|评为|为)[ ]+
          (?:(?:rated|scored|given|assigned|at|as|a|an|score[ ]of|rating[ ]of|be)[ ]+){0,4})
      | (?P<none>[ \t]*))""",
    re.I | re.X,
)
_REASONS = re.compile(rf"[ \t_]*{REASON_WORD}\b", re.I)
#: What may stand before a name at the beginning of a line.
_LINE_HEAD = re.compile(
    r"[^\w\n]{0,30}(?:\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,3})[.):][^\w\n]{0,30})?"
    rf"(?:(?:final|my|the)[ ])?(?:{SCORE_WORD}[ ]+(?:for|of)[ ]+(?:the[ ]+)?)?",
    re.I,
)
_JOINED = re.compile(r"[\s,/&+|\"'()]*(?:and|or|und|et|y|e|及|和|与)?[\s,/&+|\"'()]*", re.I)
#: A line that ends what a name has opened: another heading, a total, a next step.
_STOP_LINE = re.compile(
    r"^[ \t]*#|^[^\w\n]{0,30}(?:overall|total|average|mean|summary|conclusion|final|step|confidence"
    r"|combined|aggregate|composite|reference|ground truth|note|visible diff|differences)\b",
    re.I | re.M,
)
_SCORE_LINE = re.compile(
    rf"^[^\w\n]{{0,30}}(?:final[ ]|numeric[ ])?{SCORE_WORD}(?!\w)"
    r"[ \t]*(?:\((?P<note>[^()\n]{0,40})\))?[ \t\"']*(?:[:=：]|->|→|–|—|-|is|of)[ \t\"']*",
    re.I | re.M,
)
_FIRST_LINE = re.compile(r"\s*(?:[-•>+][ \t]+)?")
_FOR_LABEL = re.compile(
    r"[ \t]*(?:points?[ ])?(?:for|on|in terms of|in)[ ]+(?:the[ ]+)?[\"'“]?$", re.I
)
_GIVER = re.compile(
    r"\b(?:giv(?:e|es|en|ing)|gave|assign(?:s|ed)?|award(?:s|ed)?|scor(?:e|es|ed)|rat(?:e|es|ed|ing))"
    r"\b[^.;\n\d]{0,40}$",
    re.I,
)


@dataclass(frozen=True)
class _Label:
    score: str
    start: int
    end: int
    heads: bool
    generic: bool = False


def candidates(text: str, scale: Scale, vocabulary: Vocabulary) -> Iterator[Candidate]:
    """Every score that `text` (already plain, without JSON and tables) gives."""
    labels = _labels(text, vocabulary)
    backwards = -1
    for number, label in enumerate(labels):
        following = labels[number + 1] if number + 1 < len(labels) else None
        previous = labels[number - 1] if number else None
        if _joined(text, previous, label) or _joined(text, label, following):
            continue
        if one := _before(text, label, scale, chained=backwards == number - 1 and number > 0):
            backwards = number
            yield one
        elif not _REASONS.match(text, label.end):
            yield from _after(text, label, following, scale)


def _labels(text: str, vocabulary: Vocabulary) -> list[_Label]:
    specific = [vocabulary.found(match) for match in vocabulary.label.finditer(text)]
    found = [_Label(name, start, end, _heads(text, start)) for name, start, end in specific]
    taken = {one.score for one in found if one.heads}
    for match in vocabulary.generic.finditer(text):
        name, start, end = vocabulary.found(match)
        if name not in taken and not vocabulary.label.match(text, start):
            found.append(_Label(name, start, end, True, generic=True))
    return sorted(found, key=lambda one: one.start)


def _heads(text: str, at: int) -> bool:
    line = text.rfind("\n", max(0, at - 60), at) + 1
    return (line > 0 or at < 60) and bool(_LINE_HEAD.fullmatch(text, line, at))


def _joined(text: str, first: _Label | None, second: _Label | None) -> bool:
    """ "EA and VQ: 7 and 8": two names before one value cannot be told apart."""
    if first is None or second is None or second.start - first.end > 24:
        return False
    between = text[first.end : second.start]
    return "\n" not in between and first.score != second.score and bool(_JOINED.fullmatch(between))


def _before(text: str, label: _Label, scale: Scale, *, chained: bool) -> Candidate | None:
    """ "I give it 7/10 for editing accuracy and 8/10 for visual quality"."""
    line = text.rfind("\n", max(0, label.start - 120), label.start) + 1
    lead = text[max(line, label.start - 120) : label.start]
    link = _FOR_LABEL.search(lead)
    if not link:
        return None
    number = re.search(
        r"(?<![\w.,/\-–])\d[\d.,]*(?:[ ]?(?:/|out of)[ ]?\d+)?$", lead[: link.start()]
    )
    if not number:
        return None
    reading = read_at(lead[: link.start()], number.start(), scale)
    given = _GIVER.search(lead[: number.start()]) or (
        chained and re.search(r"(?:^|[,;]|\band)[ ]+(?:an?[ ]+)?$", lead[: number.start()])
    )
    if reading is None or not given:
        return None
    return _made(label, reading, "")


def _after(text: str, label: _Label, following: _Label | None, scale: Scale) -> Iterator[Candidate]:
    way = _TO_VALUE.match(text, label.end)
    assert way is not None
    notes = f"{way['note1'] or ''} {way['note2'] or ''}"
    scale = note_scale(notes, scale)
    until = _until(text, way.end(), following)
    if reading := _noted(notes, scale):
        yield _made(label, reading, text[way.end() : until])
    elif reading := read_at(text, way.end(), scale, strict=way["strong"] is None):
        yield _made(label, reading, text[reading.end : until])
    elif label.heads:
        yield from _below(text[way.end() : until], label, scale)


def _until(text: str, start: int, following: _Label | None) -> int:
    """Where the part of the text ends that belongs to a name."""
    end = min(len(text), start + _SECTION)
    if following is not None and following.start < end:
        end = following.start
        if following.heads:
            end = max(start, text.rfind("\n", start, end))
    line_end = text.find("\n", start, end)
    stop = _STOP_LINE.search(text, line_end + 1, end) if line_end >= 0 else None
    blank = text.find(BLANK, start, end)
    return min(stop.start() if stop else end, blank if blank >= 0 else end)


def _noted(notes: str, scale: Scale) -> Reading | None:
    """ "Editing Accuracy (7/10): ..."."""
    if re.match(r"\s*(?:score:?[ ]*)?\d+(?:[.,]\d+)?[ ]?/[ ]?\d+\s*$", notes):
        reading = read_at(notes, len(notes) - len(notes.lstrip("scoreSCORE: ")), scale.of.plain)
        return reading if reading and reading.explicit else None
    return None


def _below(text: str, label: _Label, scale: Scale) -> Iterator[Candidate]:
    """The value in the lines that a name heads."""
    lines = list(_SCORE_LINE.finditer(text))
    for line in lines:
        if reading := read_at(text, line.end(), note_scale(line["note"] or "", scale)):
            yield _made(label, reading, text[: line.start()] + " " + text[reading.end :])
    if lines:
        return
    first = _FIRST_LINE.match(text)
    at = first.end() if first else 0
    if "\n" in text[:at] and (reading := read_at(text, at, scale)):
        alone = not text[reading.end :].split("\n")[0].strip()
        if alone or reading.explicit or reading.problem:
            yield _made(label, reading, text[reading.end :])
            return
    if found := settled(text, scale.of):
        place, reading = found
        yield _made(label, reading, text[:place] + " " + text[reading.end :])


def _made(label: _Label, reading: Reading, reason: str) -> Candidate:
    return Candidate(
        label.score, reading.value, reading.problem, tidy(reason), label.start, label.generic
    )
