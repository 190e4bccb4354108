"""Whether the right choice was given. What cannot be read is not right, and is told apart."""

from __future__ import annotations

from typing import Any

from medebench.cases.case import Case
from medebench.cases.choice_options import Option, find_option, read_options
from medebench.cases.open_case import OpenCase
from medebench.metrics.metric import Measured, Undefined, metric
from medebench.metrics.text.given_answer import answer_text, require_kind
from medebench.models.answers.choice_answer import ChoiceAnswer, read_choice
from medebench.outputs import Output


def right_choice(case: Case) -> tuple[tuple[Option, ...], int]:
    """The options of a case and the place of the right one; Undefined where there is none."""
    if len(case.choices) < 2:
        raise Undefined("the case has no choices")
    options = read_options(case.choices)
    right = find_option(options, case.answer) if case.answer else None
    if right is None and case.key:
        right = find_option(options, case.key)
    if right is None:
        raise Undefined("the answer of the case is none of its choices")
    return options, right


@metric(
    "choice_accuracy",
    "the right choice was given",
    label="Choice accuracy",
    of="output",
    definition=(
        "1 where the one option that the answer gives, by letter or text, is the right one. Wrong, "
        "refused, cut and unreadable answers are 0; the ledger says which it was, and the chance "
        "of a guess at each item."
    ),
)
def CHOICE_ACCURACY(case: OpenCase, output: Output | str) -> Measured:
    require_kind(case, "letter", "choice_accuracy")
    options, right = right_choice(case.case)
    text, cut = answer_text(output)
    found = read_choice(text, case.case.choices, cut=cut)
    return Measured(float(found.index == right), choice_detail(found, options, right))


def choice_detail(found: ChoiceAnswer, options: tuple[Option, ...], right: int) -> dict[str, Any]:
    """What the ledger holds of a choice: how it was read, what, and what a guess would give."""
    told: dict[str, Any] = {"status": found.status, "right": options[right].letter}
    told |= {"read": found.letter} if found.status == "read" else {}
    told |= {"span": list(found.span)} if found.span else {}
    return told | {"chance": 1 / len(options), "options": len(options)}
