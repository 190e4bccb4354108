"""What a task is: data about a kind of work, and a card that shows a case of it.

Metrics, scores and the rubric are named, not imported: a task knows neither metrics nor judges.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from medebench.cases.case import Case
from medebench.cases.choice_options import find_option, read_options
from medebench.cases.open_case import OpenCase
from medebench.outputs import Output, Part
from medebench.tasks.card import Card, CardImage, CardText, Span
from medebench.tasks.text_difference import Place, differences


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
        asked = "Instruction" if "image" in self.of(about).gives else "Question"
        texts = [CardText(asked, about.prompt)]
        if about.choices:
            texts.append(_choices(about))
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
        said = None if output is None else output.text
        # A choice is right or not, however it is put.
        apart = differences(about.answer, said) if said and not about.choices else ([], [])
        if about.answer:
            texts.append(CardText("Reference", about.answer, "reference", _only(apart[0])))
        if output is not None and output.image is not None:
            images.append(CardImage("Output", output.image, "output"))
        if said is not None:
            texts.append(CardText("Output", said, "output", _only(apart[1])))
        return Card(about.id, tuple(texts), tuple(images))


def _only(places: Iterable[Place]) -> tuple[Span, ...]:
    return tuple(Span(start, stop, "only") for start, stop in places)


def _choices(case: Case) -> CardText:
    """The choices with their letters, the right one marked."""
    options = read_options(case.choices)
    right, text = find_option(options, case.answer), ""
    spans: tuple[Span, ...] = ()
    for number, one in enumerate(options):
        if number == right:
            spans = (Span(len(text), len(text) + len(one.line), "right", "the right one"),)
        text += f"{one.line}\n"
    return CardText("Choices", text.rstrip("\n"), "case", spans)
