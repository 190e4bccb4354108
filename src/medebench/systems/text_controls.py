"""Controls that give a text: what an answer scores that has not looked at the image.

Of a task that asks for a text and an image they give the text alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from medebench.cases.case import Case
from medebench.systems.request import Request
from medebench.systems.system import System

#: More cases than a task of any published set has.
_ALL = 10_000


class _TextControl(System):
    control = True
    gives = ("text",)


class EmptyText(_TextControl):
    summary = "answers with an empty text"

    def generate(self, request: Request) -> str:
        return ""


class RepeatQuestion(_TextControl):
    summary = "repeats the instruction"

    def generate(self, request: Request) -> str:
        return request.instruction


class RandomChoice(_TextControl):
    summary = "picks one of the choices at random"
    takes = ("choices",)

    def generate(self, request: Request) -> str:
        choices = request.case.case.choices
        return choices[int(request.generator().integers(len(choices)))]


class OtherAnswer(_TextControl):
    """The other case shows another picture: kin are never shown."""

    summary = "gives the answer to another case of the same task"
    sees = ("answers of other cases",)
    demonstrations = 1

    def generate(self, request: Request) -> str:
        return request.demonstrations[0].case.answer


class MostFrequent(_TextControl):
    """It knows how a set is answered, and nothing of the case."""

    summary = "gives the most frequent answer to other cases of the same task"
    sees = ("answers of other cases",)
    demonstrations = _ALL
    least_demonstrations = 1

    def generate(self, request: Request) -> str:
        others = [shown.case for shown in request.demonstrations]
        return most_frequent(request.case.case, others)


def most_frequent(case: Case, others: Sequence[Case]) -> str:
    """Of the choices of a case the one that was right most often, by its words, then its letter.

    Where there are none, the most frequent text; of several, the first in order.

    >>> asked = Case("1", None, "Which?", choices=("A. liver", "B. spleen"))
    >>> most_frequent(asked, [Case("2", None, "Which?", answer="A. spleen")])
    'B. spleen'
    """
    answers = [one.answer for one in others]
    if not case.choices:
        return _first(Counter(answers))
    words = Counter(map(_words, answers))
    letters = Counter(answer[:1] for answer in answers)
    ranked = sorted(case.choices, key=lambda one: (-words[_words(one)], -letters[one[:1]], one))
    return ranked[0]


def _first(counts: Counter[str]) -> str:
    return min(counts, key=lambda one: (-counts[one], one))


def _words(option: str) -> str:
    """An option without its letter."""
    return re.sub(r"^[A-Z][.):]\s*", "", option).casefold()
