"""What came out of a system: an image, a text, or both. Also the type of a reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from medebench.errors import one_line
from medebench.images.picture import Picture

Part = Literal["image", "text"]
PARTS: tuple[Part, ...] = ("image", "text")


@dataclass(frozen=True)
class Output:
    """What came out of a system; `detail` stands beside it in the ledger.

    >>> output = Output(np.zeros((64, 48, 3), np.uint8), "no pneumothorax")
    >>> output
    Output(image 64 x 48, text 'no pneumothorax')
    >>> output.parts
    ('image', 'text')
    """

    image: Picture | None = None
    text: str | None = None
    detail: dict[str, Any] = field(default_factory=dict, kw_only=True)
    #: Where the model looked for the key concept, 0 to 1, in the image's aspect ratio.
    attention: NDArray[np.float32] | None = field(default=None, kw_only=True)
    #: Images made on the way, the final one among them; facts about each are in
    #: `detail["attempts"]`.
    drafts: tuple[Picture, ...] = field(default=(), kw_only=True)
    #: The image as it came, where it had to be brought to the grid of its case.
    original: Picture | None = field(default=None, repr=False, kw_only=True)

    @property
    def came(self) -> Picture | None:
        """The image in the size it was made in."""
        return self.image if self.original is None else self.original

    @property
    def parts(self) -> tuple[Part, ...]:
        """What of the two is there."""
        return tuple(part for part in PARTS if getattr(self, part) is not None)

    def __repr__(self) -> str:
        told = []
        if self.image is not None:
            told.append(f"image {self.image.shape[0]} x {self.image.shape[1]}")
        if self.text is not None:
            told.append(f"text {one_line(self.text, 60)!r}")
        return f"{type(self).__name__}({', '.join(told) or 'nothing'})"

    def _repr_html_(self) -> str:
        from medebench.outputs.notebook import output_html

        return output_html(self)


def whole(output: Output | Picture) -> Output:
    """An image alone stands for an output that is nothing else."""
    return output if isinstance(output, Output) else Output(output)


class Edit(Output):
    """An output that is an image, as editors have always returned it."""

    def __init__(
        self,
        picture: Picture,
        detail: dict[str, Any] | None = None,
        attention: NDArray[np.float32] | None = None,
        attempts: tuple[Picture, ...] = (),
    ) -> None:
        super().__init__(picture, detail=detail or {}, attention=attention, drafts=attempts)

    @property
    def picture(self) -> Picture:
        assert self.image is not None
        return self.image

    @property
    def attempts(self) -> tuple[Picture, ...]:
        return self.drafts
