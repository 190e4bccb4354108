"""`composed:MODEL+EDITOR`: a multimodal model says in plain words what the editor is to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from pydantic import Field

from medebench.clients import Ask, Plan, encode_for_model, find_client
from medebench.clients.tally import add_costs, add_plans
from medebench.editors.address import Address
from medebench.editors.base import Edit, Refused, Request
from medebench.editors.wrapping.inner import Inner, check_own, lifted, unopened
from medebench.editors.wrapping.talking import Talker
from medebench.editors.wrapping.words import FOR_EDITOR, IMAGE_SIZE, editor_ask, read_instruction
from medebench.errors import ImageError, InputError, NotReadyError, one_line
from medebench.judge.rubric import visible_line
from medebench.settings import Settings as AnySettings

EXAMPLE = "composed:openai:gpt-4o+phantom-editor:steps=8"
_WRONG = f"expected a model and an editor, such as {EXAMPLE}"


class ComposedSettings(AnySettings):
    how: ClassVar[frozenset[str]] = frozenset({"max_cost"})

    chain: str = Field(repr=False, description="MODEL+EDITOR, the editor with its settings")
    base_url: Address = Field(
        None, repr=False, description="address of the model; none: the vendor's"
    )
    words: int = Field(60, ge=10, le=300, description="most words of the rewritten instruction")
    image_size: int = Field(
        IMAGE_SIZE, ge=64, le=4096, description="longest side of the picture the model is shown"
    )
    max_cost: float | None = Field(None, ge=0, description="most US dollars for the model's calls")


class Composed:
    """The model sees the input picture and the instruction, nothing else of the case."""

    summary: ClassVar[str] = "a multimodal model rewrites the instruction for another editor"
    Settings: ClassVar[type[AnySettings]] = ComposedSettings
    control: ClassVar[bool] = False
    rest: ClassVar[str] = "chain"
    needs: ClassVar[str] = "a key or address for the model, and what the editor inside needs"
    example: ClassVar[str] = EXAMPLE
    #: What the editor inside sees.
    sees: tuple[str, ...] = ()

    def __init__(self, settings: ComposedSettings) -> None:
        self.settings = settings
        model, plus, call = (part.strip() for part in settings.chain.partition("+"))
        check_own("composed", model, ComposedSettings.model_fields)
        if not (model and plus and call) or "," in model:
            raise InputError(f"editor 'composed': {_WRONG}")
        self._model, self._inner = model, Inner(call)
        self._talker: Talker | None = None
        self._lacks: list[str] = []
        try:
            client = find_client(model, settings.base_url)
            self._talker = Talker(client, settings.max_cost)
        except NotReadyError as lacking:
            self._lacks = [str(lacking)]
        except InputError as wrong:
            raise InputError(f"editor 'composed': {wrong}; write {EXAMPLE}") from None
        self.sees = self._inner.sees
        self.judged_by = self._inner.judged_by
        self.demonstrations = self._inner.demonstrations
        self.at_once = self._inner.at_once(waits=True)

    def written_inner(self) -> tuple[dict[str, Any], dict[str, Any]]:
        chain = {"model": self._model, "editor": self._inner.written()}
        return {"chain": chain}, self._inner.chosen.how

    def problems(self) -> list[str]:
        return self._lacks + self._inner.problems()

    def identity(self) -> str:
        url = self._ready.client.identity().get("url", "")
        return f"{FOR_EDITOR.label} {url} {self._inner.identity()}"

    def prepare(self) -> None:
        """A price that is not known shows here, before anything is paid."""
        _ = self._ready.caller
        self._inner.chosen.prepare()

    def share(self, other: object) -> bool:
        return isinstance(other, Composed) and self._inner.chosen.share(other._inner.chosen)

    def close(self) -> None:
        if self._talker is not None:
            self._talker.close()
        self._inner.chosen.close()

    def edit(self, request: Request) -> Edit:
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
            made = self._inner.edit(replace(request, said=outcome.value))
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
        return add_plans([own, *self._inner.estimate(seen)])

    @property
    def _ready(self) -> Talker:
        if self._talker is None:
            raise NotReadyError(f"editor 'composed': {self._lacks[0]}")
        return self._talker

    def _ask(self, request: Request) -> Ask:
        case, size = request.case, self.settings.image_size
        picture = encode_for_model(case.previous, size, bits=case.case.bits)
        return editor_ask(picture, request.instruction, self.settings.words)


def _inside(own: float | None, told: dict[str, Any]) -> dict[str, Any]:
    """What the editor inside told, and what both cost."""
    return {"inner": told, "cost": add_costs([own, told.get("cost", 0.0)])}
