"""Options that an answer names by their text, as what it takes to be right."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from medebench.models.answers.answer_claim import Claim
from medebench.models.answers.denial import is_denied, is_supposed
from medebench.models.answers.option_mentions import OptionTexts

_EDGES = " \t\n\r.,;:!?\"'“”‘’()[]{}*#>•-–—。，：、"
_ARTICLE = r"(?:(?:an?|the|most\s+likely|likely|probably|therefore|clearly|indeed|called)\s+)*"
_ANSWER = re.compile(
    rf"""\b(?:(?:final|correct|right|best|most\ \w+|my)\s+){{0,3}}
    (?:answer|choice|option|diagnosis|conclusion|antwort|respuesta|réponse|resposta|risposta)
    (?:\s+(?:here|to\ this\ question))?\s*
    (?:(?:is|would\ be|must\ be|ist|es|est|é)\b\s*:?|[:=])\s*["'“‘]?{_ARTICLE}["'“‘(]?$""",
    re.I | re.X,
)
_SHOWN = re.compile(
    rf"""(?:\b(?:is|shows?|showing|indicates?|suggests?|represents?|demonstrates?|reveals?|depicts?|means?
    |marks?|signif(?:y|ies)|(?:interpreted|classified|labell?ed|identified|described|known)\s+as
    |corresponds?\s+to|appears?\s+to\s+be|looks?\s+like
    |(?:consistent|compatible)\s+with|(?:typical|characteristic|suggestive|indicative|diagnosis)\s+of
    |in\s+keeping\s+with|points?\s+to|(?:is|lies|located)\s+(?:in|on|at|to)
    |(?:seen|visible|present)\s+(?:on|to)
    |not\b[^.;!?\n]{{1,60}}\bbut)|['’]s)\s+{_ARTICLE}["'“‘(]?$""",
    re.I | re.X,
)
#: "The heart is normal" is not about the image.
_STATE = {"normal", "abnormal", "healthy", "unremarkable", "clear"}
_PART = re.compile(
    r"""(?<![\w-])(?!(?:images?|pictures?|x-?rays?|radiographs?|films?|scans?|cts?|mris?|ultrasounds?|study|exam
    |examination|photo(?:graph)?s?|slides?|sections?|views?|chest|brain|abdomen|it|this|that|everything
    |all|answer|diagnosis|findings?|result|appearance|impression|conclusion|option|choice)\b)
    [\w-]+\s+(?:is|appears?\s+to\s+be)\s+$""",
    re.I | re.X,
)
_VERDICT = re.compile(
    r"""["'”’)]?\s+(?:is|are|was)\s+(?:(?:also|clearly|likely|probably|both|most\s+likely|therefore)\s+)?
    (?:(?P<strong>(?:the\s+)?(?:most\s+|single\s+)?(?:\w+\s+)?(?:answer|option|choice|diagnosis)\b
    |correct\b|right\b)|seen\b|present\b|visible\b|shown\b|noted\b|evident\b|(?:most\s+)?likely\b)""",
    re.I | re.X,
)
_TAIL = r"(?:\s+(?:deficiency|sides?|scan|image|view|plane|section|modality|study|disease))?"
_STOP = re.compile(
    rf"""{_TAIL}["'”’)]{{0,2}}\s*(?:$|[.,;:!?\n(]|\b(?:which|because|since|as|with|rather|and|or|on|at|that|due
    |seen|is|was|instead|given|not|in|for|here)\b)""",
    re.I | re.X,
)
_JOINED = re.compile(
    r"\s*(?:,|/|&|\band\b|\bor\b|,\s*(?:and|or)\b)\s*(?:in\s+|on\s+)?(?:an?\s+|the\s+)?", re.I
)
#: "FLAIR, not T2": what is only excluded behind it.
_NOT_ANOTHER = re.compile(r"^,?\s+(?:and\s+)?(?:not|rather than|instead of)\b[^.\n]*", re.I)
_SIDE = re.compile(r"(?:on|in|at|to)\s+(?:the\s+)?(?=left\b|right\b|both\b)", re.I)
_WORDS = re.compile(r"^(?:yes|no|none|one|true|false|left|both)$")
#: In a longer answer only its ends say what it comes to.
_LONG = 400
_BACK = 90
#: Stands before a short answer that is another one, in so many characters at most.
_ALONE = re.compile(r"(?:[.,;:!\n]|\band|\bor|\bwait|\bactually)\s*$", re.I)
_JOINING = 12


def text_claims(text: str, texts: OptionTexts) -> list[Claim]:
    """What is claimed by an option's text, denied ones left out."""
    return list(_claims(text, texts))


def _claims(text: str, texts: OptionTexts) -> Iterator[Claim]:
    bare = text.strip(_EDGES)
    if not bare:
        return
    start = text.index(bare)
    line = bare.split("\n", 1)[0].strip(_EDGES)
    side = _SIDE.match(text, start)
    named = texts.at(text, side.end() if side else start)
    if named is not None:
        place, end = named
        rest = _NOT_ANOTHER.sub("", text[end : start + len(bare)])
        rest = re.sub(rf"^{_TAIL}", "", rest, flags=re.I).strip(_EDGES)
        first = len(line) <= end - start + 1
        led = bool(_WORDS.match(texts.texts[place])) and text[end : end + 1] in ",.;:!\n"
        if not rest or (first and "\n" in text[end:]) or led:
            every = (place, *_taken_back(text, end, texts)) if led else (place,)
            yield Claim(tuple(dict.fromkeys(every)), start, end)
            if not rest:
                return
    mentions = [
        (place, begin, end)
        for place, begin, end in texts.named(text)
        if len(text) <= _LONG or begin < _LONG // 2 or end > len(text) - _LONG // 2
    ]
    before: tuple[int, Claim] | None = None
    for place, begin, end in mentions:
        joined = before is not None and _JOINED.fullmatch(text, before[0], begin)
        asked = text[end : end + 1] == "?" and len(bare) > end - begin + 4
        if is_denied(text, begin, end) or is_supposed(text[max(0, begin - _BACK) : begin]) or asked:
            before = None
            continue
        claim = _claim(text, place, begin, end)
        if claim is None and joined and before is not None:
            claim = Claim((place,), begin, end, weak=before[1].weak)
        if claim is not None:
            yield claim
            before = end, claim
        else:
            before = None
    if len(bare) < 120:
        yield from _pair(text, [one for one in mentions if not is_denied(text, *one[1:])])


def _taken_back(text: str, end: int, texts: OptionTexts) -> Iterator[int]:
    """ "Yes. Wait, no.": other short answers that stand alone behind the first."""
    for place, begin, stop in texts.named(text[end:]):
        # No further back than a joining word is long, or a long answer takes its length squared.
        alone = _ALONE.search(text, max(0, end + begin - _JOINING), end + begin)
        if alone and _WORDS.match(texts.texts[place]) and text[end + stop :][:1] in (*".,;!\n", ""):
            yield place


def _claim(text: str, place: int, begin: int, end: int) -> Claim | None:
    lead = text[max(0, begin - _BACK) : begin]
    if text[begin:end].lower() == "right" and not lead.rstrip().endswith("the"):
        return None  # "That's right."
    stops = bool(_STOP.match(text, end))
    if stops and _ANSWER.search(lead):
        return Claim((place,), begin, end, final=bool(re.search(r"\bfinal\s+\w+\W", lead, re.I)))
    if verdict := _VERDICT.match(text, end):
        return Claim((place,), begin, end, weak=not verdict["strong"])
    if stops and _SHOWN.search(lead):
        if text[begin:end].lower() in _STATE and _PART.search(lead):
            return None
        return Claim((place,), begin, end, weak=True)
    return None


def _pair(text: str, mentions: list[tuple[int, int, int]]) -> Iterator[Claim]:
    """Two options beside each other in a short answer that says no more of either."""
    for (one, start, end), (other, begin, stop) in itertools.pairwise(mentions):
        if one != other and _JOINED.fullmatch(text, end, begin):
            yield Claim((one, other), start, stop, weak=True)
