"""The small vocabulary with which `concept` reads an editing instruction, from a file of words."""

from __future__ import annotations

import json
from pathlib import Path

_READ = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


def _words(kind: str) -> frozenset[str]:
    return frozenset(_READ[kind])


#: What may stand before the instruction proper, longest first where one begins another.
OPENERS: tuple[tuple[str, ...], ...] = tuple(tuple(line.split()) for line in _READ["openers"])

DETERMINERS = _words("determiners")
NUMBERS = _words("numbers")

#: Behind the verb these belong to it ("take out the ..."), behind the noun they end the phrase.
PARTICLES = _words("particles")
#: Behind "get" and "take": "get rid of", "take care of".
LIGHT_NOUNS = _words("light_nouns")

#: None of these is part of a noun phrase.
STOPS = PARTICLES | _words("stops")
ADVERB_LIKE_NOUNS = _words("adverb_like_nouns")

#: What a thing is made to be ("make the nose straight"); cut off behind the noun.
PREDICATES = _words("predicates")
#: Nouns in -er, which are no comparatives.
ER_NOUNS = _words("er_nouns")
#: Words that can stand before "and" or a comma inside a phrase ("yellow and brown deposits").
ADJECTIVES = PREDICATES | _words("adjectives")
#: Behind a noun these belong to what follows ("the scar located on the chin").
POSTPOSED = _words("postposed")
#: Verbs whose object is followed by what it is to become.
RESULT_VERBS = _words("result_verbs")
#: "Show the lobe without the growth": the growth is what changes.
SHOW_VERBS = _words("show_verbs")
GIVE_VERBS = _words("give_verbs")
#: "Use screws to fix the bone": the bone is what changes.
MEANS_VERBS = _words("means_verbs")
PICTURES = _words("pictures")

#: Heads that only say which side or measure of a thing is meant: the thing comes after "of".
ASPECTS = _words("aspects")
#: Interventions: "lip augmentation" is about the lip.
PROCEDURES = _words("procedures")
#: The prepositions that lead from an aspect or a procedure to its thing.
LINKS = _words("links")

#: Plurals that no ending tells.
IRREGULAR: dict[str, str] = _READ["irregular"]
