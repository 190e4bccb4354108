"""Findings named in a text, and what is said of each: not there, unsure, left, right, benign.

Lexical: words of a small lexicon and rules about the words around them, in the manner of ConText
(Harkema et al. 2009), written anew. A cue holds from where it stands to the end of its clause;
clauses end at sentences, at words such as "but" or "there is", and where a comma or an "and" is
followed by words that begin a statement of its own ("no effusion, small left pneumothorax").
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from medebench.metrics.text.finding_words import PASSED_OVER, CueKind, Side, fold, lexicon
from medebench.metrics.text.section_headings import split_sections

#: Words, numbers, and signs at which something may end; a line ends a sentence only where the next
#: one does not go on in small letters.
_TOKEN = re.compile(r"\d+(?:\.\d+)?|[A-Za-z]+n['’]t\b|[A-Za-z]+|[.;:!?,]|\n(?=\s*[^a-z\s])|\n\s*\n")
_ENDS = frozenset(".;!?\n")
#: "Effusion: none", "effusion - absent".
_TABLED = frozenset(("none", "absent", "negative", "nil"))
_VERBS = frozenset(("is", "are", "was", "were", "has", "have", "remains", "noted", "present"))
_SINGULAR = frozenset(("is", "was", "has"))
_LEADING_TO_A_SIDE = frozenset(("in", "on", "at", "of", "within", "involving", "along", "over"))
_COMPARING = frozenset(("and", "than", "or"))
_EITHER = frozenset(("absent", "resolved", "unlikely", "cleared", "ruled"))
#: Sections that tell what was asked or was known, not what is seen.
_ASIDE = frozenset(("INDICATION", "HISTORY", "TECHNIQUE", "COMPARISON", "EXAMINATION"))
#: Words of a sentence; what is longer has lost its signs, and is cut so that work stays in bounds.
_LONGEST = 400
#: Words between a side, or benign, and the finding it is said of.
_NEAR, _FAR = 4, 10


@dataclass(frozen=True)
class Finding:
    """A finding where the text names it: `text[start:end]`."""

    name: str
    start: int
    end: int
    negated: bool = False
    uncertain: bool = False
    side: Side = ""
    #: "benign" or "malignant", where that is said of it.
    nature: str = ""
    #: Spoken of and not reported: history, the question, an advice.
    aside: bool = False

    @property
    def stated(self) -> bool:
        """Whether it is said to be there, surely or not."""
        return not self.negated and not self.aside


@lru_cache(8192)
def find_findings(text: str) -> tuple[Finding, ...]:
    """The findings of a text in reading order.

    >>> [(one.name, one.negated, one.side) for one in find_findings(
    ...     "No pneumothorax, small left effusion.")]
    [('pneumothorax', True, ''), ('pleural effusion', False, 'left')]
    """
    found: list[Finding] = []
    for sentence in _sentences(text):
        found.extend(sentence.findings())
    told = [one for one in split_sections(text) if one.name in _ASIDE]
    if told:
        inside = [any(s.start <= one.start < s.end for s in told) for one in found]
        found = [
            replace(one, aside=one.aside or aside) for one, aside in zip(found, inside, strict=True)
        ]
    return tuple(found)


def _sentences(text: str) -> Iterator[_Sentence]:
    short = "'" in text or "’" in text
    words: list[str] = []
    places: list[re.Match[str]] = []
    for match in _TOKEN.finditer(text):
        word = match[0]
        ends = word[0] in _ENDS
        if not ends:
            words.append(word)
            places.append(match)
        if words and (ends or len(words) == _LONGEST):
            yield _Sentence(_lowered(words, short), places)
            words, places = [], []
    if words:
        yield _Sentence(_lowered(words, short), places)


def _lowered(words: Sequence[str], short: bool) -> list[str]:
    lowered = map(str.lower, words)
    return list(map(_plain, lowered) if short else lowered)


def _plain(word: str) -> str:
    """ "isn't" says "not"."""
    if word[-1] != "t" or word[-2:-1] not in ("'", "’"):
        return word
    return "cannot" if word.startswith("can") else "not"


class _Sentence:
    """One sentence under the rules; places are numbers of words."""

    def __init__(self, words: list[str], places: Sequence[re.Match[str]]) -> None:
        self.words, self._places = words, places
        kept = [place for place, word in enumerate(words) if word not in PASSED_OVER]
        found = lexicon().terms.find([fold(words[place]) for place in kept])
        self._terms = [(kept[s], kept[e - 1] + 1, term) for s, e, term in found]

    def findings(self) -> list[Finding]:
        if not self._terms:
            return []
        self._cues = self._free_cues()
        self._sides = [one for one in lexicon().sides.find(self.words) if self._is_side(one[0])]
        self._breaks = self._clause_breaks()
        made = [self._finding(number) for number in range(len(self._terms))]
        return [self._with_nature(number, made) for number in range(len(made))]

    def _is_side(self, place: int) -> bool:
        """Not the R of "R/O effusion", nor the L of "2 L"."""
        if self.words[place] not in ("l", "r"):
            return True
        before = "".join(self.words[max(0, place - 1) : place])
        return self.words[place + 1 : place + 2] != ["o"] and not before[:1].isdigit()

    def _free_cues(self) -> list[tuple[int, int, CueKind]]:
        """Cues, but not those inside a wording of the lexicon ("heart is not enlarged")."""
        taken = {place for s, e, _ in self._terms for place in range(s, e)}
        cues = []
        for s, e, kind in lexicon().cues.find(self.words):
            # "No, there is ..." answers a question.
            answers = self.words[s:e] == ["no"] and self.words[e : e + 1] == [","]
            # "Lungs are clear of ..." is a finding and a cue.
            if e - 1 not in taken and not answers:
                cues.append((s, e, kind))
        return cues

    def _clause_breaks(self) -> list[int]:
        """Where clauses begin."""
        breaks = [s for s, _, kind in self._cues if kind == "ends"]
        breaks += [place for place, word in enumerate(self.words) if word == ":"]
        begins, words = lexicon().begins, self.words
        behind_side = {e for _, e, _ in self._sides}
        for place, word in enumerate(words[:-1]):
            # "left and right" is no new statement.
            if word in (",", "and") and words[place + 1] in begins and place not in behind_side:
                following = next((b for b in sorted(breaks) if b > place), len(words))
                # A list that goes on with "or" is still what the cue before it is about.
                if not {"or", "nor"} & set(words[place + 1 : following]):
                    breaks.append(place)
        return sorted(breaks)

    def _clause(self, place: int) -> int:
        return bisect_right(self._breaks, place)

    def _finding(self, number: int) -> Finding:
        s, e, term = self._terms[number]
        # "No effusion, heart size is normal" does not deny the second half.
        denied = self._is_denied(s) if term.absent else False
        said = {kind for kind in ("not", "unsure", "aside") if self._said(kind, s, e)}
        return Finding(
            term.name,
            self._places[s].start(),
            self._places[e - 1].end(),
            negated=not denied if term.absent else "not" in said,
            uncertain="unsure" in said,
            side=self._side(number, "not" in said),
            aside="aside" in said,
        )

    def _is_denied(self, s: int) -> bool:
        """Whether a negation stands right before."""
        return any(kind == "not_before" and s - 1 <= ce <= s for _, ce, kind in self._cues)

    def _said(self, what: str, s: int, e: int) -> bool:
        """Whether a cue of this kind holds for the words from s to e."""
        before, after = f"{what}_before", f"{what}_after"
        for cs, ce, kind in self._cues:
            if kind == before and ce <= s and self._clause(cs) == self._clause(s):
                return True
            if kind == after and cs >= e and self._reaches_back(e, cs):
                return True
            # "absent", "resolved" and "unlikely" stand on either side.
            either = what == "not" and kind == before and self.words[cs] in _EITHER
            if either and cs >= e and self._reaches_back(e, cs):
                return True
        return what == "not" and self._is_tabled_as_absent(e)

    def _is_tabled_as_absent(self, e: int) -> bool:
        """Whether what ends at `e` has a "none" behind it, as in a list of findings."""
        colon = self.words[e : e + 1] == [":"]
        word = "".join(self.words[e + colon : e + colon + 1])
        meant = (e + colon) not in {s for s, _, kind in self._cues if kind == "not_meant"}
        return word in _TABLED or (colon and word in ("no", "not") and meant)

    def _reaches_back(self, e: int, cs: int) -> bool:
        """Whether what is said at `cs` is about what ended at `e`."""
        if self._clause(e - 1) != self._clause(cs):
            return False
        between = self.words[e:cs]
        # "A, B or C is absent" is about all three, "A, B is absent" about B.
        one = self.words[cs] in _SINGULAR or self.words[cs - 1] in _SINGULAR
        every, verb = not one or "or" in between, False
        for word in between:
            verb = verb or word in _VERBS
            if word in (",", "and") and (verb or not every):
                return False
        return True

    def _side(self, number: int, negated: bool) -> Side:
        s, e, _ = self._terms[number]
        own = [one for one in self._sides if self._clause(one[0]) == self._clause(s)]
        if inside := [one for one in self._sides if s <= one[0] and one[1] <= e]:
            return inside[0][2]
        since = self._terms[number - 1][1] if number else 0
        until = self._terms[number + 1][0] if number + 1 < len(self._terms) else len(self.words)
        before = [one for one in self._sides if since <= one[0] and one[1] <= s]
        after = [one for one in own if one[0] >= e]
        if before and self._is_near(before[-1][1], s):
            return self._both(before)
        if after and after[0][0] < until and self._leads(e, after[0][0]):
            return after[0][2]
        if side := self._tabled_side(e):
            return side
        if negated:
            # "Left effusion and no pneumothorax" denies it on both.
            return ""
        # "In the left lung there is a nodule", but nothing from another finding's side.
        if before and s - before[-1][1] <= _FAR:
            return self._both(before)
        return after[0][2] if after and after[0][0] - e <= _FAR else ""

    def _tabled_side(self, e: int) -> Side:
        """ "Effusion, right." and "Effusion: present (left)": the side and nothing more."""
        words = self.words
        if words[e : e + 1] not in ([","], [":"]):
            return ""
        place = e + 1 + (words[e + 1 : e + 2] in (["present"], ["yes"]))
        for s, end, side in self._sides:
            closed = end == len(words) or words[end] in (",", ".", ";", ":")
            if s == place and closed:
                return side
        return ""

    def _is_near(self, behind: int, s: int) -> bool:
        between = self.words[behind:s]
        return len(between) <= _NEAR and not {",", "and", "or"} & set(between)

    def _leads(self, e: int, place: int) -> bool:
        between = self.words[e:place]
        return len(between) <= _NEAR and bool(_LEADING_TO_A_SIDE & set(between))

    def _both(self, before: Sequence[tuple[int, int, Side]]) -> Side:
        """The nearest side, or both in "left and right" and "left greater than right"."""
        _, _, side = before[-1]
        if len(before) > 1 and before[-2][2] != side:
            between = self.words[before[-2][1] : before[-1][0]]
            if len(between) <= 2 and between and between[-1] in _COMPARING:
                return "both"
        return side

    def _with_nature(self, number: int, made: Sequence[Finding]) -> Finding:
        """Benign or malignant, where that is said beside it."""
        s, e, term = self._terms[number]
        if not term.mass:
            return made[number]
        for other, (os, oe, said) in enumerate(self._terms):
            apart = os - e if os >= e else s - oe
            if said.name == "malignancy" and apart <= _NEAR and self._clause(os) == self._clause(s):
                nature = "benign" if made[other].negated else "malignant"
                return replace(made[number], nature=nature)
        return made[number]
