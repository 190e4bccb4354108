"""`composed:MODEL+EDITOR`: a multimodal model says in plain words what the editor is to do."""

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
from medebench.outputs import Output
from medebench.settings import Settings as AnySettings
from medebench.systems.composed.prompts import FOR_EDITOR, IMAGE_SIZE, editor_ask, read_instruction
from medebench.systems.composed.wrapper import (
    WAITING,
    LlmSession,
    Wrapper,
    check_own,
    lifted,
    unopened,
)
from medebench.systems.request import Refused, Request
from medebench.systems.setting_types import Address

EXAMPLE = "composed:openai:gpt-4o+phantom-editor:steps=8"
_WRONG = f"expected a model and an editor, such as {EXAMPLE}"


class ComposedSettings(AnySettings):
    runtime_only = frozenset({"max_cost"})

    chain: str = Field(repr=False, description="MODEL+EDITOR, the editor with its settings")
    base_url: Address = Field(
        None, repr=False, description="address of the model; none: the vendor's"
    )
    words: int = Field(60, ge=10, le=300, description="most words of the rewritten instruction")
    image_size: int = Field(
        IMAGE_SIZE, ge=64, le=4096, description="longest side of the picture the model is shown"
    )
    max_cost: float | None = Field(None, ge=0, description="most US dollars for the model's calls")


class Composed(Wrapper):
    """The model sees the input picture and the instruction, nothing else of the case."""

    summary = "a multimodal model rewrites the instruction for another editor"
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

    def edit(self, request: Request) -> Output:
        asked = request.instruction
        if not visible_line(asked):
            raise Refused("the case has no instruction to rewrite")
        ask = self._ask(request)
        read = partial(read_instruction, most=self.settings.words, earlier=[asked])
        outcome = self._ready.write(ask, read, FOR_EDITOR)
        detail: dict[str, Any] = {"asked": asked, "rewriter": self._ready.told(outcome)}
        detail["cost"] = outcome.cost
        if outcome.value is None:
            raise Refused(one_line(f"no rewritten instruction: {outcome.reason}"), detail)
        detail["instruction"] = outcome.value
        try:
            made = self._generate_inside(replace(request, said=outcome.value))
        except Refused as refused:
            detail |= _inside(outcome.cost, refused.detail)
            raise Refused(str(refused), detail) from refused
        detail |= _inside(outcome.cost, made.detail)
        return replace(made, detail=detail | lifted(made.detail, "attempts", "chosen"))

    def estimate(self, requests: Iterable[Request]) -> Plan:
        """The model's first answers; how many are sent back is not known."""
        seen: list[Request] = []

        def asks() -> Iterator[Ask]:
            for request in requests:
                seen.extend(unopened([request]))
                # A picture that cannot be read will be a reason, and no call.
                with suppress(ImageError):
                    yield self._ask(request)

        own = self._ready.caller.plan(asks())
        return add_plans([own, *self._estimate_inside(seen)])

    @property
    def _ready(self) -> LlmSession:
        self._require_ready()
        (session,) = self._sessions.values()
        return session

    def _ask(self, request: Request) -> Ask:
        case, size = request.case, self.settings.image_size
        picture = encode_for_model(case.previous, size, bits=case.case.bits)
        return editor_ask(picture, request.instruction, self.settings.words)


def _inside(own: float | None, told: dict[str, Any]) -> dict[str, Any]:
    """What the editor inside told, and what both cost."""
    return {"inner": told, "cost": add_costs([own, told.get("cost", 0.0)])}
