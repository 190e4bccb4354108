"""Anthropic's Claude, through anthropic."""

from __future__ import annotations

import base64
from typing import Any, ClassVar

from medebench.clients.adapter import Adapter, Reply
from medebench.clients.ask import Ask, Image
from medebench.clients.body import count_of, field, text_of
from medebench.clients.fault import Fault

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
#: The last version of the protocol with a temperature, and only for models that still have one.
_WITH_TEMPERATURE = "2023-06-01"


class AnthropicClient(Adapter):
    vendor: ClassVar[str] = "anthropic"
    package: ClassVar[str] = "anthropic"
    unknown: ClassVar[frozenset[str]] = frozenset({"seed"})

    def _open(self) -> Any:
        return self._module.AsyncAnthropic(**self.connection())

    async def _shut(self, sdk: Any) -> None:
        await sdk.close()

    async def _send(self, sdk: Any, ask: Ask, send: frozenset[str]) -> Reply:
        given: dict[str, Any] = {}
        if "temperature" in send:
            # The SDK's own signature no longer has it.
            given["extra_body"] = {"temperature": ask.temperature}
            given["extra_headers"] = {"anthropic-version": _WITH_TEMPERATURE}
        if ask.schema is not None and "schema" in send:
            # The SDK's transformation turns limits the service does not know into words.
            schema = self._module.transform_schema(ask.schema)
            given["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        if system := self.system_text(ask, send):
            given["system"] = system
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": [_part(part) for part in ask.parts]}
        ]
        for turn in ask.turns:
            messages.append({"role": "assistant", "content": turn.said})
            messages.append({"role": "user", "content": turn.reply})
        done = await sdk.messages.create(
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
        raise Fault("broken", "the server's answer holds no content")
    usage = field(done, "usage")
    finish = text_of(field(done, "stop_reason")) or "end_turn"
    return Reply(
        text=text_of(content),
        finish=_FINISH.get(finish, finish),
        model=text_of(field(done, "model")) or None,
        tokens_in=count_of(field(usage, "input_tokens")),
        tokens_out=count_of(field(usage, "output_tokens")),
    )
