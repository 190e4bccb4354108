"""OpenAI, and every server that speaks its chat protocol (vLLM, Ollama, LM Studio, ...)."""

from __future__ import annotations

import base64
from typing import Any, ClassVar

from medebench.clients.adapter import Adapter, Reply
from medebench.clients.ask import Ask, Image
from medebench.clients.body import count_of, field, text_of
from medebench.clients.fault import Fault

_FINISH = {"content_filter": "refusal", "max_tokens": "length"}


class OpenAIClient(Adapter):
    vendor: ClassVar[str] = "openai"
    package: ClassVar[str] = "openai"

    def _open(self) -> Any:
        return self._module.AsyncOpenAI(**self.connection())

    async def _shut(self, sdk: Any) -> None:
        await sdk.close()

    async def _send(self, sdk: Any, ask: Ask, send: frozenset[str]) -> Reply:
        given: dict[str, Any] = {self._limit_name(send): ask.max_tokens}
        if "temperature" in send:
            given["temperature"] = ask.temperature
        if "seed" in send:
            given["seed"] = ask.seed
        if ask.schema is not None and "schema" in send:
            wanted = {"name": "answer", "schema": ask.schema, "strict": _is_strict(ask.schema)}
            given["response_format"] = {"type": "json_schema", "json_schema": wanted}
        messages = [
            {"role": "system", "content": self.system_text(ask, send)},
            {"role": "user", "content": [self._part(part) for part in ask.parts]},
        ]
        for turn in ask.turns:
            messages.append({"role": "assistant", "content": turn.said})
            messages.append({"role": "user", "content": turn.reply})
        done = await sdk.chat.completions.create(model=self.model, messages=messages, **given)
        return _reply(done)

    def _limit_name(self, send: frozenset[str]) -> str:
        """The vendor renamed it, others did not; a server that objects gets the other name."""
        renamed = self.endpoint.is_official == ("token_limit" in send)
        return "max_completion_tokens" if renamed else "max_tokens"

    def _part(self, part: str | Image) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "text", "text": part}
        url = f"data:{part.mime};base64,{base64.b64encode(part.data).decode('ascii')}"
        return {"type": "image_url", "image_url": {"url": url, "detail": self.options.detail}}


def _reply(done: Any) -> Reply:
    choices = field(done, "choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = field(first, "message")
    if message is None:
        raise Fault("broken", "the server's answer holds no message")
    refusal = text_of(field(message, "refusal"))
    finish = text_of(field(first, "finish_reason")) or "stop"
    usage = field(done, "usage")
    return Reply(
        text=refusal or text_of(field(message, "content")),
        finish="refusal" if refusal else _FINISH.get(finish, finish),
        model=text_of(field(done, "model")) or None,
        tokens_in=count_of(field(usage, "prompt_tokens")),
        tokens_out=count_of(field(usage, "completion_tokens")),
    )


def _is_strict(schema: Any) -> bool:
    """OpenAI's strict mode wants every property required and no others allowed."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        closed = schema.get("additionalProperties") is False
        if not closed or set(schema.get("required", [])) != set(properties):
            return False
    return all(map(_is_strict, schema.values()))
