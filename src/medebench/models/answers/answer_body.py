"""What an answer says once thoughts, markup and odd characters are out of the way.

Every character of the body knows where it stood, so that what is read can be pointed at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from medebench.models.answers.characters import BLANK, plain, spoken_parts, uniform
from medebench.models.answers.lenient_json import Number, Pairs, find_objects

#: Of a longer answer the middle is left out: what is answered stands at an end.
LONGEST = 100_000
_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}\n]|\{[^{}\n]{0,80}\}){0,120})\}")
_LONE_MARK = re.compile(r"(?<!\w)_+(?!\w)")
_TAGGED = re.compile(r"<(final_?answer|answer)>([^<]{0,400})</\1>", re.I)
_KEYS = {
    *("answer", "final_answer", "finalanswer", "choice", "option", "letter", "selected", "pick"),
    *("prediction", "correct_answer", "correct_option", "selected_option", "response", "result"),
    *("answer_letter", "answer_choice", "missing_word", "word", "blank", "gap"),
}


@dataclass(frozen=True)
class Body:
    """`text` is as long as `at`, which holds the place of each character in the answer."""

    text: str
    at: tuple[int, ...]
    #: Whether a thought was never closed: the answer had not begun.
    cut: bool = False
    #: What the answer itself marks as its result: in JSON, in a box, in a tag.
    marked: tuple[str, ...] | None = None

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """The place in the answer of a part of the text."""
        return (self.at[start], self.at[end - 1] + 1) if start < end <= len(self.at) else None


def answer_body(answer: str) -> Body:
    """The answer proper, without marks of Markdown, HTML and LaTeX."""
    text, at = _uniform(answer)
    kept, cut = spoken_parts(text)
    # Blanks in place of thoughts: a letter before one does not touch what comes after.
    parts: list[str] = []
    places: list[int] = []
    end = 0
    for start, stop in kept:
        if start > end and parts:
            parts.append("\n")
            places.append(at[start - 1])
        parts.append(text[start:stop])
        places.extend(at[start:stop])
        end = stop
    spoken = "".join(parts)
    found = _LONE_MARK.sub(lambda one: " " * len(one[0]), plain(spoken).replace(BLANK, " "))
    return Body(*_tight(found, places), cut, _marked(spoken))


def _tight(text: str, places: list[int]) -> tuple[str, tuple[int, ...]]:
    """One blank or one new line for a run of them: markup leaves many."""
    parts, at, end = [], [], 0
    for run in re.finditer(r"\s{2,}", text):
        parts += [text[end : run.start()], "\n" if "\n" in run[0] else " "]
        at += [*places[end : run.start()], places[run.start()]]
        end = run.end()
    return "".join([*parts, text[end:]]), (*at, *places[end : len(text)])


def _uniform(answer: str) -> tuple[str, list[int]]:
    if len(answer) > LONGEST:
        half = LONGEST // 2
        first, before = _uniform(answer[:half])
        last, behind = _uniform(answer[-half:])
        return f"{first}\n{last}", [*before, half, *(len(answer) - half + one for one in behind)]
    text = uniform(answer)
    if len(text) == len(answer):
        return text, list(range(len(text)))
    at: list[int] = []
    for place, character in enumerate(answer):
        if character == "\r" and answer[place + 1 : place + 2] == "\n":
            continue
        at += [place] * len(uniform(character))
    return text, at


def _marked(text: str) -> tuple[str, ...] | None:
    """Empty strings count: who boxes nothing answers nothing."""
    tagged = [found[2] for found in _TAGGED.finditer(text)]
    boxed = [_unwrapped(found[1]) for found in _BOXED.finditer(text)]
    told = [value for found in find_objects(text) for value in _values(found.value)]
    every = tagged or boxed or told
    return tuple(dict.fromkeys(one.strip() for one in every)) if every else None


def _unwrapped(text: str) -> str:
    return re.sub(r"\\(?:text|mathbf|textbf|mathrm)\s*\{([^{}]*)\}", r"\1", text)


def _values(pairs: Pairs) -> list[str]:
    found: list[str] = []
    for key, value in pairs.items:
        if re.sub(r"[\s-]+", "_", key.strip().lower()) not in _KEYS:
            continue
        every = value if isinstance(value, list) else [value]
        found += [str(one) if isinstance(one, str | Number) else "" for one in every]
    return found
