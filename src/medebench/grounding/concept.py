"""Which words of an instruction name the thing to be edited.

The case's own key concept wins where the prompt says it, in singular or plural, with any
punctuation. Where it does not (many prompts paraphrase), the prompt is read by this rule:

1. Skip courtesy ("please", "can you", "I want you to"), a leading "In this image," and "Label:".
2. An instruction begins with its verb: skip it, with its particle ("take out", "get rid of").
   A sentence that begins with an article ("The teeth should be whiter") has no verb to skip.
3. The concept is the noun phrase that follows: from behind articles and numbers up to the first
   preposition, conjunction, auxiliary, adverb or punctuation, without what the thing is to become
   ("make the nose straight").
4. Five turns of phrase name the thing elsewhere: "show X without Y" means Y; "give X a Y" means Y,
   or X where Y is only an aspect (a contour, a colour); "use X to fix Y" and "edit the image to
   remove Y" mean Y; an aspect or a procedure leads to its thing ("the fullness of the lips", "lip
   augmentation", "liposuction for the arms").

The words it knows are in `concept_words`; nothing is downloaded or learned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from medebench.errors import one_line
from medebench.grounding import concept_words as known
from medebench.metrics.metric import Undefined

_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_PLAIN_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Concept:
    """Words of the prompt, letter by letter, and who chose them."""

    text: str
    source: Literal["case", "prompt"]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int
    #: The punctuation between this word and the next.
    after: str

    @property
    def breaks(self) -> bool:
        return bool(self.after)


def concept_of(prompt: str, key_concept: str = "") -> Concept:
    """The concept whose attention is to be recorded; `Undefined` where the prompt names none.

    >>> concept_of("Remove wisdom teeth.").text
    'wisdom teeth'
    """
    if span := find_concept(prompt, key_concept):
        return Concept(prompt[slice(*span)], "case")
    words = _read(prompt)
    phrase = _target(words[_beginning(words) :])
    if not phrase:
        raise Undefined(f"found nothing to edit in the prompt '{one_line(prompt, 80)}'")
    return Concept(prompt[phrase[0].start : phrase[-1].end], "prompt")


def find_concept(prompt: str, concept: str) -> tuple[int, int] | None:
    """Where the prompt first says the concept: begin and end, in characters."""
    wanted = [_singular(word) for word in _PLAIN_WORD.findall(concept)]
    said = list(_PLAIN_WORD.finditer(prompt))
    stems = [_singular(word.group()) for word in said]
    for first in range(len(said) - len(wanted) + 1):
        if wanted and stems[first : first + len(wanted)] == wanted:
            return said[first].start(), said[first + len(wanted) - 1].end()
    return None


def _singular(word: str) -> str:
    word = word.casefold()
    if word in known.IRREGULAR:
        return known.IRREGULAR[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _read(prompt: str) -> list[_Word]:
    found = list(_WORD.finditer(prompt))
    ends = [*(match.start() for match in found[1:]), len(prompt)][: len(found)]
    return [
        _Word(
            match.group().casefold().replace("’", "'"),
            match.start(),
            match.end(),
            prompt[match.end() : next_start].replace(" ", "").replace("\n", "."),
        )
        for match, next_start in zip(found, ends, strict=True)
    ]


def _beginning(words: Sequence[_Word]) -> int:
    """The first word behind courtesy and place."""
    at = 0
    for place, word in enumerate(words[:8]):
        if ":" in word.after and place + 1 < len(words):
            at = place + 1
    moved = True
    while moved:
        moved = False
        for opener in known.OPENERS:
            if tuple(word.text for word in words[at : at + len(opener)]) == opener:
                at, moved = at + len(opener), True
        if at < len(words) and words[at].text in known.STOPS - known.PARTICLES | {"in"}:
            comma = next((p for p in range(at, len(words)) if "," in words[p].after), None)
            if comma is not None:
                at, moved = comma + 1, True
    return at


def _target(words: Sequence[_Word]) -> list[_Word]:
    """The phrase that an instruction, courtesy removed, is about."""
    verb, at = _verb(words)
    phrase, after = _phrase(words, at, verb)
    if verb in known.SHOW_VERBS and (instead := _without(words[after:])):
        return instead
    if verb in known.GIVE_VERBS and after < len(words) and words[after].text in ("a", "an"):
        second, behind = _phrase(words, after, "")
        if second and second[-1].text not in known.ASPECTS:
            phrase, after = second, behind
        else:
            after = len(words)
    about_picture = bool(phrase) and phrase[-1].text in known.PICTURES
    if (verb in known.MEANS_VERBS or about_picture) and (clause := _purpose(words[after:])):
        return clause
    return _thing(phrase, words, after)


def _verb(words: Sequence[_Word]) -> tuple[str, int]:
    """The verb, "" where the sentence begins with its subject, and the place behind it."""
    at = 0
    while at < len(words) - 1 and words[at].text.endswith("ly") and len(words[at].text) > 4:
        at += 1
    texts = [word.text for word in words]
    names_procedure = any(text in known.PROCEDURES for text in texts[at : at + 2])
    starts_with_verb = at + 1 < len(texts) and texts[at + 1] in known.DETERMINERS
    if at >= len(texts) or texts[at] in known.DETERMINERS | known.NUMBERS:
        return "", at
    if names_procedure and not starts_with_verb and texts[at : at + 2][-1] in known.PROCEDURES:
        lone_verb = at + 2 < len(texts) and texts[at + 1] in known.PROCEDURES
        if texts[at] in known.PROCEDURES or (lone_verb and texts[at + 2] in ("and", "for", "of")):
            return "", at
    verb = texts[at]
    at += 1
    while at + 1 < len(texts) and texts[at] in ("and", "or") and not words[at - 1].breaks:
        at += 2
    if at + 1 < len(texts) and texts[at] in known.LIGHT_NOUNS and texts[at + 1] == "of":
        at += 2
    elif at < len(texts) and texts[at] in known.PARTICLES:
        at += 1
    return verb, at


def _phrase(words: Sequence[_Word], at: int, verb: str) -> tuple[list[_Word], int]:
    """The noun phrase that begins at `at`, and the place behind it."""
    begin = at
    while at < len(words) and words[at].text in known.DETERMINERS | known.NUMBERS:
        at += 1
    first = at if at > begin else -1
    phrase: list[_Word] = []
    while at < len(words):
        word = words[at]
        joins = bool(phrase) and _are_adjectives(phrase)
        if word.text in ("and", "or") and joins and not phrase[-1].breaks and at + 1 < len(words):
            if words[at + 1].text not in known.DETERMINERS:
                at += 1
                continue
            break
        is_noun = at == first and word.text in known.PARTICLES  # "the back of the head"
        ends = _ends_phrase(word) or (bool(phrase) and word.text in known.DETERMINERS)
        if ends and not is_noun:
            break
        phrase.append(word)
        at += 1
        if word.breaks and not (word.after == "," and _are_adjectives(phrase)):
            break
    while len(phrase) > 1 and phrase[-1].text in known.POSTPOSED:
        phrase.pop()
    becomes = at < len(words) and words[at].text == "of"
    if (verb in known.RESULT_VERBS or not verb) and not becomes:
        while len(phrase) > 1 and _says_what_it_becomes(phrase[-1].text):
            phrase.pop()
    return phrase, at


def _are_adjectives(phrase: Sequence[_Word]) -> bool:
    return all(word.text in known.ADJECTIVES for word in phrase)


def _ends_phrase(word: _Word) -> bool:
    adverb = word.text.endswith("ly") and word.text not in known.ADVERB_LIKE_NOUNS
    return word.text in known.STOPS or (adverb and len(word.text) > 4)


def _says_what_it_becomes(word: str) -> bool:
    comparative = word.endswith("er") and len(word) > 4 and word not in known.ER_NOUNS
    return word in known.PREDICATES or comparative


def _without(words: Sequence[_Word]) -> list[_Word]:
    for place, word in enumerate(words[:-1]):
        if word.text == "without" and not words[place + 1].text.endswith("ing"):
            phrase, _ = _phrase(words, place + 1, "")
            return _trim(phrase) if phrase and not _is_aspect(phrase[-1].text) else []
    return []


def _purpose(words: Sequence[_Word]) -> list[_Word]:
    """What "to fix the bone" is about."""
    for place, word in enumerate(words[:-1]):
        if word.text == "to" and words[place + 1].text not in known.DETERMINERS:
            return _target(words[place + 1 :])
    return []


def _thing(phrase: list[_Word], words: Sequence[_Word], after: int) -> list[_Word]:
    """`phrase`, or what it is an aspect or a procedure of."""
    if not phrase or not _is_aspect(phrase[-1].text):
        return _trim(phrase)
    rest = [word for word in phrase if not _is_aspect(word.text)]
    rest = [] if _are_adjectives(rest) else rest
    linked = after < len(words) and words[after].text in known.LINKS
    by_words = linked and words[after].text in ("for", "of")
    if linked and not phrase[-1].breaks and (by_words or not rest):
        further, behind = _phrase(words, after + 1, "")
        purpose = words[after].text == "to" and words[after + 1 : after + 2]
        if purpose and words[after + 1].text not in known.DETERMINERS:
            return _target(words[after + 1 :]) or _trim(phrase)
        if further:
            return _thing(further, words, behind)
    if phrase[-1].text in known.PROCEDURES:
        for place in range(after, len(words) - 1):
            if words[place].text == "for" and (further := _phrase(words, place + 1, "")[0]):
                return _trim(further)
    if rest:
        return _trim(rest)
    return _purpose(words[after:]) or _trim(phrase)


def _is_aspect(word: str) -> bool:
    return word in known.ASPECTS or word in known.PROCEDURES


def _trim(phrase: list[_Word]) -> list[_Word]:
    """Without adjectives that a comma or "and" joins, which would tear the words apart."""
    for place in range(len(phrase) - 1, 0, -1):
        if phrase[place - 1].breaks:
            return phrase[place:]
    return phrase
