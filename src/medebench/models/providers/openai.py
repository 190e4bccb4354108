"""OpenAI, and every server that speaks its chat protocol (vLLM, Ollama, LM Studio, ...).

Prices: list prices, short context, no discount, compiled on 2026-11-15 from third parties (release
notes, price collections, one reseller's list; 2025-11 to 2026-11), not from the vendor's page.
Sources disagree on gpt-5 and gpt-5.6-sol; gpt-image-2.5 is said to cost what gpt-image-2 does.

Tokens of a picture, by the vendor's rules as far as known:

- Tiles (GPT-4o, 4.1, 5): fit into 2048 x 2048, then the short side to 768, then 512-pixel tiles:
  base + tiles x tile (85 and 170 for GPT-4o).
- Patches (mini and nano models since 4.1, GPT-5.4 and later): 32-pixel patches, at most 1536 for
  the former, times a factor of the model.

Other servers count as they like; for them the rule of GPT-4o is used, and local ones cost nothing.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from medebench.models.ask import Ask, Image
from medebench.models.fault import Fault
from medebench.models.prices import Price, list_prices
from medebench.models.provider import Provider, Reply
from medebench.models.response_body import count_of, field, text_of
from medebench.models.tally import patches

_FINISH = {"content_filter": "refusal", "max_tokens": "length"}
#: Longest matching beginning of the name wins: (base, tile).
_TILES = {
    "gpt-4o-mini": (2833, 5667),
    "gpt-4o": (85, 170),
    "gpt-4.1": (85, 170),
    "gpt-5": (70, 140),
    "o1": (75, 150),
    "o3": (75, 150),
}
#: (factor, most patches).
_PATCHES = {
    "gpt-4.1-mini": (1.62, 1536),
    "gpt-4.1-nano": (2.46, 1536),
    "o4-mini": (1.72, 1536),
    "gpt-5-mini": (1.62, 1536),
    "gpt-5-nano": (2.46, 1536),
    "gpt-5.4": (1.2, 12_000),
    "gpt-5.5": (1.2, 12_000),
    "gpt-5.6": (1.2, 12_000),
    "gpt-6": (1.2, 12_000),
}


class OpenAI(Provider):
    vendor: ClassVar[str] = "openai"
    address: ClassVar[str] = "https://api.openai.com/v1"
    address_variable: ClassVar[str] = "OPENAI_BASE_URL"
    key_variables: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY",)
    package: ClassVar[str] = "openai"
    extra: ClassVar[str] = "judges"
    prices: ClassVar[Mapping[str, Price]] = list_prices("openai")

    def open(self) -> Any:
        return self._module.AsyncOpenAI(**self.sdk_options())

    async def shut(self, connection: Any) -> None:
        await connection.close()

    async def send(self, connection: Any, ask: Ask, allowed: frozenset[str]) -> Reply:
        given: dict[str, Any] = {self._limit_name(allowed): ask.max_tokens}
        if "temperature" in allowed:
            given["temperature"] = ask.temperature
        if "seed" in allowed:
            given["seed"] = ask.seed
        if ask.schema is not None and "schema" in allowed:
            wanted = {"name": "answer", "schema": ask.schema, "strict": _is_strict(ask.schema)}
            given["response_format"] = {"type": "json_schema", "json_schema": wanted}
        system = {"role": "system", "content": self.system_text(ask, allowed)}
        messages = [system, *self.dialogue([_part(part) for part in ask.parts], ask)]
        done = await connection.chat.completions.create(
            model=self.model, messages=messages, **given
        )
        return _reply(done)

    def image_tokens(self, width: int, height: int, ask: Ask) -> int:
        by_patches, by_tiles = _longest(_PATCHES, self.model), _longest(_TILES, self.model)
        if by_patches and len(by_patches) > len(by_tiles):
            factor, most = _PATCHES[by_patches]
            return math.ceil(min(most, patches(width, height, 32)) * factor)
        base, tile = _TILES[by_tiles or "gpt-4o"]
        scale = min(1.0, 2048 / max(width, height))
        scale *= min(1.0, 768 / (scale * min(width, height)))
        return base + tile * patches(scale * width, scale * height, 512)

    def _limit_name(self, allowed: frozenset[str]) -> str:
        """The vendor renamed it, others did not; a server that objects gets the other name."""
        renamed = self.endpoint.is_official == ("token_limit" in allowed)
        return "max_completion_tokens" if renamed else "max_tokens"


def _part(part: str | Image) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    url = f"data:{part.mime};base64,{base64.b64encode(part.data).decode('ascii')}"
    return {"type": "image_url", "image_url": {"url": url, "detail": "high"}}


def _reply(done: Any) -> Reply:
    choices = field(done, "choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = field(first, "message")
    if message is None:
        raise Fault("broken", "the server's answer has no message")
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


def _longest(names: Iterable[str], model: str) -> str:
    return max((name for name in names if model.startswith(name)), key=len, default="")


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
