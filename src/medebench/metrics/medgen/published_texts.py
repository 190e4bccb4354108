"""BLEU, exact match and token F1 of MedGEN-Bench, on the texts as its code normalises them."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial

from medebench.cases.open_case import OpenCase
from medebench.metrics.medgen import UNRANKED
from medebench.metrics.medgen.closed_answers import normalised, plain
from medebench.metrics.medgen.closed_answers_v2 import read_answer_v2
from medebench.metrics.medgen.sentence_bleu import sentence_bleu
from medebench.metrics.metric import Measured, Undefined, metric
from medebench.reason import Reason
from medebench.tasks.medgen_tasks import answer_kind

#: A word may hold one apostrophe.
_WORD = re.compile(r"[a-z\d]+('[a-z\d]+)?", re.ASCII)


def published_pair(case: OpenCase, text: str) -> tuple[str, str]:
    """Answer and reference as the published metrics are given them."""
    return normalised(text, case.case), normalised(case.case.answer, case.case)


def published_bleu(candidate: str, reference: str) -> float:
    """BLEU over what blanks separate: full stops belong to their words."""
    return sentence_bleu(candidate.split(), reference.split())


def published_token_f1(candidate: str, reference: str) -> float:
    """Overlap of the words of two texts; 1 where neither has one, 0 where one has none.

    >>> published_token_f1("no pneumothorax", "Large pneumothorax")
    0.5
    """
    one, other = (
        Counter(one[0] for one in _WORD.finditer(plain(text))) for text in (candidate, reference)
    )
    shared, every = sum((one & other).values()), sum(one.values()) + sum(other.values())
    return 2 * shared / every if every else 1.0


_of_answer = partial(metric, needs=("answer",), of="text", unranked=UNRANKED)
_NORMALISED = "Choices and gaps are compared in lower case, choices as “letter. text”."


@_of_answer(
    "bleu_medgen",
    "BLEU-4 of nltk, smoothing method 1 (honest: choice_accuracy, key_accuracy, bleu_sacre)",
    label="BLEU, MedGEN",
    definition=f"Words are what blanks separate. {_NORMALISED}",
)
def BLEU_MEDGEN(case: OpenCase, text: str) -> float:
    return published_bleu(*published_pair(case, text))


@_of_answer(
    "exact_medgen",
    "exact match of the code of August 2026 (honest: choice_accuracy, gap_accuracy)",
    label="Exact match, MedGEN",
    definition=f"Equality of lower-cased texts. {_NORMALISED} Nothing but the option, its letter "
    "or its words alone is read.",
)
def EXACT_MEDGEN(case: OpenCase, text: str) -> float:
    candidate, reference = map(plain, published_pair(case, text))
    return float(candidate == reference)


@_of_answer(
    "exact_medgen_v2",
    "exact match of later code, unread answers left out (honest: choice_accuracy, gap_accuracy)",
    label="Exact match, MedGEN, later code",
    definition="Choices: a letter after “answer”, “option” or “choice”, else an option on a line "
    "of its own, else the last letter that stands alone, else the longest option text that occurs. "
    "Gaps: the last line. What is not read is not scored.",
)
def EXACT_MEDGEN_V2(case: OpenCase, text: str) -> Measured:
    kind = answer_kind(case.case)
    if kind not in ("letter", "gap"):
        raise Undefined(Reason("not-applicable", "only choices and gaps have an exact match"))
    read, wanted = (
        read_answer_v2(one, case.case.choices, kind) for one in (text, case.case.answer)
    )
    if read is None or wanted is None:
        which = "answer" if read is None else "reference"
        raise Undefined(f"nothing could be read of the {which}: the published mean leaves it out")
    return Measured(float(read == wanted), {"read": read})


@_of_answer(
    "token_f1_medgen",
    "F1 of the words in common, as MedGEN-Bench counts it (honest: token_f1, finding_f1)",
    label="Token F1, MedGEN",
    definition=f"Words of letters and digits, as often as they occur. {_NORMALISED}",
)
def TOKEN_F1_MEDGEN(case: OpenCase, text: str) -> float:
    return published_token_f1(*published_pair(case, text))
