"""What the editors behind APIs share: asking, asking again, and what becomes of the answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from medebench.errors import InputError
from medebench.images.picture import Picture
from medebench.models import (
    NOT_ASKED,
    Answer,
    AnswerCache,
    Ask,
    Caller,
    Failure,
    Image,
    Limits,
    Plan,
    encode_for_model,
    find_image_client,
)
from medebench.models.model_lookup import find_provider
from medebench.outputs import Output
from medebench.settings import Settings as AnySettings
from medebench.systems.api.api_settings import ApiSettings
from medebench.systems.api.canvas_padding import Padding
from medebench.systems.api.image_answers import Looker, facts, refusal
from medebench.systems.few_shot import shown_facts, shown_text
from medebench.systems.request import NotTried, Refused, Request, case_seed
from medebench.systems.returned_output import fit_answer
from medebench.systems.setting_types import PLACE
from medebench.systems.shared_caller import SharedCaller
from medebench.systems.system import Editor

#: Editors that differ in none of these can share a Caller.
CALLED_BY = ("model", "base_url", "max_cost", "timeout", "deadline", "at_once", "fresh")
#: Numbers of repeated questions from here on stand for seeds.
SEEDS = 2**20


@dataclass(frozen=True)
class Wish:
    """What a vendor is asked for, and how the picture was prepared for it."""

    settings: dict[str, str] = field(default_factory=dict)
    temperature: float | None = None
    padding: Padding = field(default_factory=Padding)


class ApiEditor(Editor, ABC):
    """Asked from many threads at once; all share one Caller, and with it limits and money."""

    Settings: ClassVar[type[AnySettings]] = ApiSettings
    argument = "model"
    #: The provider: in the name of the editor, and where key and address are from.
    _kind: ClassVar[str]
    #: Tokens of words and thoughts beside the picture: usually, and at most.
    _words: ClassVar[tuple[int, int]]

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.at_once = settings.at_once
        self.demonstrations = settings.demonstrations
        self._calls = SharedCaller(self._new_caller)

    @abstractmethod
    def _wish(self, request: Request) -> Wish:
        """The vendor's own part of the question."""

    def problems(self) -> list[str]:
        """What is missing here (package, key), a line each; nothing is loaded."""
        return find_provider(self._kind).problems(self.settings.base_url)

    def identity(self) -> str:
        """Who is asked, where the environment and not a setting decides that."""
        endpoint = find_provider(self._kind).find_endpoint(self.settings.base_url)
        return "" if self.settings.base_url or endpoint.is_official else endpoint.url

    def prepare(self) -> None:
        """What is wrong with key, price or address ends the command, not each case alone."""
        self._open()

    def share(self, other: object) -> bool:
        """Ask through the Caller of `other`, and so from the same money, if it would be alike."""
        if not isinstance(other, ApiEditor) or type(other) is not type(self):
            return False
        if any(getattr(self.settings, n) != getattr(other.settings, n) for n in CALLED_BY):
            return False
        if not other._calls.is_open:
            return False
        if other._calls is not self._calls:
            self.close()
            self._calls = other._calls
            self._open()
        return True

    def close(self) -> None:
        """What is shared stays open until all have closed it."""
        self._calls.close(self)

    def estimate(self, requests: Iterable[Request]) -> Plan:
        """Calls, tokens and money without any call; second tries are not known yet."""

        def asks() -> Iterator[Ask]:
            for request in requests:
                try:
                    yield self._ask(request, self._wish(request))
                except (InputError, Refused):
                    # It will be a reason, at no cost.
                    continue

        return self._open().plan(asks())

    def edit(self, request: Request) -> Output:
        wish = self._wish(request)
        ask = self._ask(request, wish)
        caller, looker = self._open(), Looker()
        answers: list[Answer] = []
        # Only an answer with a picture is kept, so the same question can be asked again.
        for _ in range(self.settings.tries):
            result = caller.ask_one(ask, looker.is_good)
            if isinstance(result, Failure):
                raise _unanswered(result, answers, looker)
            answers.append(result)
            if result.finish == "refusal":
                raise Refused(refusal(result), facts(answers))
            if (picture := looker.picture(result)) is not None:
                return self._edit(request, wish, picture, answers)
        raise Refused(looker.complaint(answers[-1]), facts(answers))

    def _edit(
        self, request: Request, wish: Wish, picture: Picture, answers: list[Answer]
    ) -> Output:
        height, width = request.case.previous.shape[:2]
        left, top, right, bottom = wish.padding.sides
        detail = facts(answers) | shown_facts(request)
        detail["returned"] = [picture.shape[1], picture.shape[0]]
        if wish.padding:
            detail["padded"] = wish.padding.sides
        whole = left + width + right, top + height + bottom
        # Padding is exact to half a pixel, which is much of a very small picture.
        tolerance = 0.02 + (0.5 / min(whole) if wish.padding else 0.0)
        try:
            fitted, _ = fit_answer(picture, *whole, tolerance)
        except Refused as error:
            raise Refused(str(error), detail) from None
        return Output(wish.padding.cut(fitted), detail=detail)

    def _ask(self, request: Request, wish: Wish) -> Ask:
        case = request.case
        shown = [one for each in request.demonstrations for one in (each.previous, each.reference)]
        bits = [each.case.bits for each in request.demonstrations for _ in range(2)]
        images = [self._encode(*one) for one in zip(shown, bits, strict=True)]
        images.append(self._encode(wish.padding.add(case.previous), case.case.bits))
        text = self.settings.wording.replace(PLACE, shown_text(request))
        return Ask(
            "",
            (text, *images),
            temperature=wish.temperature,
            max_tokens=self._words[1],
            repeat=_repeat(request),
            likely_tokens=self._words[0],
            picture=wish.settings,
        )

    def _encode(self, picture: Picture, bits: int | None) -> Image:
        return encode_for_model(picture, self.settings.image_size, bits=bits)

    def _open(self) -> Caller:
        return self._calls.open(self)

    def _new_caller(self) -> Caller:
        one = self.settings
        return Caller(
            find_image_client(f"{self._kind}:{one.model}", one.base_url),
            limits=Limits(
                timeout=one.timeout, deadline=one.deadline, start=one.at_once, most=one.at_once
            ),
            cache=AnswerCache(),
            max_cost=one.max_cost,
            fresh=one.fresh,
        )


def _repeat(request: Request) -> int:
    """What tells answers to the same question apart, since the vendors take no seed.

    It follows the seed alone, as if they did: k for the seeds of a run with seed 0, and 0 for all
    settings of such a sweep, which have the seed of k = 0; any other seed has a number of its own.
    """
    for k in (request.k, 0):
        if request.seed == case_seed(0, request.case.case.id, k):
            return k
    return SEEDS + request.seed


def _unanswered(failure: Failure, answers: list[Answer], looker: Looker) -> NotTried | Refused:
    if failure.kind in NOT_ASKED:
        if all(answer.cached for answer in answers):
            return NotTried(failure.reason)
        # Answers without a picture are not kept: the next run would pay for them once more, and
        # this one would have booked nothing.
        said = looker.complaint(answers[-1])
        return Refused(f"{said}; not asked again: {failure.reason}", facts(answers))
    return Refused(f"the model could not be asked: {failure.reason}", facts(answers))
