"""Models that answer with words, with a picture, or with both at once."""

from __future__ import annotations

from contextlib import suppress

from medebench.models import Answer, Ask, Failure
from medebench.outputs import Output, Part
from medebench.systems.answer_prompts import ANSWER, question_facts, question_text
from medebench.systems.api.api_editor import ApiEditor, Wish
from medebench.systems.api.api_system import cut_facts, labelled, repeat_of, unanswered
from medebench.systems.api.image_answers import Looker, facts, refusal
from medebench.systems.input_images import image_facts
from medebench.systems.request import Refused, Request


class UnifiedEditor(ApiEditor):
    """What the case asks for decides the call; a picture with a text is one answer."""

    gives: tuple[Part, ...] = ("image", "text")

    def generate(self, request: Request) -> Output:
        self._require(request)
        if "image" not in request.gives:
            return self._text_answer(request)
        return self._both(request) if "text" in request.gives else self.edit(request)

    def _question(self, request: Request) -> Ask:
        self._require(request)
        if "image" not in request.gives:
            return self._text_ask(request)
        if "text" in request.gives:
            return self._both_ask(request, self._wish(request))
        return self._ask(request, self._wish(request))

    def _both(self, request: Request) -> Output:
        wish = self._wish(request)
        ask = self._both_ask(request, wish)
        told = question_facts(request, str(ask.parts[-1]))
        told |= image_facts(request.case, self.settings.images)
        caller, looker = self._open(), Looker()
        answers: list[Answer] = []
        # Only an answer with both is kept, so the same question can be asked again.
        for _ in range(self.settings.tries):
            result = caller.ask_one(ask, lambda one: _lacks(looker, one) is None)
            if isinstance(result, Failure):
                raise unanswered(result, answers, looker.complaint)
            answers.append(result)
            if result.finish == "refusal":
                raise Refused(refusal(result), told | facts(answers))
            picture = looker.picture(result)
            if picture is not None and result.text.strip():
                detail = told | facts(answers) | cut_facts(result)
                detail["returned"] = [picture.shape[1], picture.shape[0]]
                detail["input_shown"] = self.input_shown
                detail.pop("said", None)
                # One of another shape stays as it came: the text would be lost with it.
                with suppress(Refused):
                    picture = self._placed(request, wish, picture, detail)
                return Output(picture, result.text, detail=detail)
        raise Refused(_lacks(looker, answers[-1]) or "no answer", told | facts(answers))

    def _both_ask(self, request: Request, wish: Wish) -> Ask:
        case = request.case
        shown = labelled(request, self.settings.images, self.settings.image_size)
        if wish.padding:
            shown = [self._encode(wish.padding.add(case.previous), case.case.bits)]
        # Models that draw do not all take a system text.
        text = f"{ANSWER.system}\n\n{question_text(request)}"
        return Ask(
            "",
            (*(shown if self.input_shown else ()), text),
            temperature=wish.temperature,
            max_tokens=max(self._words[1], self.settings.max_tokens),
            repeat=repeat_of(request),
            likely_tokens=self._words[0],
            picture=wish.settings,
        )


def _lacks(looker: Looker, answer: Answer) -> str | None:
    """What is missing in an answer that is to hold a picture and a text."""
    if looker.picture(answer) is None:
        return looker.complaint(answer)
    return None if answer.text.strip() else "the model answered with a picture and no text"
