"""What the editors behind APIs share: asking, asking again, and what becomes of the answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from medebench.images.picture import Picture
from medebench.models import Answer, Ask, Failure, Image, encode_for_model, find_image_client
from medebench.outputs import Output
from medebench.settings import Settings as AnySettings
from medebench.systems.api.api_settings import ApiSettings
from medebench.systems.api.api_system import ApiSystem, repeat_of, unanswered
from medebench.systems.api.canvas_padding import Padding
from medebench.systems.api.image_answers import Looker, facts, refusal
from medebench.systems.few_shot import shown_facts, shown_text
from medebench.systems.picture_frame import keeps_frame
from medebench.systems.request import Refused, Request
from medebench.systems.returned_output import fit_answer
from medebench.systems.setting_types import PLACE
from medebench.systems.system import Editor


@dataclass(frozen=True)
class Wish:
    """What a vendor is asked for, and how the picture was prepared for it."""

    settings: dict[str, str] = field(default_factory=dict)
    temperature: float | None = None
    padding: Padding = field(default_factory=Padding)


class ApiEditor(ApiSystem, Editor):
    """Answers with a picture; one whose `input` is none is not shown the case's."""

    Settings: ClassVar[type[AnySettings]] = ApiSettings
    #: Tokens of words and thoughts beside the picture: usually, and at most.
    _words: ClassVar[tuple[int, int]]

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.demonstrations = settings.demonstrations
        self.input_shown = settings.input == "shown"

    @abstractmethod
    def _wish(self, request: Request) -> Wish:
        """The vendor's own part of the question."""

    def _question(self, request: Request) -> Ask:
        self._require(request)
        return self._ask(request, self._wish(request))

    def edit(self, request: Request) -> Output:
        wish = self._wish(request)
        ask = self._ask(request, wish)
        caller, looker = self._open(), Looker()
        answers: list[Answer] = []
        # Only an answer with a picture is kept, so the same question can be asked again.
        for _ in range(self.settings.tries):
            result = caller.ask_one(ask, looker.is_good)
            if isinstance(result, Failure):
                raise unanswered(result, answers, looker.complaint)
            answers.append(result)
            if result.finish == "refusal":
                raise Refused(refusal(result), facts(answers))
            if (picture := looker.picture(result)) is not None:
                return self._edit(request, wish, picture, answers)
        raise Refused(looker.complaint(answers[-1]), facts(answers))

    def _edit(
        self, request: Request, wish: Wish, picture: Picture, answers: list[Answer]
    ) -> Output:
        detail = facts(answers) | shown_facts(request)
        detail["returned"] = [picture.shape[1], picture.shape[0]]
        detail |= {} if self.input_shown else {"input_shown": False}
        try:
            return Output(self._placed(request, wish, picture, detail), detail=detail)
        except Refused as error:
            raise Refused(str(error), detail) from None

    def _placed(
        self, request: Request, wish: Wish, picture: Picture, detail: dict[str, Any]
    ) -> Picture:
        """In the case's own frame; `detail` is told of the padding."""
        if not self.input_shown or not keeps_frame(request):
            # Painted from words, or another view: the frame of the input is not meant.
            return picture
        if wish.padding:
            detail["padded"] = wish.padding.sides
        return _unpadded(request, wish.padding, picture)

    def _ask(self, request: Request, wish: Wish) -> Ask:
        text = self.settings.order.replace(PLACE, shown_text(request))
        return Ask(
            "",
            (text, *(self._sent(request, wish) if self.input_shown else ())),
            temperature=wish.temperature,
            max_tokens=self._words[1],
            repeat=repeat_of(request),
            likely_tokens=self._words[0],
            picture=wish.settings,
        )

    def _sent(self, request: Request, wish: Wish) -> Iterator[Image]:
        """Before and after of each demonstration, then all input images, the one to edit first."""
        for each in request.demonstrations:
            for one in (each.previous, each.reference):
                yield self._encode(one, each.case.bits)
        case = request.case
        yield self._encode(wish.padding.add(case.previous), case.case.bits)
        for role in case.case.images:
            yield self._encode(case.image(role), case.case.bits)

    def _encode(self, picture: Picture, bits: int | None) -> Image:
        return encode_for_model(picture, self.settings.image_size, bits=bits)

    def _find_client(self, name: str, base_url: str | None) -> Any:
        return find_image_client(name, base_url)


def _unpadded(request: Request, padding: Padding, picture: Picture) -> Picture:
    """The answer without its padding, in the case's own frame."""
    height, width = request.case.previous.shape[:2]
    left, top, right, bottom = padding.sides
    whole = left + width + right, top + height + bottom
    # Padding is exact to half a pixel, which is much of a very small picture.
    tolerance = 0.02 + (0.5 / min(whole) if padding else 0.0)
    fitted, _ = fit_answer(picture, *whole, tolerance)
    if request.case.case.grid == "reference":
        # More pixels than the input has are what was asked for.
        return padding.cut_share(picture, width, height)
    return padding.cut(fitted)
