"""What a task is: data about a kind of work, and a card that shows a case of it.

Metrics, scores and the rubric are named, not imported: a task knows neither metrics nor judges.
"""

from __future__ import annotations

from dataclasses import dataclass

from medebench.cases.case import Case
from medebench.cases.open_case import OpenCase
from medebench.outputs import Output, Part
from medebench.tasks.card import Card, CardImage, CardText


@dataclass(frozen=True)
class Task:
    """A kind of work. Subclass it for another card; everything else is data.

    >>> Task("triage", "one word of urgency", gives=("text",)).lacks(Case("1", None, "How urgent?"))
    ()
    """

    name: str
    summary: str
    #: What must come out of a system, in the order in which it is shown.
    gives: tuple[Part, ...] = ("image",)
    #: What a case must have: "previous", "prompt", "reference", "answer", "choices", "roi", ...
    takes: tuple[str, ...] = ("prompt",)
    #: Metrics that `score` computes where none are named.
    metrics: tuple[str, ...] = ()
    #: Scores that lead a report: the first ranks the systems. A judge's are named without the
    #: judge ("accuracy" stands for "accuracy_gpt-5").
    headline: tuple[str, ...] = ()
    #: Named groups of cases that tables break results down by, the first one leading.
    groups: tuple[str, ...] = ("task",)
    #: Of these, those whose tables stand alone; the others are broken down within the leading one.
    alone: tuple[str, ...] = ()
    #: Whether means over the leading groups come first: else large groups would weigh most.
    macro: bool = False
    #: The rubric that a model judges by where none is named.
    rubric: str = ""
    #: What one such output is called, and several.
    noun: str = "output"

    def __repr__(self) -> str:
        return f"Task({self.name!r}, gives {' and '.join(self.gives)})"

    def of(self, case: Case) -> Task:
        """What is to be done with this case, in a set of several kinds of work."""
        return self

    def set_aside(self, case: Case) -> frozenset[str]:
        """Which of the default metrics are not about this case."""
        return frozenset()

    def is_open(self, case: Case) -> bool:
        """Whether there are many right images: likeness to the reference then ranks nobody."""
        return False

    def lacks(self, case: Case) -> tuple[str, ...]:
        """What the task needs and the case does not have."""
        return tuple(name for name in self.takes if not getattr(case, name))

    def card(self, case: OpenCase, output: Output | None = None) -> Card:
        """Everything a person must see to judge the output, in reading order."""
        about = case.case
        texts = [CardText("Instruction", about.prompt)]
        if about.choices:
            listed = "\n".join(f"{chr(65 + n)}. {one}" for n, one in enumerate(about.choices))
            texts.append(CardText("Choices", listed))
        if about.description:
            texts.append(CardText("Wanted", about.description, "reference"))
        images = [
            CardImage("Input" if role == "previous" else role.capitalize(), case.image(role))
            for role in about.inputs()
        ]
        if about.roi is not None and about.previous is not None:
            images[0] = CardImage("Input", case.previous, mark=case.mask)
        if about.reference is not None:
            images.append(CardImage("Reference", case.reference, "reference"))
        if about.answer:
            texts.append(CardText("Reference", about.answer, "reference"))
        if output is not None and output.image is not None:
            images.append(CardImage("Output", output.image, "output"))
        if output is not None and output.text is not None:
            texts.append(CardText("Output", output.text, "output"))
        return Card(about.id, tuple(texts), tuple(images))
