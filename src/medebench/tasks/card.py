"""A case with an output of it, as plain data that a page, a panel or a notebook can draw."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from medebench.images.picture import Mask, Picture
from medebench.outputs.notebook import image_html, text_html

#: Whose it is: the case's own, what was wanted, or what came out.
Side = Literal["case", "reference", "output"]


#: What only this one of two texts says, the right one of several choices, or a finding.
Kind = Literal["only", "right", "finding"]


@dataclass(frozen=True)
class Span:
    """A part of a text that is marked, `text[start:stop]`, and what to say of it."""

    start: int
    stop: int
    kind: Kind
    words: str = ""


@dataclass(frozen=True)
class CardText:
    """A text on a card."""

    label: str
    text: str
    side: Side = "case"
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True)
class CardImage:
    """An image on a card."""

    label: str
    image: Picture = field(repr=False)
    side: Side = "case"
    #: A region to outline, on the image's grid.
    mark: Mask | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Card:
    """Texts and images in the order in which they are read.

    >>> Card("7", (CardText("Question", "Which side?"),))
    Card('7', 1 texts, 0 images)
    """

    title: str
    texts: tuple[CardText, ...] = ()
    images: tuple[CardImage, ...] = ()

    def __repr__(self) -> str:
        return f"Card({self.title!r}, {len(self.texts)} texts, {len(self.images)} images)"

    def of(self, side: Side) -> Card:
        """The part of the card that belongs to one side."""
        texts = tuple(one for one in self.texts if one.side == side)
        return Card(self.title, texts, tuple(one for one in self.images if one.side == side))

    def _repr_html_(self) -> str:
        images = "".join(image_html(one.image, one.label, one.mark) for one in self.images)
        places = ([(span.start, span.stop) for span in one.spans] for one in self.texts)
        told = zip(self.texts, places, strict=True)
        return images + "".join(text_html(one.text, one.label, marked) for one, marked in told)
