"""`composed:MODEL+EDITOR`: a multimodal model says in plain words what the editor is to do.

Where a text is asked for, the model writes that as well: alone it is an answer, with a picture both
come of one call. A step that fails is the reason; the next one is then not asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import Field

from medebench.errors import ImageError, InputError, NotReadyError, one_line
from medebench.models import Ask, Plan, encode_for_model, find_client
from medebench.models.prompt_text import visible_line
from medebench.models.tally import add_costs, add_plans
from medebench.models.writing.valid_answers import TRIES
from medebench.models.writing.written_answers import Outcome
from medebench.outputs import Output, Part
from medebench.settings import Settings as AnySettings
from medebench.systems.answer_prompts import ANSWER, question_text
from medebench.systems.api.api_system import labelled, repeat_of, text_output
from medebench.systems.composed.prompts import (
    FOR_EDITOR,
    FOR_PAINTER,
    IMAGE_SIZE,
    TextAndOrder,
    as_answer,
    editor_ask,
    painter_ask,
    read_instruction,
    read_text_and_order,
)
from medebench.systems.composed.wrapper import (
    WAITING,
    LlmSession,
    Wrapper,
    check_own,
    lifted,
    unopened,
)
from medebench.systems.input_images import image_facts
from medebench.systems.request import Refused, Request
from medebench.systems.setting_types import Address

EXAMPLE = "composed:openai:gpt-4o+phantom-editor:steps=8"
_WRONG = f"expected a model and an editor, such as {EXAMPLE}"


class ComposedSettings(AnySettings):
    runtime_only = frozenset({"max_cost"})
    later = frozenset({"max_tokens"})

    chain: str = Field(repr=False, description="MODEL+EDITOR, the editor with its settings")
    base_url: Address = Field(
        None, repr=False, description="address of the model; none: the vendor's"
    )
    words: int = Field(60, ge=10, le=300, description="most words of the rewritten instruction")
    image_size: int = Field(
        IMAGE_SIZE, ge=64, le=4096, description="longest side of the picture the model is shown"
    )
    max_cost: float | None = Field(None, ge=0, description="most US dollars for the model's calls")
    max_tokens: int = Field(
        2048, ge=1, le=200_000, description="longest answer to a question; what is cut says so"
    )


class Composed(Wrapper):
    """The model sees input pictures, instruction and options, nothing else of the case."""

    summary = "a multimodal model answers, and words the instruction for another editor"
    gives: tuple[Part, ...] = ("image", "text")
    Settings = ComposedSettings
    rest = "chain"
    needs = "a key or address for the model, and what the editor inside needs"
    example = EXAMPLE

    settings: ComposedSettings

    def __init__(self, settings: ComposedSettings) -> None:
        model, plus, call = (part.strip() for part in settings.chain.partition("+"))
        check_own("composed", model, ComposedSettings.model_fields)
        if not (model and plus and call) or "," in model:
            raise InputError(f"editor 'composed': {_WRONG}")
        super().__init__(settings, call)
        if "image" not in self._inner.gives:
            gives = " and ".join(self._inner.gives)
            raise InputError(f"editor 'composed': '{self._instance.name}' gives {gives}, no image")
        self._model = model
        try:
            self._session(find_client(model, settings.base_url))
        except NotReadyError as lacking:
            self._lacks = [str(lacking)]
        except InputError as wrong:
            raise InputError(f"editor 'composed': {wrong}; write {EXAMPLE}") from None
        self.at_once = max(self._inner.at_once or 0, WAITING)

    def written_inner(self) -> tuple[dict[str, Any], dict[str, Any]]:
        chain = {"model": self._model, "editor": self._written()}
        return {"chain": chain}, self._instance.runtime_only

    def identity(self) -> str:
        url = self._ready.client.identity().get("url", "")
        return f"{FOR_EDITOR.label} {url} {self._inner_identity()}"

    def generate(self, request: Request) -> Output:
        if "image" not in request.gives:
            return self._answer(request)
        return self._both(request) if "text" in request.gives else self.edit(request)

    def edit(self, request: Request) -> Output:
        ask = self._ask(request)
        read = partial(read_instruction, most=self.settings.words, earlier=[request.instruction])
        outcome = self._ready.write(ask, read, FOR_EDITOR, as_answer)
        detail = self._written_by(request, outcome)
        return self._painted(request, outcome.value, outcome.cost, detail)

    def _both(self, request: Request) -> Output:
        """The model's text, and the picture that its order leads to."""
        ask = self._ask(request)
        read = partial(read_text_and_order, most=self.settings.words)
        outcome = self._ready.write(ask, read, FOR_PAINTER, TextAndOrder.as_answer)
        detail = self._written_by(request, outcome)
        assert outcome.value is not None
        detail |= image_facts(request.case, "separate")
        try:
            made = self._painted(request, outcome.value.order, outcome.cost, detail)
        except Refused as refused:
            # Paid for, and of use to whoever looks for the reason.
            raise Refused(str(refused), refused.detail | {"said": outcome.value.text}) from refused
        return replace(made, text=outcome.value.text)

    def _answer(self, request: Request) -> Output:
        """A question is for the model alone."""
        ask = self._ask(request)
        return text_output(self._ready.caller, ask, request, TRIES)

    def _written_by(self, request: Request, outcome: Outcome[Any]) -> dict[str, Any]:
        """What the ledger keeps of the model's step; a reason where it failed."""
        detail: dict[str, Any] = {"asked": request.instruction}
        detail |= {"rewriter": self._ready.told(outcome), "cost": outcome.cost}
        if outcome.value is None:
            raise Refused(one_line(f"no rewritten instruction: {outcome.reason}"), detail)
        return detail

    def _painted(
        self, request: Request, order: str | None, paid: float | None, detail: dict[str, Any]
    ) -> Output:
        """What the editor inside makes of the order and, unless it paints blind, of the input."""
        assert order
        detail |= {"instruction": order, "input_shown": self._inner.input_shown}
        # A text beside it is not the editor's affair.
        asked = replace(request, said=order, gives=("image",))
        try:
            made = self._generate_inside(asked)
        except Refused as refused:
            detail |= _inside(paid, refused.detail)
            raise Refused(str(refused), detail) from refused
        detail |= _inside(paid, made.detail)
        return replace(made, text=None, detail=detail | lifted(made.detail, *_LIFTED))

    def estimate(self, requests: Iterable[Request]) -> Plan:
        """The model's first answers; how many are sent back is not known."""
        seen: list[Request] = []

        def asks() -> Iterator[Ask]:
            for request in requests:
                if "image" in request.gives:
                    seen.extend(unopened([replace(request, gives=("image",))]))
                # What cannot be asked will be a reason, and no call.
                with suppress(ImageError, Refused):
                    yield self._ask(request)

        own = self._ready.caller.plan(asks())
        return add_plans([own, *self._estimate_inside(seen)])

    @property
    def _ready(self) -> LlmSession:
        self._require_ready()
        (session,) = self._sessions.values()
        return session

    def _ask(self, request: Request) -> Ask:
        """The first question to the model about a case."""
        one, case = self.settings, request.case
        if not visible_line(request.instruction):
            raise Refused("the case has no instruction to rewrite")
        if "text" not in request.gives:
            picture = encode_for_model(case.previous, one.image_size, bits=case.case.bits)
            return editor_ask(picture, request.instruction, one.words)
        shown = labelled(request, "separate", one.image_size)
        if "image" in request.gives:
            return painter_ask(shown, request.instruction, one.words, self._inner.input_shown)
        return Ask(
            ANSWER.system,
            (*shown, question_text(request)),
            max_tokens=one.max_tokens,
            repeat=repeat_of(request),
        )


#: What others look for at the top, of what the editor inside told.
_LIFTED = ("attempts", "chosen", "input_shown")


def _inside(own: float | None, told: dict[str, Any]) -> dict[str, Any]:
    """What the editor inside told, and what both cost."""
    return {"inner": told, "cost": add_costs([own, told.get("cost", 0.0)])}
