"""Reading one score out of what stands where a score should be. A doubt is a problem."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_START = re.compile(
    r"""[ \t"'“‘(\[]*(?:
      (?P<bound>>=|<=|[<>≥≤]|(?:at[ ]least|at[ ]most|up[ ]to|less[ ]than|more[ ]than|under|over
        |below|above|minimum|maximum)\b)
    | (?P<absent>(?:n\s?/\s?a|nan|null|none|nil|unknown|undefined|tbd|inf(?:inity)?)\b
        |(?:not[ ](?:applicable|available|assessable|scored?|rated|determined|possible)
          |cannot|can['’]?t|could[ ]not|unable|impossible|undetermin|insufficient|no[ ]score
          |nicht[ ]bewertbar|无法|不适用))
    | (?:~[ ]?|≈[ ]?|(?:about|around|approximately|approx\.?|circa|ca\.|roughly)[ ]|a[ ])?
      (?:(?P<sign>[+\-−])?(?P<number>\d{1,9}(?:\.\d{1,9}|,\d{1,2})?)(?![\d])
        |(?P<word>zero|one|two|three|four|five|six|seven|eight|nine|ten)\b)
    )""",
    re.I | re.X,
)
_OUT_OF = r"(?:/|out[ ]of|over|von|sur|de|su|of|sobre|из|중)"
_DENOMINATOR = re.compile(
    rf"""[ \t]*(?:(?:points?|pts?\.?|punkte?n?|puntos|pontos|punti)[ \t]*)?
    (?:{_OUT_OF}[ \t]*(?:a[ ](?:possible|maximum[ ]of)[ ]|max(?:imum)?\.?[ ])?
      (?:(?P<top>\d{{1,6}})(?:[.,]0+)?(?![\d]|[.,]\d)|(?P<ten>ten\b))
     |(?P<percent>%|percent\b|per[ ]cent\b|prozent\b))""",
    re.I | re.X,
)
_RANGE = re.compile(
    r"[ \t]*(?:-|–|—|−|\.\.\.?|…|~|±|\+/-|->|→|⟶|&|\bto\b|\bbis\b|\bor\b|\boder\b|\bou\b|\band\b)"
    r"[ \t]*(?:an?[ ])?[~+]?(?P<second>\d+(?:[.,]\d+)?)",
    re.I,
)
_HALF = re.compile(r"[ \t]*(?:[¼½¾⅓⅔⅛]|\+|and[ ]a[ ](?:half|quarter|third)|point[ ])", re.I)
_SECOND = re.compile(r"[ \t]+\d")
_UNIT = re.compile(
    r"[ \t]*(?:分|点|점|points?\b|pts?\b\.?|punkte?n?\b|puntos\b|pontos\b|балл\w*)", re.I
)
_STOP = r"""[ \t]*(?:$|\n|[,;!?)\]}|"'“”’‘(。，；、\x00]|\.(?!\d)|:(?![\d])|\.\.\.|…
      |[ \t][-–—](?=[ \t\n]|$|\w)|[-–—](?=[ \t\n]|$)|–(?=[^\W\d])|—(?=[^\W\d])
      |//|\#|<
      |(?:NAMES|because|since|as|due|given|with|but|while|although|though|weil|da|car|porque|pois
        |perché|overall|reason|justification|in[ ]my|considering|based|and|here|thanks)\b)"""
#: A fraction that is talked about, counted with or dated, not given.
_TALK = re.compile(
    r"[ \t]*(?:/|=|(?:would|means?|could|might|if|is[ ]the[ ]max)\b)"
    r"|[ \t]+for\b[^\n]{0,80}?\d[ ]?(?:/|out of)[ ]?\d+[ ]+for\b",
    re.I,
)
_COUNTED = re.compile(r"[ \t]+[a-z]")
_GOES_ON = re.compile(
    r"[ \t]+(?:for|on|in|the|this|there|it|only|mostly|which|where|still|after)\b"
)
#: "1. The mole is gone. 2. ...": a list, not a score of one.
_LISTED = re.compile(r"\)[ \t]+\w|\.[ \t]+\w[^\x00]{0,400}?(?<![\d.,/])2[.)][ \t]", re.S)
_ANOTHER = re.compile(r"[;,][ \t]+\d+(?:[.,]\d+)?[ \t]*(?:$|\n|[;.,])")
_STRICT_STOP = re.compile(
    r"[ \t]*(?:$|\n|[,;!?)\]}|\"(]|\.(?!\d)|(?:because|since|due|given|while|but|and|as)\b)",
    re.I,
)
_SCALE = r"""(?:\bscales?\b|\bskala\b|\bechelle\b|\béchelle\b|\bescala\b|normali[sz]ed)
        [^\d\n\[]{0,15}
        [\[(]?\bLOW(?:\.0)?[ ]?(?:-|–|—|to|bis|à|a|,)[ ]?(?P<a>TOPS)(?:\.0)?\b(?!\.\d|[ ]?mm)
      |\bLOW(?:\.0)?[ ]?(?:-|–|—|to|bis)[ ]?(?P<b>TOPS)(?:\.0)?[ ](?:point[ ])?(?:scale|skala)\b
      |\bbetween[ ]LOW(?:\.0)?[ ]and[ ](?P<c>TOPS)(?:\.0)?\b"""
_NOTE_SCALE = re.compile(
    r"(?:\b[01](?:\.0)?[ ]?(?:-|–|—|to|bis)[ ]?|out of |max(?:imum)?\.?:? |/ ?|von )"
    r"(\d{1,4})(?:\.0)?\b",
    re.I,
)
_FRACTION = re.compile(r"\d+(?:[.,]\d+)?[ ]?(?:/|out of)[ ]?\d+", re.I)
#: What stands before a fraction that is the result: punctuation, or a word of scoring.
_GIVES = re.compile(
    r"(?:^|[\n(\[:=,;.!?|★☆✓→]|[-–—][ \t])[ \t]*$"
    r"|\b(?:scor(?:e|es|ed|ing)|rat(?:e|es|ed|ing)|giv(?:e|es|en|ing)|gets?|earns?|receives?"
    r"|assign(?:s|ed)?|award(?:s|ed)?)[ ](?:(?:it|this|the[ ]edit|is|as|at|of|a|an|him)[ ]){0,3}$",
    re.I,
)
#: What is said of another picture, or of no picture at all.
_OTHERS = re.compile(
    r"\b(?:reference|image 3|ground truth|ideal|perfect|maximum|would|could|not)\b[^.!?\n]*$", re.I
)
_PLACEHOLDER = (
    r"^\W*(?:<[^<>]*>|\[[^\[\]]*\]|\.\.\.|…|x|n|score|number|integer|float|LOW ?[-–] ?TOP|_+"
    r"|\?+)\W*(?:/ ?TOP)?$"
)


@dataclass(frozen=True)
class RubricScale:
    """The scale that a rubric asks for. Of one that begins at 0, others are read as a share."""

    low: int = 0
    top: int = 10
    #: Words of the names of scores, which may follow a number at once: "EA 7 VQ 8".
    names: tuple[str, ...] = ()
    #: Numbers of things, whole ones: there is no share of them.
    counts: bool = False

    @property
    def tops(self) -> tuple[int, ...]:
        """Scales, by their greatest number, that can be turned into this one."""
        shares = self.low == 0 and not self.counts
        return tuple(sorted({1, 10, 100, self.top})) if shares else (self.top,)

    @property
    def plain(self) -> Scale:
        """Of numbers that do not say what they are out of."""
        return Scale(self.top, of=self)

    @cached_property
    def stop(self) -> re.Pattern[str]:
        # A word that cannot be, where there are no names.
        names = "|".join(map(re.escape, self.names)) or "(?!)"
        return re.compile(_STOP.replace("NAMES", names), re.I | re.X)

    @cached_property
    def stated(self) -> re.Pattern[str]:
        tops = "|".join(map(str, sorted(self.tops, reverse=True)))
        return re.compile(_SCALE.replace("LOW", str(self.low)).replace("TOPS", tops), re.I | re.X)

    @cached_property
    def placeholder(self) -> re.Pattern[str]:
        form = _PLACEHOLDER.replace("LOW", str(self.low)).replace("TOP", str(self.top))
        return re.compile(form, re.I)


@dataclass(frozen=True)
class Scale:
    """The scale of numbers that do not state their own: `sure` if said right beside the number."""

    top: int
    of: RubricScale
    sure: bool = False


@dataclass(frozen=True)
class Reading:
    """A value or a problem, where it ends, and whether it states what it is out of."""

    value: float | None
    problem: str | None
    end: int
    explicit: bool = False


def read_at(text: str, at: int, scale: Scale, *, strict: bool = False) -> Reading | None:
    """The score that begins at `at`, or None where no score stands there.

    `strict` is for places where a number may well be something else ("quality is 2 points lower").
    """
    found = _START.match(text, at)
    if not found:
        return None
    if found["absent"]:
        said = found["absent"].lower()
        return None if strict else Reading(None, f"is not given ('{said}')", found.end())
    if found["bound"]:
        return _bound(text, found)
    value, end = _number(found), found.end()
    if re.compile(r"[.,]?\d").match(text, end):
        return None
    out_of = _DENOMINATOR.match(text, end)
    span = _RANGE.match(text, end)
    if span and not out_of:
        return Reading(None, f"is a range ({_said(text, found, span.end())})", span.end())
    if out_of:
        return _with_denominator(text, found, value, out_of, scale.of)
    if value == 1 and _LISTED.match(text, end):
        return None
    if any(one.match(text, end) for one in (_HALF, _SECOND, _ANOTHER)):
        return Reading(None, f"is not one plain number ({_said(text, found, end + 6)})", end)
    if unit := _UNIT.match(text, end):
        end = unit.end()
    stop = _STRICT_STOP if strict or found["word"] else scale.of.stop
    if not stop.match(text, end):
        return None
    return _on_scale(value, scale, end)


def _number(found: re.Match[str]) -> float:
    if found["word"]:
        return float(_WORDS.index(found["word"].lower()))
    value = float(found["number"].replace(",", "."))
    return -value if found["sign"] in ("-", "−") else value


def _said(text: str, found: re.Match[str], end: int) -> str:
    return " ".join(text[found.start() : end].split()).strip("\"'([ ")


def _bound(text: str, found: re.Match[str]) -> Reading | None:
    number = re.compile(r"[ \t]*\d+(?:[.,]\d+)?").match(text, found.end())
    if not number:
        return None
    return Reading(None, f"is a bound ({_said(text, found, number.end())})", number.end())


def _with_denominator(
    text: str, found: re.Match[str], value: float, out_of: re.Match[str], of: RubricScale
) -> Reading | None:
    end = out_of.end()
    top = 100 if out_of["percent"] else 10 if out_of["ten"] else int(out_of["top"])
    span = _RANGE.match(text, end)
    second = _DENOMINATOR.match(text, span.end()) if span else None
    if span and second and second.groups() == out_of.groups():
        return Reading(None, f"is a range ({_said(text, found, span.end())})", span.end())
    if _HALF.match(text, end) and text[end : end + 1] == "+":
        return Reading(None, f"is a bound ({_said(text, found, end + 1)})", end + 1)
    if text[end : end + 1].isalnum() or _TALK.match(text, end):
        return None
    if _COUNTED.match(text, end) and not (of.stop.match(text, end) or _GOES_ON.match(text, end)):
        return None
    said = _said(text, found, end)
    if top not in of.tops:
        return Reading(None, f"is not given out of {of.top} ({said})", end, explicit=True)
    return _checked(value * of.top / top, said, end, of, explicit=True)


def _on_scale(value: float, scale: Scale, end: int) -> Reading:
    top, of = scale.top, scale.of
    if top > of.top and not scale.sure and value <= of.top:
        return Reading(None, f"has no clear scale ({value:g}, with 0-{top} mentioned)", end)
    if top not in of.tops:
        return Reading(None, f"is not given out of {of.top} ({value:g} on 0-{top})", end)
    if top < of.top and value > top:
        return Reading(None, f"has no clear scale ({value:g}, with 0-{top} mentioned)", end)
    return _checked(value * of.top / top, f"{value:g}", end, of)


def _checked(
    value: float, said: str, end: int, of: RubricScale, *, explicit: bool = False
) -> Reading:
    value = round(value, 6) + 0.0
    if of.counts and value % 1:
        return Reading(None, f"is not a whole number ({said})", end, explicit)
    if not of.low <= value <= of.top:
        return Reading(None, f"is outside {of.low}-{of.top} ({said})", end, explicit)
    return Reading(value, None, end, explicit)


def read_number(number: str, scale: Scale) -> Reading:
    """A JSON number, given as it is written."""
    try:
        value = float(number)
    except (ValueError, OverflowError):
        return Reading(None, f"is not a number ({number[:30]})", len(number))
    if value != value or value in (float("inf"), float("-inf")):
        return Reading(None, f"is not a number ({number[:30]})", len(number))
    return _on_scale(value, scale, len(number))


def is_placeholder(text: str, of: RubricScale) -> bool:
    """Whether the answer repeats the form instead of filling it in."""
    return len(text) < 60 and bool(of.placeholder.match(text.strip()))


def stated_scale(text: str, of: RubricScale) -> Scale:
    """The scale that the answer as a whole says it uses; two different ones cancel out."""
    tops = {int(m["a"] or m["b"] or m["c"]) for m in of.stated.finditer(text)}
    return Scale(tops.pop(), of) if len(tops) == 1 else of.plain


def note_scale(note: str, otherwise: Scale) -> Scale:
    """The scale in the parentheses after a label: "(0-1)", "(out of 100)"."""
    tops = {int(top) for top in _NOTE_SCALE.findall(note[:80])}
    return Scale(tops.pop(), otherwise.of, sure=True) if len(tops) == 1 else otherwise


def settled(text: str, of: RubricScale) -> tuple[int, Reading] | None:
    """The one "7/10" that a text gives as its result, and where it begins.

    Two different ones, or one that the text merely mentions ("unlike a 10/10 result"), settle
    nothing.
    """
    found = [(m.start(), read_at(text, m.start(), of.plain)) for m in _FRACTION.finditer(text)]
    stated = [(start, reading) for start, reading in found if reading and reading.explicit]
    if len({(reading.value, reading.problem) for _, reading in stated}) != 1:
        return None
    for start, reading in stated:
        before = text[max(0, start - 40) : start]
        if _GIVES.search(before) and not _OTHERS.search(before):
            return start, reading
    return None
