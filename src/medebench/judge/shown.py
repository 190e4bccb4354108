"""What a model is shown of an output: pictures as they are sent, and texts, by role.

A `View` is plain data: it can go to where pictures are decoded, in another process if need be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from medebench.cases.case import Case
from medebench.cases.open_case import OpenCase
from medebench.images.picture import Picture
from medebench.judge.rubric import Rubric
from medebench.models import Image, encode_for_model
from medebench.outputs import Output, whole

#: Characters of a text that a judge is shown; a long report has a tenth of it.
LONGEST_TEXT = 30_000


@dataclass(frozen=True)
class Shown:
    """One output as the judge gets it; nothing in it tells who made it."""

    case: Case
    roles: Mapping[str, Image | str]
    #: Added to what decides the order, where the rubric shuffles.
    seed: str = ""


@dataclass(frozen=True)
class View:
    rubric: Rubric
    image_size: int

    def show(self, case: OpenCase, output: Output | Picture) -> Shown:
        """The roles of the rubric; pictures of the case are encoded once for all its outputs."""
        made = whole(output)
        parts = {"output": made.image, "output_text": made.text}
        given = {role: part for role, part in parts.items() if part is not None}
        own = _of_case(case)
        # Tells what the case lacks before anything is decoded or encoded.
        filled = self.rubric.fill(case.case, {*given, *own})
        kept: dict[str, Image | str] = case.memo.setdefault(f"as sent, {self.image_size}", {})
        roles: dict[str, Image | str] = {}
        for role in filled.roles:
            if role in given:
                roles[role] = self._sent(case, given[role])
            elif role in own:
                if role not in kept:
                    kept[role] = self._sent(case, own[role]())
                roles[role] = kept[role]
        return Shown(case.case, roles)

    def encode(self, case: OpenCase, picture: Picture) -> Image:
        return encode_for_model(picture, self.image_size, bits=case.case.bits)

    def _sent(self, case: OpenCase, content: Picture | str) -> Image | str:
        return _bounded(content) if isinstance(content, str) else self.encode(case, content)


def _bounded(text: str) -> str:
    """A text that never ends is judged by its beginning, which says that it was cut."""
    more = len(text) - LONGEST_TEXT
    return text if more <= 0 else f"{text[:LONGEST_TEXT]}\n[{more:,} more characters are not shown]"


def _of_case(case: OpenCase) -> dict[str, Callable[[], Picture | str]]:
    """What a case can show besides the output, opened only if it is shown."""
    found: dict[str, Callable[[], Picture | str]] = {
        role: partial(case.image, role) for role in case.case.inputs()
    }
    if case.case.reference is not None:
        found["reference"] = lambda: case.reference
    if case.case.roi is not None:
        found["roi"] = lambda: case.mask
    about = case.case
    texts = {"prompt": about.prompt, "description": about.description}
    texts |= {"reference_text": about.answer, "choices": "\n".join(about.choices)}
    return found | {role: partial(str, text) for role, text in texts.items() if text}
