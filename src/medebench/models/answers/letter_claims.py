"""Letters that an answer gives, and none that is an article, a name or a part of a word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from medebench.cases.choice_options import Option
from medebench.models.answers.answer_claim import Claim
from medebench.models.answers.denial import is_denied, is_supposed
from medebench.models.answers.option_mentions import OptionTexts

#: Letters of alphabets that are written with letters; those of others end a word as a blank does.
_ALPHA = "0-9A-Za-zÀ-ɏͰ-ӿ"
_NOUN = r"""(?:(?:final|correct|right|best|my|closest|likely
    |most\ (?:likely|appropriate|probable|accurate)|the
    |richtige|korrekte|endgültige|correcta|bonne|正确|最终)\s+){0,4}
    (?:answer|ans|option|choice|selection|selected|response|letter|conclusion|result|prediction
    |antwort|lösung|respuesta|opción|réponse|resposta|risposta|antwoord|svar|válasz|odpowiedź
    |ответ|cevap|الإجابة|الجواب|答案|答え|正解|选项|選項|정답|답)"""
_LINK = r"""(?:\s*(?:(?:is|are|was|(?:would|will|should|must|has\ to|seems\ to|to)\ be|be|therefore
    |thus|hence|then|clearly|most\ likely|likely|probably|definitely|here|the|option|choice|letter
    |answer|either|both|correct|correcta|correcte|correta|corretta|right|best|one|this|to|of|question
    |ist|es|est|la|le|el|(?-i:a|o|é|è)|är|er|jest|to|it)(?![0-9A-Za-zÀ-ɏͰ-ӿ])
    |[:=>\]–—-]|是|为|為|選|选|は|が|은|는|هي)){0,8}\s*"""
_LETTER = rf"[(\[{{\"'“‘]{{0,2}}\s*(?P<letter>[A-Za-z])(?![{_ALPHA}])"
_START = rf"(?:(?<![{_ALPHA}'’-]))"
_DECLARED = re.compile(
    rf"(?:{_START}|(?<=[^\x00-\x7f])){_NOUN}{_LINK}(?<![{_ALPHA}'’]){_LETTER}", re.I | re.X
)
_FINAL = re.compile(r"\bfinal|endgültig|最终", re.I)
_CHOSEN = re.compile(
    rf"""{_START}(?:I\ (?:would\ |will\ )?|I['’](?:d|ll)\ |we\ )
    (?:choose|pick|select|go\ with|opt\ for|say|answer|vote\ for|lean\ (?:towards?|to))\s+
    (?:the\s+)?
    (?:option\s+|choice\s+|answer\s+|letter\s+)?{_LETTER}
    |(?:故|因此|所以|应|應)?(?:选择|選擇|选|選)\s*[::]?\s*(?P<letter2>[A-Za-z])""",
    re.I | re.X,
)
_SO = re.compile(
    rf"""{_START}(?:so|therefore|thus|hence|but|rather|leaving|leaves)\s*,?\s+
    (?:(?:it|this)\s+(?:is|must\s+be|has\s+to\s+be)\s+)?(?:option\s+|choice\s+|only\s+)?
    {_LETTER}[)\]]?\s*(?=[.!\n]|$)""",
    re.I | re.X,
)
_GOOD = r"""(?:correct|right|true|the\ (?:most\ )?(?:\w+\ )?(?:answer|option|choice|one)
    |best|most\ likely|richtig|korrekt|correcta?|correct)"""
_VERDICT = re.compile(
    rf"""(?:^[>#*•–—\s-]*|(?<=[.;:!?\n])|{_START}(?:option|choice|letter|answer|so|therefore|thus|hence|that|think
    |believe|say|only|and|but|,))\s*{_LETTER}[)\]"'”’]{{0,2}}\s+
    (?:is|are|would\ be|must\ be|seems|fits|ist|es|est)\ 
    (?:therefore\ |clearly\ |thus\ |probably\ |both\ )?(?:{_GOOD})\b""",
    re.I | re.X | re.M,
)
_HEDGE = r"""(?:(?:option|choice|letter|answer|probably|likely|most\ likely|maybe|perhaps|definitely
    |i\ think|i\ believe|i\ guess|i['’]d\ say|i\ would\ say|it\ is|it['’]s|it\ must\ be|both|either)
    \s*[:,]?\s+){0,3}"""
_MARKS = r"[\s>#*•✅✔✓\-–—\"'“‘]*"
_LEADING = re.compile(rf"{_MARKS}{_HEDGE}(?<![{_ALPHA}]){_LETTER}", re.I | re.X)
_IS = re.compile(rf"\b(?:is|are|be)\s*[::]?\s+{_LETTER}", re.I)
_SENTENCE = re.compile(rf"(?:[.!?]\s+|\n[>#*•–—-]?\s*){_LETTER}[.):]", re.I)
_LAST = re.compile(
    r"[\s>#*•\-–—]*(?:option\s+)?[(\[\"'“‘]{0,2}([A-Za-z])[)\]\"'”’]{0,2}[.!]?\s*$", re.I
)
_ROW = re.compile(r"^(?:[>#*•\-–—(\[]|[^\S\n])*([A-Za-z])[)\].::]+[^\S\n]+(?=\S)(.{0,600})", re.M)
_ROW_GOOD = re.compile(
    r"(?<!not )(?<!in)\b(?:correct|right|true|best answer|the answer)\b|[✓✔✅☑]", re.I
)
_ROW_BAD = re.compile(
    r"\b(?:incorrect|wrong|false|not|unlikely|less likely|excluded|ruled out|no)\b|n['’]t\b"
    r"|[✗✘❌✕]",
    re.I,
)
_HEDGED = r"(?:(?:maybe|perhaps|possibly|probably|rather|else|even)\s+)?"
_MORE = re.compile(
    r"\s*[)\]]?\s*(?:,\s*(?:and|or)?|/|&|\+|and|or|und|oder|et|ou|y|o|e|和|或|、)\s*"
    rf"{_HEDGED}"
    rf"(?:option\s+)?[(\[]?(?P<letter>[A-Za-z])(?![{_ALPHA}'’-])",
    re.I,
)
#: What may follow a letter in the same sentence; other words make it an article or a name.
_THEN = r"""(?:because|since|as|which|due|given|but|here|over|rather|based|therefore|for\ the
    |weil|da|porque|ya|car|parce)"""
_IS_GOOD = re.compile(r"[)\]\"'”’]{0,2}\s+(?:is|are|would|must|seems|fits|ist|es|est)\b", re.I)
_FREE = re.compile(
    rf"""[)\]}}\"'”’]{{0,2}}(?:\s*$|\s*\n|[^\S\n]*[.,;:!?)\]]+(?=\s|$)|\s+[-–—:(=]
    |[-–—:](?=\s)|\s+{_THEN}\b|[^\x00-\x7fÀ-ɏͰ-ӿ])""",
    re.X | re.I,
)
_AFTER_MARK = re.compile(r"[)\]}\"'”’]{0,2}\s*[.:)\-–—,(]*\s*[\"'“‘(\[]?\s*")
_NEITHER = re.compile(r"\W*n\s*/\s*a\W*", re.I)
_WRONG = re.compile(
    r"""\b(?:wrong|incorrect|least|worst|false|another|other|previous|first|common|usual|tempting
    |alternative|student['’]s|his|her|their)\s+$|\b(?:anything|everything|nothing|none|all|any)\s+but\s*$""",
    re.I | re.X,
)
_ASKED = re.compile(
    r"(?:^|[.!?\n]\s*)(?:is|are|could|would|should|might|may|can|does|why)\b[^.!?\n]*\?$", re.I
)
#: "B? I am not sure."
_ASKING = re.compile(r"[)\]\"'”’]{0,2}\s*\?")
_QUIET = " \n?!.\"'”’)*"
_MARKED = re.compile(r"(?<![\w'’-])([A-Z])[)\]]?[.):]")
_REVISED = re.compile(
    rf"""\b(?:correction|wait|actually|sorry|however|instead|on\ second\ thought|no
    |or\ (?:maybe|perhaps|possibly|rather))\b[^.\n]{{0,40}}?
    (?<![{_ALPHA}'’-])([A-Z])[)\]]?\s*(?=[.,;!\n]|$)""",
    re.I | re.X,
)
#: From the text of one option to the letter of the next.
_NEXT = re.compile(r"[\s,;.|]{1,4}[(\[*-]{0,2}\s?(?P<letter>[A-Z])(?=[)\].:])")
_ENDED = re.compile(r"[.;]?\s*(?:\n|$)")
_JOINED = re.compile(rf"(?<![\w'’-])([A-Z])[)\]]?\s*(?:,|,?\s*(?:and|or)|&|/)\s*{_HEDGED}[(\[]?$")
#: "A pneumothorax, which is option ": what is named before is what the letter must be.
_APPOSED = re.compile(
    r"[\"'”’]?[\s,.;(–—-]{1,4}(?:which|that|this|it)\s+(?:is|would\s+be|corresponds\s+to|means|matches)"
    r"(?:\s+(?:the|correct|option|choice|answer|letter))*\s*[(\[]?$",
    re.I,
)
_GENUS = re.compile(r"\.\s+[a-zß-ÿ]")
#: "A: 10 %, B: 70 %", "A? No. B? Yes.": the first of them is no answer for being first.
_RATED = re.compile(
    rf"""(?<![{_ALPHA}'’-])(?P<letter>[A-Z])[)\]]?\s*(?:[:=?(–—-]|(?<=[)\]]))\s*\(?
    (?:(?P<good>(?:yes|true|correct|right)\b|[✓✔✅☑])
    |(?P<bad>(?:no|not|false|wrong|incorrect|unlikely|excluded|impossible|ruled\ out)\b|[✗✘❌✕])
    |[.]?\d|(?:possibl[ey]|probabl[ey]|likely|maybe|perhaps|less|more|most|this)\b)""",
    re.I | re.X,
)
#: A small letter is one only at an end, or before a reason.
_SMALL = re.compile(r"[)\]\"'”’]{0,2}(?:\s*$|[.,:!?)]|\s*\n|\s+(?:because|since)\b)", re.I)
_PHRASE = re.compile(r"[^\n.,;:!?()]{1,60}")
_VERBS = re.compile(
    r"\b(?:is|are|was|were|has|have|had|shows?|because|since|as|would|can|could|should|there|this|it|i|we|the"
    r"|correct|right|seen|visible|no|not|fits?|based|due|indicates?|suggests?|with|of|from|if|when|so)\b",
    re.I,
)


def letter_claims(text: str, options: Sequence[Option], texts: OptionTexts) -> list[Claim]:
    """What is claimed by a letter, denied ones left out."""
    reader = _Letters(text, options, texts)
    return list(reader.claims())


class _Letters:
    def __init__(self, text: str, options: Sequence[Option], texts: OptionTexts) -> None:
        self.text, self.texts = text, texts
        self.places = {one.letter: i for i, one in enumerate(options) if one.letter}
        rows = [(one, one[1].upper()) for one in _ROW.finditer(text)]
        rows = [(one, letter) for one, letter in rows if letter in self.places]
        listed = len({letter for _, letter in rows}) > 1
        self.rows = (
            {one.start(1): (one, self.places[letter]) for one, letter in rows} if listed else {}
        )
        rated = [
            one
            for one in _RATED.finditer(text)
            if one["letter"] in self.places and not self._own_text(one.start("letter"))
        ]
        several = len({one["letter"] for one in rated}) > 1
        self.rated = {one.start("letter"): one for one in rated} if several else {}

    def claims(self) -> Iterator[Claim]:
        text = self.text
        for found in _DECLARED.finditer(text):
            yield from self._claim(found, final=bool(_FINAL.search(found[0])))
        for pattern in (_CHOSEN, _SO):
            for found in pattern.finditer(text):
                yield from self._claim(found)
        for found in _VERDICT.finditer(text):
            yield from self._claim(found, judged=True)
        for found in _IS.finditer(text):
            # "The mass is B. Liver": only with the text of that very option.
            if self._own_text(found.start("letter")):
                yield from self._claim(found)
        for found in _SENTENCE.finditer(text):
            # "E. No fracture." at the very end.
            end = self._own_text(found.start("letter"), of_any=True)
            if end and not text[end:].strip(" .\n"):
                yield from self._claim(found)
        if _NEITHER.fullmatch(text):
            return
        yield from self._revised()
        listed = self._in_line()
        if len({self._place(start) for start in listed}) > 1:
            # "A. Yes, B. No" repeats the choices.
            every = tuple(dict.fromkeys(self._place(start) for start in listed))
            leads = not text[: listed[0]].strip(" (>#*-")
            yield Claim(every, listed[0], listed[0] + 1, weak=not leads)
        elif first := _LEADING.match(text):
            yield from self._claim(first)
        *_, last = text.rstrip().rpartition("\n")
        if (alone := _LAST.match(last)) and len(text.rstrip()) > len(last):
            start = len(text.rstrip()) - len(last) + alone.start(1)
            yield from self._at(start, final=False)
        if self.rows:
            yield from self._listed()
        elif self.rated:
            yield from self._judged_one_by_one()

    def _claim(
        self, found: re.Match[str], final: bool = False, judged: bool = False
    ) -> Iterator[Claim]:
        group = "letter" if found.groupdict()["letter"] else "letter2"
        if _WRONG.search(self.text[max(0, found.start() - 40) : found.start()]):
            return
        yield from self._at(found.start(group), final, judged)

    def _at(self, start: int, final: bool, judged: bool = False) -> Iterator[Claim]:
        if start in self.rows or start in self.rated:
            return
        every, end = self._list(start)
        before = self.text[max(0, start - 200) : start]
        if _WRONG.search(before):
            return
        if is_supposed(before) or _ASKED.search(before + self.text[start : end + 3]):
            return
        asked = _ASKING.match(self.text, end)
        rest = self.text[asked.end() :].strip(_QUIET) if asked else ""
        if rest and not _REVISED.search(rest):
            return
        if other := _JOINED.search(before):
            every.insert(0, self._place(start - len(before) + other.start(1)))
        single = len(every) == 1
        if is_denied(self.text, start, end):
            return
        place = every[0]
        if single:
            attached = self._attached(start, place, judged)
            if attached is None:
                return
            conflict, end = attached
            if not conflict and is_denied(self.text, start, end):
                return
            every += self._repeated(start, end)
            conflict = conflict or self._apposed(start, before) not in (None, place)
        else:
            conflict = False
            if not (_FREE.match(self.text, end) or _IS_GOOD.match(self.text, end)):
                return
        yield Claim(tuple(dict.fromkeys(every)), start, end, conflict, final)

    def _apposed(self, start: int, before: str) -> int | None:
        """The option whose text the letter is said to stand for."""
        if (link := _APPOSED.search(before)) is None:
            return None
        end = start - len(before) + link.start()
        named = self.texts.named(self.text[start - len(before) : end])
        return next((place for place, _, stop in named if stop == link.start()), None)

    def _in_line(self) -> list[int]:
        """Letters in a line that are followed by the text of their own option."""
        return [
            found.start(1)
            for found in _MARKED.finditer(self.text)
            if found.start(1) not in self.rows
            and (end := self._own_text(found.start(1)))
            and not is_denied(self.text, found.start(1), end)
        ]

    def _revised(self) -> Iterator[Claim]:
        """What is said in place of an earlier answer stands against it."""
        for found in _REVISED.finditer(self.text):
            yield from self._at(found.start(1), final=False)

    def _list(self, start: int) -> tuple[list[int], int]:
        every, end = [self._place(start)], start + 1
        while (more := _MORE.match(self.text, end)) and self._is_letter(more.start("letter")):
            every.append(self._place(more.start("letter")))
            end = more.end()
        return every, end

    def _repeated(self, start: int, end: int) -> list[int]:
        """The options that follow at once with nothing but their texts: the choices told again."""
        if not (end := self._own_text(start)):
            return []
        found: list[int] = []
        while next_one := _NEXT.match(self.text, end):
            if not (end := self._own_text(next_one.start("letter"))):
                return []
            found.append(self._place(next_one.start("letter")))
        return found if not found or _ENDED.match(self.text, end) else []

    def _own_text(self, start: int, of_any: bool = False) -> int:
        """Where the text of the letter's own option ends that follows it, or 0."""
        mark = _AFTER_MARK.match(self.text, start + 1)
        if mark is None or mark.end() == start + 1 or mark[0].isspace():
            return 0
        named = self.texts.at(self.text, mark.end())
        own = named is not None and (of_any or named[0] == self._place(start))
        return named[1] if named is not None and own else 0

    def _is_letter(self, start: int) -> bool:
        behind = (_FREE, _IS_GOOD, _MORE)
        return self.text[start].isupper() and any(one.match(self.text, start + 1) for one in behind)

    def _place(self, start: int) -> int:
        return self.places.get(self.text[start].upper(), -1)

    def _attached(self, start: int, place: int, judged: bool) -> tuple[bool, int] | None:
        """Whether another option's text follows, and where the letter with its text ends.

        None where this is no letter of an answer.
        """
        text, end = self.text, start + 1
        letter = text[start]
        mark = _AFTER_MARK.match(text, end)
        behind = mark.end() if mark else end
        touching = behind == end
        named = None if touching else self.texts.at(text, behind)
        if named is not None and "\n" not in text[end:behind]:
            other, stop = named
            # "A pneumothorax" has an article.
            article = letter in "Aa" and text[end:behind].isspace() and text[behind].islower()
            return None if article and other != place else (other != place, stop)
        if judged and letter.isupper() and _IS_GOOD.match(text, end):
            return False, end
        if not _FREE.match(text, end):
            return None
        if letter == "I" and "I" not in self.places:
            return None
        if letter.islower() and not _SMALL.match(text, end):
            return None
        if _GENUS.match(text, end):
            return None
        said = (
            _PHRASE.match(text, behind)
            if re.match(r"[)\]]?[.:)]|\s+[-–—]", text[end : end + 3])
            else None
        )
        if said is None or "\n" in text[end:behind]:
            return False, end
        words = said[0].split()
        if text[behind + len(said[0]) :][:1] in (":", ","):
            # "A. Explanation: ..." goes on with something else.
            return False, end
        if 1 <= len(words) <= 4 and not _VERBS.search(said[0]) and place >= 0:
            own = set(self.texts.texts[place].split())
            return not {one.casefold().strip("\"'”’") for one in words} <= own, end
        return False, end

    def _judged_one_by_one(self) -> Iterator[Claim]:
        """One that is right where all others are wrong."""
        good = [one for one in self.rated.values() if one["good"]]
        if len(good) == 1 and sum(bool(one["bad"]) for one in self.rated.values()) == (
            len(self.rated) - 1
        ):
            start = good[0].start("letter")
            yield Claim((self._place(start),), start, start + 1)

    def _verdict(self, row: re.Match[str]) -> str:
        """What a row says behind the text of its option."""
        named = self.texts.at(self.text, row.start(2))
        return row[2] if named is None else row[2][named[1] - row.start(2) :]

    def _listed(self) -> Iterator[Claim]:
        good = [
            (found, place)
            for found, place in self.rows.values()
            if (said := self._verdict(found))
            and _ROW_GOOD.search(said)
            and not _ROW_BAD.search(said)
        ]
        if len(good) == 1:
            found, place = good[0]
            yield Claim((place,), found.start(1), found.end(1))
        else:
            first = next(iter(self.rows.values()))[0]
            every = tuple(dict.fromkeys(place for _, place in self.rows.values()))
            yield Claim(every, first.start(1), first.end(1), weak=True)
