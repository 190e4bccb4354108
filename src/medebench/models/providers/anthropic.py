"""Anthropic's Claude, through anthropic.

Prices as compiled for OpenAI's (see there). A picture counts a token for each 28-pixel patch.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, ClassVar

from medebench.models.ask import Ask, Image
from medebench.models.fault import Fault
from medebench.models.prices import Price, list_prices
from medebench.models.provider import Provider, Reply
from medebench.models.response_body import count_of, field, text_of
from medebench.models.tally import patches

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
#: The last version of the protocol with a temperature, and only for models that still have one.
_WITH_TEMPERATURE = "2023-06-01"


class Anthropic(Provider):
    vendor: ClassVar[str] = "anthropic"
    address: ClassVar[str] = "https://api.anthropic.com"
    address_variable: ClassVar[str] = "ANTHROPIC_BASE_URL"
    key_variables: ClassVar[tuple[str, ...]] = ("ANTHROPIC_API_KEY",)
    package: ClassVar[str] = "anthropic"
    extra: ClassVar[str] = "judges"
    unknown: ClassVar[frozenset[str]] = frozenset({"seed"})
    prices: ClassVar[Mapping[str, Price]] = list_prices("anthropic")

    def image_tokens(self, width: int, height: int, ask: Ask) -> int:
        return min(4000, patches(width, height, 28))

    def open(self) -> Any:
        return self._module.AsyncAnthropic(**self.sdk_options())

    async def shut(self, connection: Any) -> None:
        await connection.close()

    async def send(self, connection: Any, ask: Ask, allowed: frozenset[str]) -> Reply:
        given: dict[str, Any] = {}
        if "temperature" in allowed:
            # The SDK's own signature no longer has it.
            given["extra_body"] = {"temperature": ask.temperature}
            given["extra_headers"] = {"anthropic-version": _WITH_TEMPERATURE}
        if ask.schema is not None and "schema" in allowed:
            # The SDK's transformation turns limits the service does not know into words.
            schema = self._module.transform_schema(ask.schema)
            given["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        if system := self.system_text(ask, allowed):
            given["system"] = system
        messages = self.dialogue([_part(part) for part in ask.parts], ask)
        done = await connection.messages.create(
            model=self.model, max_tokens=ask.max_tokens, messages=messages, **given
        )
        return _reply(done)


def _part(part: str | Image) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    data = base64.b64encode(part.data).decode("ascii")
    source = {"type": "base64", "media_type": part.mime, "data": data}
    return {"type": "image", "source": source}


def _reply(done: Any) -> Reply:
    content = field(done, "content")
    if not isinstance(content, list | str):
        raise Fault("broken", "the server's answer has no content")
    usage = field(done, "usage")
    finish = text_of(field(done, "stop_reason")) or "end_turn"
    return Reply(
        text=text_of(content),
        finish=_FINISH.get(finish, finish),
        model=text_of(field(done, "model")) or None,
        tokens_in=count_of(field(usage, "input_tokens")),
        tokens_out=count_of(field(usage, "output_tokens")),
    )
