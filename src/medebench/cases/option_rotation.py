"""The same question with its options rotated, in `choices` and in the text of the instruction.

The letters stay where they are and the texts move: whoever always says "A" is right once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from medebench.cases.case import Case
from medebench.cases.choice_options import Option, find_option, read_options

#: In the detail of an output: the answers to every rotation, the first is the case itself.
ROTATIONS = "rotations"
#: Options about other options, or about their place, mean something else when rotated.
_OF_OTHERS = re.compile(
    r"""\b(?:all|none|both|any|neither|either|each|some|two|more)\ (?:of\ )?
    (?:the\ |these\ |those\ )?(?:above|below|others?|options?|answers?|choices?|these|those
    |following|preceding|previous|mentioned)
    |^(?:all|none|both|neither)(?:\ of\ (?:them|these|those))?$
    |\b(?:above|preceding)\ (?:options?|answers?|choices?)|\bthe\ above\b""",
    re.I | re.X,
)
_LETTERS = re.compile(
    r"(?:(?i:both|either|neither|only|options?|choices?|answers?)\s+)?\(?[A-H]\)?"
    r"(?:\s*(?:,|and|or|&|nor|\+)\s*\(?[A-H]\)?)+"
)


def rotation_problem(case: Case) -> str | None:
    """Why the options of a case cannot be rotated, or None.

    >>> rotation_problem(Case("1", None, "Which?", choices=("A. Oedema", "B. None of the above")))
    "option B is about the others ('None of the above')"
    """
    if len(case.choices) < 2:
        return "the case has no choices"
    options = read_options(case.choices)
    if len({" ".join(one.text.casefold().split()) for one in options}) < len(options):
        return "two options are the same"
    for one in options:
        if _OF_OTHERS.search(one.text) or _LETTERS.fullmatch(one.text):
            return f"option {one.letter} is about the others ({one.text!r})"
    if _named(case.prompt, case.choices) is None and _some_named(case.prompt, options):
        return "the instruction lists the options otherwise than the field 'choices'"
    return None


def rotated(case: Case, turn: int) -> Case:
    """The case with the text of every option `turn` places further up; turn 0 is the case itself.

    >>> case = Case("1", None, "Which? A. Lung B. Liver", choices=("A. Lung", "B. Liver"))
    >>> rotated(case, 1).prompt
    'Which? A. Liver B. Lung'
    """
    options = read_options(case.choices)
    turn %= max(1, len(options))
    if turn == 0:
        return case
    texts = [one.text for one in (*options[turn:], *options[:turn])]
    choices = tuple(one.lead + text for one, text in zip(options, texts, strict=True))
    return replace(
        case,
        choices=choices,
        prompt=_again(case.prompt, case.choices, choices),
        rephrased_prompt=_again(case.rephrased_prompt, case.choices, choices),
        answer=_moved(case.answer, options, choices, turn),
        key=_moved(case.key, options, choices, turn),
    )


def rotated_text(text: str, case: Case, turn: int) -> str:
    """An instruction in other words than the case's, with its options rotated alike."""
    return _again(text, case.choices, rotated(case, turn).choices)


def original_place(place: int, turn: int, count: int) -> int:
    """Which option of the case itself stands at a place of the rotated one."""
    return (place + turn) % count


def _moved(told: str, options: Sequence[Option], choices: Sequence[str], turn: int) -> str:
    """A reference that names an option by its letter, at its new place; others stay."""
    place = find_option(options, told) if told else None
    if place is None or told.strip() == options[place].text:
        return told
    new = (place - turn) % len(options)
    return options[new].letter if len(told.strip(" .()")) == 1 else choices[new]


def _again(text: str, before: Sequence[str], after: Sequence[str]) -> str:
    places = _named(text, before)
    if places is None:
        return text
    parts, end = [], 0
    for (start, stop), new in zip(places, after, strict=True):
        parts += [text[end:start], new]
        end = stop
    return "".join([*parts, text[end:]])


def _named(text: str, choices: Sequence[str]) -> list[tuple[int, int]] | None:
    """Where the options stand in a text, all and in their order; of several lists the last."""
    found: list[tuple[int, int]] = []
    limit = len(text)
    for choice in reversed(choices):
        words = r"\s+".join(map(re.escape, choice.split()))
        every = list(re.finditer(rf"(?<!\w){words}(?!\w)", text[:limit]))
        if not every:
            return None
        found.insert(0, every[-1].span())
        limit = every[-1].start()
    return found


def _some_named(text: str, options: Sequence[Option]) -> bool:
    """Whether the text lists options in some way: two lines or more begin with their letters."""
    lines = re.findall(r"(?:^|\n)\s*[(\[]?([A-Z])[).\]:]\s", text)
    return len({one.letter for one in options} & set(lines)) > 1
