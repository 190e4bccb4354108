"""How MedGEN-Bench reads an answer before it compares it, in its code of August 2026.

Faithful, and wrong in known ways: "(B)" and "The answer is B." are no options, "X-ray" is option X.
`choice_accuracy` and `gap_accuracy` read what models write.
"""

from __future__ import annotations

import string
from collections.abc import Sequence

from medebench.cases.case import Case
from medebench.tasks.medgen_tasks import answer_kind

_LETTERS = frozenset(string.ascii_uppercase)
_MARKS = frozenset(".)]:-")


def squeezed(text: str) -> str:
    """Without blanks at the ends, every other run of them one blank."""
    return " ".join(text.split())


def plain(text: str) -> str:
    """Squeezed and in lower case."""
    return squeezed(text).lower()


def lettered(text: str) -> tuple[str, str] | None:
    """(letter, what stands behind it), where a text begins as an option does.

    >>> lettered("B) Heart"), lettered("X-ray"), lettered("(B)")
    (('b', 'heart'), ('x', 'ray'), None)
    """
    upper = plain(text).upper()
    if upper[:1] not in _LETTERS or (len(upper) > 1 and upper[1] not in _MARKS):
        return None
    return upper[0].lower(), plain(upper[2:])


def option_form(text: str) -> str:
    """ "b. heart" of an option, its letter alone, or the plain text of what is none."""
    if (found := lettered(text)) is None:
        return plain(text)
    letter, body = found
    return f"{letter}. {body}" if body else letter


def option_names(choices: Sequence[str]) -> dict[str, str]:
    """What stands for an option (its letter, its words, both) and the option."""
    names: dict[str, str] = {}
    for choice in choices:
        names[option_form(choice)] = option_form(choice)
        if (found := lettered(choice)) is not None:
            letter, body = found
            names[letter] = option_form(choice)
            if body:
                names[body] = option_form(choice)
    return names


def chosen(text: str, choices: Sequence[str]) -> str:
    """The option that a text is, or the text.

    >>> options = ["A. Lung", "B. Heart"]
    >>> chosen("b", options), chosen("Heart", options), chosen("Heart.", options)
    ('b. heart', 'b. heart', 'heart.')
    """
    form = option_form(text)
    return option_names(choices).get(form, form)


def normalised(text: str, case: Case) -> str:
    """What the published metrics of texts are given: only closed answers lose their capitals."""
    kind = answer_kind(case)
    if kind == "letter":
        return chosen(text, case.choices)
    return plain(text) if kind == "gap" else squeezed(text)
