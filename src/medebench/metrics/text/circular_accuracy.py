"""Whether the right choice was given however the options are rotated.

Outputs come from `circular:SYSTEM`, which asks once for each rotation and keeps every answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medebench.cases.case import Case
from medebench.cases.open_case import OpenCase
from medebench.cases.option_rotation import ROTATIONS, original_place, rotated, rotation_problem
from medebench.metrics.metric import Measured, Undefined, metric
from medebench.metrics.text.choice_accuracy import right_choice
from medebench.metrics.text.given_answer import answer_text, require_kind
from medebench.models.answers.choice_answer import read_choice
from medebench.outputs import Output
from medebench.reason import Reason


@metric(
    "choice_accuracy_circular",
    "the right choice was given in every rotation of the options",
    label="Circular accuracy",
    of="output",
    definition=(
        "1 where the right option is given however the options are rotated, so that a habit for a "
        "letter gains nothing. Items with options about others, such as 'none of the above', are "
        "left out. Only of runs with `circular:SYSTEM`."
    ),
)
def CIRCULAR(case: OpenCase, output: Output | str) -> Measured:
    require_kind(case, "letter", "choice_accuracy_circular")
    options, right = right_choice(case.case)
    if problem := rotation_problem(case.case):
        raise Undefined(Reason("not-applicable", f"not rotated: {problem}"))
    answer_text(output)
    told = output.detail.get(ROTATIONS) if isinstance(output, Output) else None
    if not isinstance(told, list) or len(told) != len(options):
        raise Undefined("the options were not rotated; generate with --circular")
    turns = [_turn(case.case, one, turn) for turn, one in enumerate(told)]
    letters = [options[one[0]].letter if one[0] is not None else "" for one in turns]
    hits = sum(one[0] == right for one in turns)
    return Measured(
        float(hits == len(options)),
        {
            "right": options[right].letter,
            "read": letters,
            "given": [one[1] for one in turns],
            "statuses": [one[2] for one in turns],
            "hits": hits,
            "options": len(options),
            "chance": (1 / len(options)) ** len(options),
        },
    )


def _turn(case: Case, told: Any, turn: int) -> tuple[int | None, str, str]:
    """The option of the case that was given, the letter at which it stood, how it was read."""
    told = told if isinstance(told, Mapping) else {}
    if told.get("failed"):
        why = f"no output: rotation {turn + 1} was not answered: {told['failed']}"
        raise Undefined(Reason("no-output", why))
    text = told.get("text")
    if not isinstance(text, str):
        raise Undefined(f"rotation {turn + 1} has no answer")
    shown = rotated(case, turn)
    said, cut = answer_text(Output(text=text, detail=dict(told)))
    found = read_choice(said, shown.choices, cut=cut)
    if found.index is None:
        return None, "", found.status
    return original_place(found.index, turn, len(case.choices)), found.letter, "read"
