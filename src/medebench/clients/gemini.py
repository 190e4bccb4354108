"""Google's Gemini, through google-genai."""

from __future__ import annotations

from typing import Any, ClassVar

from medebench.clients.adapter import Adapter, Reply
from medebench.clients.ask import Ask, Image
from medebench.clients.fault import Fault

#: Everything else that ends an answer early is a refusal of one sort or another.
_FINISH = {"STOP": "stop", "MAX_TOKENS": "length", "FINISH_REASON_UNSPECIFIED": "stop"}
_REFUSALS = {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"}


class GeminiClient(Adapter):
    vendor: ClassVar[str] = "gemini"
    package: ClassVar[str] = "google.genai"

    def _open(self) -> Any:
        types = self._module.types
        transport = self.transport()
        if parameters := self.endpoint.parameters():
            transport["params"] = parameters
        return self._module.Client(
            api_key=self.key_or("none"),
            # Else GOOGLE_GENAI_USE_VERTEXAI in the environment would change who is asked.
            vertexai=False,
            http_options=types.HttpOptions(
                base_url=self.endpoint.url,
                headers=self.endpoint.headers(),
                retry_options=types.HttpRetryOptions(attempts=1),
                async_client_args=transport,
            ),
        )

    async def _shut(self, sdk: Any) -> None:
        await sdk.aio.aclose()
        sdk.close()

    async def _send(self, sdk: Any, ask: Ask, send: frozenset[str]) -> Reply:
        types = self._module.types
        given: dict[str, Any] = {"max_output_tokens": ask.max_tokens}
        if "temperature" in send:
            given["temperature"] = ask.temperature
        if "seed" in send:
            given["seed"] = ask.seed
        if "schema" in send:
            given["response_mime_type"] = "application/json"
            given["response_json_schema"] = ask.schema
        config = types.GenerateContentConfig(
            system_instruction=self.system_text(ask, send) or None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            **given,
        )

        def part(content: str | Image) -> Any:
            if isinstance(content, str):
                return types.Part.from_text(text=content)
            return types.Part.from_bytes(data=content.data, mime_type=content.mime)

        contents = [types.Content(role="user", parts=[part(content) for content in ask.parts])]
        for turn in ask.turns:
            contents.append(types.Content(role="model", parts=[part(turn.said)]))
            contents.append(types.Content(role="user", parts=[part(turn.reply)]))
        done = await sdk.aio.models.generate_content(
            model=self.model, contents=contents, config=config
        )
        return _reply(done)


def _reply(done: Any) -> Reply:
    usage = done.usage_metadata
    counts: dict[str, int | None] = {"tokens_in": None, "tokens_out": None}
    if usage is not None:
        counts["tokens_in"] = usage.prompt_token_count
        # Thinking is charged as output, and counted apart.
        if usage.candidates_token_count is not None or usage.thoughts_token_count is not None:
            thoughts = usage.thoughts_token_count or 0
            counts["tokens_out"] = (usage.candidates_token_count or 0) + thoughts
    blocked = getattr(done.prompt_feedback, "block_reason", None)
    if not done.candidates:
        if blocked is None:
            raise Fault("broken", "the server's answer holds no candidate")
        text = f"blocked: {getattr(blocked, 'value', blocked)}"
        counts["tokens_out"] = 0
        return Reply(text, "refusal", done.model_version, **counts)
    first = done.candidates[0]
    parts = (first.content.parts if first.content else None) or []
    text = "".join(part.text for part in parts if part.text and not part.thought)
    word = getattr(first.finish_reason, "value", None) or "STOP"
    finish = _FINISH.get(word, "refusal" if word in _REFUSALS else word.lower())
    return Reply(text, finish, done.model_version, **counts)
