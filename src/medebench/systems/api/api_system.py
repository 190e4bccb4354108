"""What systems behind APIs share: who is asked, with whose money, and answers in words."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from medebench.errors import InputError
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
    find_client,
)
from medebench.models.model_lookup import find_provider
from medebench.outputs import Output
from medebench.systems.answer_prompts import ANSWER, answer_kind_of, question_facts, question_text
from medebench.systems.api.image_answers import IN_A_REASON, facts, refusal
from medebench.systems.input_images import Several, image_facts, image_labels, input_images
from medebench.systems.request import NotTried, Refused, Request, case_seed
from medebench.systems.shared_caller import SharedCaller
from medebench.systems.system import System

#: Systems that differ in none of these can share a Caller.
CALLED_BY = ("model", "base_url", "max_cost", "timeout", "deadline", "at_once", "fresh")
#: Numbers of repeated questions from here on stand for seeds.
SEEDS = 2**20
#: As long as answers in words usually are, for an estimate.
_LIKELY = {"letter": 8, "gap": 12, "free": 80, "report": 300}


class ApiSystem(System, ABC):
    """Asked from many threads at once; all share one Caller, and with it limits and money."""

    argument = "model"
    #: The provider: in the name of the system, and where key and address are from.
    _kind: ClassVar[str]

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.at_once = settings.at_once
        self._calls = SharedCaller(self._new_caller)

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
        if not isinstance(other, ApiSystem) or type(other) is not type(self):
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
                    yield self._question(request)
                except (InputError, Refused):
                    # It will be a reason, at no cost.
                    continue

        return self._open().plan(asks())

    def _question(self, request: Request) -> Ask:
        """The first question about a case."""
        self._require(request)
        return self._text_ask(request)

    def _require(self, request: Request) -> None:
        """Refuse what the model does not give, before anything is paid."""
        if lacking := [part for part in request.gives if part not in self.gives]:
            name, gives = self.settings.model, " and ".join(self.gives)
            raise Refused(f"the case asks for {_article(lacking[0])}, and {name} gives {gives}")

    def _text_ask(self, request: Request) -> Ask:
        one = self.settings
        text = question_text(request)
        shown = labelled(request, one.images, one.image_size)
        return Ask(
            ANSWER.system,
            (*shown, text),
            temperature=one.temperature,
            max_tokens=one.max_tokens,
            repeat=repeat_of(request),
            likely_tokens=_LIKELY[answer_kind_of(request)],
        )

    def _text_answer(self, request: Request) -> Output:
        ask = self._text_ask(request)
        return text_output(self._open(), ask, request, self.settings.tries, self.settings.images)

    def _open(self) -> Caller:
        return self._calls.open(self)

    def _new_caller(self) -> Caller:
        one = self.settings
        return Caller(
            self._find_client(f"{self._kind}:{one.model}", one.base_url),
            limits=Limits(
                timeout=one.timeout, deadline=one.deadline, start=one.at_once, most=one.at_once
            ),
            cache=AnswerCache(),
            max_cost=one.max_cost,
            fresh=one.fresh,
        )

    def _find_client(self, name: str, base_url: str | None) -> Any:
        return find_client(name, base_url)


def labelled(request: Request, several: Several, size: int) -> list[str | Image]:
    """The input images as they are sent, each behind its label where there are several."""
    case, found = request.case, list[str | Image]()
    pairs = zip(image_labels(case, several), input_images(case, several), strict=True)
    for label, picture in pairs:
        found += [label] if label else []
        found.append(encode_for_model(picture, size, bits=case.case.bits))
    return found


def text_output(
    caller: Caller, ask: Ask, request: Request, tries: int, several: Several = "separate"
) -> Output:
    """An answer in words, or the reason why there is none."""
    told = question_facts(request, str(ask.parts[-1])) | image_facts(request.case, several)
    answers: list[Answer] = []
    # Only an answer that says something is kept, so the same question can be asked again.
    for _ in range(tries):
        result = ask_kept(caller, ask)
        if isinstance(result, Failure):
            raise unanswered(result, answers, silent)
        answers.append(result)
        if result.finish == "refusal":
            raise Refused(refusal(result), told | facts(answers))
        if result.text.strip():
            detail = told | facts(answers)
            detail.pop("said", None)
            return Output(text=result.text, detail=detail | cut_facts(result))
    raise Refused(silent(answers[-1]), told | facts(answers))


def ask_kept(caller: Caller, ask: Ask) -> Answer | Failure:
    """The answer; one that was cut off is kept too, since it counts and has been paid for."""

    async def work(_: None) -> Answer:
        answer = await caller.ask(ask, _says_something)
        if answer.finish == "length" and not answer.cached and _says_something(answer):
            await caller.keep(ask, answer)
        return answer

    return next(result for _, result in caller.run(work, [None]))


def cut_facts(answer: Answer) -> dict[str, Any]:
    """Tells readers of an answer that its end is missing."""
    return {"finish": "length", "truncated": True} if answer.finish == "length" else {}


def repeat_of(request: Request) -> int:
    """What tells answers to the same question apart, since the vendors take no seed.

    It follows the seed alone, as if they did: k for the seeds of a run with seed 0, and 0 for all
    settings of such a sweep, which have the seed of k = 0; any other seed has a number of its own.
    """
    for k in (request.k, 0):
        if request.seed == case_seed(0, request.case.case.id, k):
            return k
    return SEEDS + request.seed


def unanswered(
    failure: Failure, answers: list[Answer], complaint: Callable[[Answer], str]
) -> NotTried | Refused:
    if failure.kind in NOT_ASKED:
        if all(answer.cached for answer in answers):
            return NotTried(failure.reason)
        # Useless answers are not kept: the next run would pay for them once more, and this one
        # would have booked nothing.
        said = complaint(answers[-1])
        return Refused(f"{said}; not asked again: {failure.reason}", facts(answers))
    return Refused(f"the model could not be asked: {failure.reason}", facts(answers))


def silent(answer: Answer) -> str:
    """Why an answer without words is of no use."""
    if answer.finish == "length":
        return "the answer was cut off before its first word; raise max_tokens"
    return f"the model answered with nothing ({answer.finish[:IN_A_REASON]})"


def _says_something(answer: Answer) -> bool:
    return bool(answer.text.strip())


def _article(part: str) -> str:
    return "an image" if part == "image" else "a text"
