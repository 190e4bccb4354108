"""Google's Gemini, through google-genai."""

from __future__ import annotations

from typing import Any, ClassVar

from medebench.clients.adapter import Adapter, Reply
from medebench.clients.ask import Ask, Image
from medebench.clients.fault import Fault

#: Everything else that ends an answer early is a refusal of one sort or another.
_FINISH = {"STOP": "stop", "MAX_TOKENS": "length", "FINISH_REASON_UNSPECIFIED": "stop"}
_REFUSALS = {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"}
_REFUSALS |= {"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}


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
        if ask.picture is not None:
            # The tokens of the picture come out of the same allowance.
            given["max_output_tokens"] += self._drawn(ask)
            given["response_modalities"] = ["TEXT", "IMAGE"]
            if wish := {name: ask.picture[name] for name in ask.picture if name in send}:
                given["image_config"] = types.ImageConfig(**wish)
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
    counts: dict[str, Any] = {"tokens_in": None, "tokens_out": None}
    if usage is not None:
        counts["tokens_in"] = usage.prompt_token_count
        counts["image_in"] = _of_images(usage.prompt_tokens_details)
        counts["image_out"] = _of_images(usage.candidates_tokens_details)
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
    # What a model thinks, and sketches while it does, is not its answer.
    parts = [part for part in (first.content and first.content.parts) or [] if not part.thought]
    text = "".join(part.text for part in parts if part.text)
    word = getattr(first.finish_reason, "value", None) or "STOP"
    finish = _FINISH.get(word, "refusal" if word in _REFUSALS else word.lower())
    if finish == "refusal":
        text = text or first.finish_message or f"blocked: {word}"
    images = tuple(image for part in parts if (image := _image(part.inline_data)) is not None)
    return Reply(text, finish, done.model_version, images=images, **counts)


def _image(blob: Any) -> Image | None:
    data, mime = getattr(blob, "data", None), str(getattr(blob, "mime_type", None) or "")
    return Image(data, mime) if data and mime.startswith("image/") else None


def _of_images(details: Any) -> int | None:
    """None where the server does not tell what its tokens are of."""
    if not details:
        return None
    kinds = {getattr(one.modality, "value", None): one.token_count or 0 for one in details}
    return kinds.get("IMAGE", 0)
