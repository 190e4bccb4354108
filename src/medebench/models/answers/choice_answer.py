"""Which of the choices an answer gives, or why none can be read; a guess is never made.

What is read is what the answer says to be its answer: a letter, the text of an option, or both.
What is only named, denied or thought is not read, nor is an answer that was cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from medebench.cases.choice_options import Option, read_options
from medebench.models.answers.answer_body import Body, answer_body
from medebench.models.answers.answer_claim import Claim
from medebench.models.answers.letter_claims import letter_claims
from medebench.models.answers.option_mentions import OptionTexts
from medebench.models.answers.refusal import is_refusal
from medebench.models.answers.text_claims import text_claims

ChoiceStatus = Literal["read", "not_read", "refused", "conflict", "several", "out_of_range", "cut"]


@dataclass(frozen=True)
class ChoiceAnswer:
    """What was read: only with the status "read" is there an option."""

    status: ChoiceStatus
    #: The place of the option among the choices.
    index: int | None = None
    letter: str = ""
    #: Where in the answer it stands.
    span: tuple[int, int] | None = None


def read_choice(answer: str, choices: Sequence[str], *, cut: bool = False) -> ChoiceAnswer:
    """The option that an answer gives.

    Args:
        answer: as the model wrote it.
        choices: the options, with or without their letters.
        cut: the model was stopped by its limit of tokens.

    Returns:
        The option, or why none can be read: `several` are given, letter and text are in `conflict`,
        the letter is `out_of_range`, the answer is `refused`, `cut` or just `not_read`.

    >>> read_choice("A is wrong, so B.", ["A. Liver", "B. Spleen"]).letter
    'B'
    >>> read_choice("A fracture is seen.", ["A. Liver", "B. Spleen"]).status
    'not_read'
    """
    body = answer_body(answer)
    if cut or body.cut:
        return ChoiceAnswer("cut")
    options = read_options(choices)
    if body.marked is not None:
        return _of_marked(answer, body, options)
    claims = _claims(body.text, options)
    found = _settled(claims, options)
    if found.status == "not_read" and not claims and is_refusal(body.text):
        return ChoiceAnswer("refused")
    if found.span is None:
        return found
    return ChoiceAnswer(found.status, found.index, found.letter, body.span(*found.span))


def _of_marked(answer: str, body: Body, options: Sequence[Option]) -> ChoiceAnswer:
    """The answer marks its result itself: nothing else in it is looked at."""
    assert body.marked is not None
    given = [one for one in body.marked if one]
    found = [_settled(_claims(answer_body(one).text, options), options) for one in given]
    if not found:
        return ChoiceAnswer("not_read")
    if len(found) > 1 and len({(one.status, one.index) for one in found}) > 1:
        return ChoiceAnswer("several")
    start = answer.rfind(given[-1])
    span = (start, start + len(given[-1])) if start >= 0 and found[0].status == "read" else None
    return ChoiceAnswer(found[0].status, found[0].index, found[0].letter, span)


def _claims(text: str, options: Sequence[Option]) -> list[Claim]:
    texts = OptionTexts([one.text for one in options])
    every = letter_claims(text, options, texts) + text_claims(text, texts)
    if final := [one for one in every if one.final]:
        # Final words that contradict each other are in the list both.
        return final
    strong = [one for one in every if not one.weak]
    return strong or every


def _settled(claims: Sequence[Claim], options: Sequence[Option]) -> ChoiceAnswer:
    if not claims:
        return ChoiceAnswer("not_read")
    if any(one.conflict and one.options != (-1,) for one in claims):
        return ChoiceAnswer("conflict")
    places = {place for one in claims for place in one.options}
    if len(places) > 1:
        return ChoiceAnswer("several")
    (place,) = places
    if place < 0:
        return ChoiceAnswer("out_of_range")
    first = claims[0]
    return ChoiceAnswer("read", place, options[place].letter, (first.start, first.end))
