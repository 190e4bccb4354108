"""The form of an answer, whatever it says: how long, in which script, a refusal or not."""

from __future__ import annotations

import unicodedata
from collections import Counter

from medebench.cases.open_case import OpenCase
from medebench.metrics.metric import Measured, Undefined, metric
from medebench.metrics.text.exact_match import words_of
from medebench.models.answers.answer_body import answer_body
from medebench.models.answers.choice_answer import read_choice
from medebench.models.answers.refusal import declines

_MOST = 10_000_000
#: Few, frequent, and of one language only.
_FUNCTION_WORDS = {
    "en": "the of is and are with this there which was that",
    "de": "der das ist und nicht eine mit die auf sich keine",
    "fr": "le les est et une dans des du avec pas sur",
    "es": "el los es y una en las del con por se",
    "pt": "o os é uma em não na do da com ao",
    "it": "il è di una che nel della con non gli sono",
    "nl": "het een van niet en met deze zijn voor wordt",
}
_WORDS = {name: frozenset(words.split()) for name, words in _FUNCTION_WORDS.items()}


@metric(
    "answer_length",
    "words of the answer",
    better="neither",
    high=_MOST,
    label="Words",
    decimals=1,
    of="text",
    definition="Words of the answer, thoughts left out; a script without blanks counts few.",
)
def ANSWER_LENGTH(case: OpenCase, text: str) -> Measured:
    said = answer_body(text).text
    return Measured(float(min(len(words_of(said)), _MOST)), {"characters": len(said)})


@metric(
    "answer_language",
    "share of Latin letters in the answer",
    better="neither",
    label="Latin letters",
    of="text",
    definition=(
        "Share of the letters of the answer that are of the Latin script. Beside it in the ledger: "
        "the scripts, and the language that most function words belong to, where any do."
    ),
)
def ANSWER_LANGUAGE(case: OpenCase, text: str) -> Measured:
    said = answer_body(text).text
    scripts = Counter(unicodedata.name(one, "?").split()[0] for one in said if one.isalpha())
    if not scripts:
        raise Undefined("the answer has no letters")
    words = Counter(words_of(said))
    votes = {name: sum(words[one] for one in own) for name, own in _WORDS.items()}
    best = max(votes.values())
    leading = [name for name, count in votes.items() if count == best]
    told = {"scripts": dict(scripts.most_common(4))}
    language = leading[0] if best and len(leading) == 1 else ""
    return Measured(scripts["LATIN"] / scripts.total(), told | {"language": language})


@metric(
    "answer_refused",
    "the answer is a refusal",
    better="neither",
    label="Refused",
    of="text",
    definition=(
        "1 where the answer declines to give one, by its wording; an answer that a choice can be "
        "read from, or a report with its sections, is none."
    ),
)
def ANSWER_REFUSED(case: OpenCase, text: str) -> Measured:
    if case.case.choices and read_choice(text, case.case.choices).status == "read":
        return Measured(0.0)
    return Measured(float(declines(answer_body(text).text)))
