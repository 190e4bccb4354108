"""Texts that break off: in an article, a preposition, a conjunction, or within a word.

Only English endings are judged: in another language the same letters may be a whole word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from medebench.audit.known_words import Vocabulary, is_english, is_form, tokens


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Nothing can end with these, not even a sentence with its full stop.
_ARTICLES = _words(
    """
    the a an and or
    """
)
#: Nothing that lacks its full stop ends with these.
_LEADING = _ARTICLES | _words(
    """
    of from with to at by into onto for between among toward towards upon without within against
    during via per than because although though whereas unless while whose which its their your
    my our his every nor but as if since until including regarding concerning about across amid
    through beside besides near under beneath around behind keeping making ensuring leaving using
    resulting is are was were be been being has have had such very so that no
    """
)
#: These end a phrase where they belong to its verb ("take the mole off", "put a crown on").
_PARTICLES = _words("on in off up out over down")
_PHRASAL = _words(
    """
    balance block bring brighten build bulk carry chop clean clear close cover cut draw dry drop
    even fade fatten fill firm flatten grow hollow lay leave let level lift lighten light line
    lock make mark move pare patch peel phase pick pin plump polish pop press pull push put rub
    round scrape seal send set sew shave sharpen shape shut slice slim slip smooth snap soften
    spread square stay stick stitch straighten swap sweep switch take tape taper tease thicken
    thin throw tidy tighten tone touch trim tuck turn warm wash wear whiten wipe
    """
)
#: Verbs that go with "in" or "on"; elsewhere these begin what is missing.
_INTO = _words(
    """
    blend bring clip draw fill keep leave lock press pull push put screw sew set sink snap stick
    stitch switch tape tuck turn wear
    """
)
#: Idioms that end with a word from above.
_IDIOMS = re.compile(
    r"(?:\b(?:used|want|wants|wanted|have|able|need|supposed|going) to|\bborn with|\bor no"
    r"|\b(?:as|how|what|where|way) (?:it|they|he|she) (?:is|are|was|were|has been|have been|had)"
    r"|\b(?:it|they|he|she) \w+ (?:on|in|with|from|like)"
    r"|\b(?:like|than|do|does|just|after|before|all|about) that|\bmake so)$"
)
#: A verb alone says neither what nor where.
_BARE = _words(
    """
    add adjust alter apply change correct create decrease develop diminish eliminate enhance
    erase fill fix generate implant improve increase insert make minimize modify perform place
    produce rebuild reconstruct reduce refine remake remove renew repair replace reshape restore
    return revitalize simulate smooth straighten take use
    """
)
#: What stands before a thing and is none: "erase the black".
_BEFORE_NOUNS = _words(
    """
    black brown dark upper lower missing damaged broken bent crooked excess excessive extra
    dental facial visible entire whole same small large big abnormal unwanted
    """
)
_DETERMINERS = _words(
    """
    the a an its their his her any all
    """
)

_OPEN_END = re.compile(r"[,;:(\[{/&+–—-]\s*$")
_FULL_STOP = re.compile(r"[.!?…。！？]['\"”’)\]]*\s*$")
_CLOSED = re.compile(r"[\"”’')\]}%\d]\s*$")
_MOSTLY = 0.5
#: Words from which on a text is a sentence that somebody would have ended.
_SENTENCE = 12


def ends(text: str) -> bool:
    """Whether a text has its full stop."""
    return _FULL_STOP.search(text) is not None


def cut_reason(
    text: str, known: Vocabulary, own: Sequence[str], stops_usual: bool = False
) -> str | None:
    """Why a text seems to break off, or None.

    `known` holds the words of the set, `own` are the case's other texts. Where `stops_usual`,
    nearly every text of its field has a full stop.
    """
    found = tokens(text)
    if not found or not _is_english(found):
        return None
    last, stopped = found[-1], ends(text)
    if match := _OPEN_END.search(text):
        return f"ends with '{match[0].strip()}'"
    if stopped:
        return f"ends with '{last}'" if last in _ARTICLES and _lower_case(text, last) else None
    if _CLOSED.search(text):
        return None
    if last in _LEADING or last in _PARTICLES:
        return f"ends with '{last}'" if _dangles(found, last, text) else None
    if len(found) == 1 and last in _BARE:
        return f"'{last}' without an object"
    if len(found) > 1 and found[-2] in _DETERMINERS and last in _BEFORE_NOUNS:
        return f"ends with '{found[-2]} {last}'"
    if not _lower_case(text, last):
        return None
    beside = Vocabulary(own)
    if half := _half_word(last, known, beside):
        return half
    return _lacks_stop(found, beside) if stops_usual else None


def _lacks_stop(found: list[str], own: Vocabulary) -> str | None:
    """A sentence of some length has its stop; below that, if a word may have been meant to go on.

    Somebody who types a short instruction may just have forgotten it.
    """
    whole = own.longer(found[-1])
    begun = whole is not None and found[-1] not in own and not is_form(whole, found[-1])
    if len(found) < _SENTENCE and not begun:
        return None
    return "has no full stop, as nearly all others have" + (f" ('{whole}'?)" if begun else "")


def _half_word(last: str, known: Vocabulary, own: Vocabulary) -> str | None:
    if known.knows(last) or not (whole := own.longer(last) or known.longer(last)):
        return None
    return f"'{last}' is no word, '{whole}' is"


def _dangles(found: list[str], last: str, text: str) -> bool:
    if not _lower_case(text, last) or _IDIOMS.search(" ".join(found)):
        return False
    if last not in _PARTICLES:
        return True
    # "Take off the mole on": the verb has its particle already.
    verbs = _INTO if last in ("in", "on") else _PHRASAL
    return not any(word in verbs and after not in _PARTICLES for word, after in pairwise(found))


def _lower_case(text: str, last: str) -> bool:
    """An upper-case "A" is a name ("vitamin A"), unless all is upper case."""
    written = re.findall(r"[^\W\d_]+", text)[-1]
    return written == last or text.isupper()


def _is_english(found: list[str]) -> bool:
    # What may be half a word cannot be asked.
    asked = found[:-1] or found
    return sum(map(is_english, asked)) >= _MOSTLY * len(asked)
