"""sacreBLEU of one sentence, exact to the last digit, without the package.

    BLEU = min(1, exp(1 - r/c)) * (p1 * ... * pN) ^ (1/N)

`pn` is the share of the answer's runs of n tokens that the reference has, each as often as there;
r and c are the lengths. N is 4, or the answer's length where that is shorter ("effective order").
The k-th order without any hit counts 1/2^k hits ("exp" smoothing). Tokens are those of the 13a
rules; case matters. It is sacreBLEU's `eff:yes|tok:13a|smooth:exp`, divided by 100.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from medebench.cases.open_case import OpenCase
from medebench.metrics.metric import metric
from medebench.metrics.text.reference_text import reference_pieces
from medebench.metrics.text.word_runs import ORDERS, runs_by_length

#: Entities that web pages leave behind, in the order in which they are put back.
_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
#: Every ASCII sign but ' , - . is a token by itself.
_SIGN = re.compile(r"([!-&(-+/:-@\[-`{-~])")
#: Points and commas, unless they stand between digits; hyphens behind digits.
_POINT_AFTER, _POINT_BEFORE = re.compile(r"([^0-9])([.,])"), re.compile(r"([.,])([^0-9])")
_DASH = re.compile(r"([0-9])(-)")


@lru_cache(4096)
def tokens_13a(text: str) -> tuple[str, ...]:
    """The tokens of the rules that the WMT campaigns call 13a.

    >>> tokens_13a("A 3.5 cm mass, (left).")
    ('A', '3.5', 'cm', 'mass', ',', '(', 'left', ')', '.')
    """
    line = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in line:
        for entity, sign in _ENTITIES.items():
            line = line.replace(entity, sign)
    line = _SIGN.sub(r" \1 ", f" {line} ")
    line = _POINT_AFTER.sub(r"\1 \2 ", line)
    line = _POINT_BEFORE.sub(r" \1 \2", line)
    return tuple(_DASH.sub(r"\1 \2 ", line).split())


@dataclass(frozen=True)
class _Counted:
    """A reference: its words by number, from 1 on, and how often it has each run."""

    length: int
    numbers: dict[str, int]
    runs: tuple[Counter[int], ...]


@lru_cache(4096)
def _counted(reference: str) -> _Counted:
    tokens = tokens_13a(reference)
    numbers = {word: place for place, word in enumerate(dict.fromkeys(tokens), 1)}
    runs = runs_by_length([numbers[one] for one in tokens])
    return _Counted(len(tokens), numbers, tuple(map(Counter, runs)))


def bleu_sacre(answer: str, reference: str) -> float:
    """BLEU of one answer, 0 to 1.

    >>> round(bleu_sacre("no pleural effusion", "no pleural effusion is seen"), 4)
    0.5134
    """
    said, due = tokens_13a(answer), _counted(reference)
    hits: list[int] = []
    # Words that the reference has not are all the same here: 0.
    own = runs_by_length([due.numbers.get(one, 0) for one in said])
    for ours, theirs in zip(own, due.runs, strict=True):
        counts = Counter(ours)
        hits.append(sum(min(counts[run], theirs[run]) for run in counts.keys() & theirs.keys()))
    if not hits[0]:
        return 0.0
    logs, missed = 0.0, 0
    order = min(ORDERS, len(said))
    for length, hit in enumerate(hits[:order], 1):
        missed += not hit
        logs += math.log((hit or 0.5**missed) / (len(said) - length + 1))
    shortness = min(0.0, 1 - due.length / len(said))
    return math.exp(shortness + logs / order)


@metric(
    "bleu_sacre",
    "runs of one to four words that the answer shares with the reference (sacreBLEU)",
    needs=("answer",),
    of="said",
    variant="bleu-sacre-1",
    label="BLEU (sacre)",
    definition="sacreBLEU of each answer by itself (13a tokens, effective order, exponential "
    "smoothing), divided by 100; the mean over answers is not the BLEU of the corpus. It counts "
    "words, not meaning: “left lung” and “right lung” share one word of two.",
)
def BLEU_SACRE(case: OpenCase, answer: str) -> float:
    reference_pieces(case, tokens_13a(case.case.answer))
    return bleu_sacre(answer, case.case.answer)
