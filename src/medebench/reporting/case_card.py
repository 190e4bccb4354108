"""What a task's card shows of a case and of an output, taken apart for the page."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from medebench.cases import Case, OpenCase
from medebench.files import sha256
from medebench.outputs import Output
from medebench.reporting.text_marks import Marks, marks
from medebench.tasks import CardImage, CardText, Task

#: Label, text, and whose it is: "case", "reference", "output", or "more" (of the large view alone);
#: then perhaps what is marked in it.
Text = list[Any]


@dataclass(frozen=True)
class OutputCard:
    """What a card has only with an output."""

    #: Label, text and marks.
    texts: list[list[Any]]
    images: list[CardImage]
    #: Of the reference's texts, by label, what is marked in them beside this output.
    wanted: list[list[Any]]


@dataclass(frozen=True)
class Cards:
    """The cards of one task. The standard one can be told without opening the case."""

    task: Task

    @cached_property
    def standard(self) -> bool:
        return type(self.task).card is Task.card

    @property
    def pictures_only(self) -> bool:
        """Whether an output is an image and nothing else, so that there is no card to keep."""
        return self.standard and tuple(self.task.gives) == ("image",)

    @cached_property
    def style(self) -> str:
        """Part of the name of what is drawn: another card makes other pictures."""
        if self.standard:
            return "editing" if self.task.name == "editing" else "marked"
        try:
            return sha256(inspect.getsource(type(self.task)).encode())[:16]
        except (OSError, TypeError):
            return f"{type(self.task).__module__}.{type(self.task).__qualname__}"

    def texts(self, case: Case) -> list[Text]:
        """Of the standard card."""
        if self.style == "editing":
            again = "the same" if case.rephrased_prompt == case.prompt else case.rephrased_prompt
            told = {"Prompt": case.prompt, "Rephrased": again, "Description": case.description}
            sides = ("case", "more", "more")
            return [[*pair, side] for pair, side in zip(told.items(), sides, strict=True)]
        texts = self.task.card(_unopened(case)).texts
        return [[one.label, one.text, one.side, self.marks(one)] for one in texts]

    def marks(self, text: CardText) -> Marks:
        """Findings are looked for in what is wanted and in what came out."""
        return marks(text, text.side != "case")

    def roles(self, case: Case) -> dict[str, str]:
        """By role, what the standard card calls the images of a case."""
        roles = [*case.inputs(), *(["reference"] if case.reference is not None else [])]
        if self.style == "editing":
            return {role: role for role in roles if role in ("previous", "reference")}
        images = self.task.card(_unopened(case)).images
        return dict(zip(roles, (one.label for one in images), strict=True))

    def of_output(self, case: OpenCase, output: Output) -> OutputCard:
        """What the card has only with the output, but for its image, which is shown anyway."""
        empty, whole = self.task.card(case), self.task.card(case, output)
        known = {(t.label, t.text, t.side): t for t in empty.texts}
        texts: list[list[Any]] = []
        wanted: list[list[Any]] = []
        for t in whole.texts:
            if (own := known.get((t.label, t.text, t.side))) is None:
                texts.append([t.label, t.text, self.marks(t)])
            elif own.spans != t.spans:
                wanted.append([t.label, self.marks(t)])
        seen = [output.image, *(one.image for one in empty.images)]
        images = [one for one in whole.images if not any(one.image is other for other in seen)]
        return OutputCard(texts, images, wanted)


def _unopened(case: Case) -> OpenCase:
    """A case whose images are only named: none is read."""
    opened, nothing = OpenCase(case), np.zeros((1, 1, 3), np.uint8)
    vars(opened).update(dict.fromkeys(("previous", "reference", "mask"), nothing))
    opened.memo["images"] = dict.fromkeys(case.images, nothing)
    return opened
