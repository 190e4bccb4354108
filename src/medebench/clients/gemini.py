"""Google's Gemini, through google-genai."""

from __future__ import annotations

import base64
from typing import Any, ClassVar

from medebench.clients.adapter import Adapter, Reply
from medebench.clients.ask import Ask, Image
from medebench.clients.body import Body, parse_body
from medebench.clients.fault import Fault

#: Everything else that ends an answer early is a refusal of one sort or another.
_FINISH = {"STOP": "stop", "MAX_TOKENS": "length", "FINISH_REASON_UNSPECIFIED": "stop"}
_REFUSALS = {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"}
_REFUSALS |= {"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}
_ALPHABET = str.maketrans("-_", "+/")


class GeminiClient(Adapter):
    vendor: ClassVar[str] = "gemini"
    package: ClassVar[str] = "google.genai"

    def _open(self) -> Any:
        import httpx

        types = self._module.types
        # Given a client of ours, the SDK uses no other (aiohttp, where that is installed).
        client = self.http_client(httpx.AsyncClient, params=self.endpoint.parameters() or None)
        sdk = self._module.Client(
            api_key=self.key_or("none"),
            # Else GOOGLE_GENAI_USE_VERTEXAI in the environment would change who is asked.
            vertexai=False,
            http_options=types.HttpOptions(
                base_url=self.endpoint.url,
                headers=self.endpoint.headers(),
                retry_options=types.HttpRetryOptions(attempts=1),
                httpx_async_client=client,
            ),
        )
        return sdk, client

    async def _shut(self, sdk: Any) -> None:
        opened, client = sdk
        await opened.aio.aclose()
        opened.close()
        await client.aclose()

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
            # As it came: the SDK throws a paid answer away whose token counts it does not like.
            should_return_http_response=True,
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
        done = await sdk[0].aio.models.generate_content(
            model=self.model, contents=contents, config=config
        )
        return _reply(Body(parse_body(done.sdk_http_response.body)))


def _reply(done: Body) -> Reply:
    usage = done.part("usageMetadata")
    # Thinking is charged as output, and counted apart.
    written = [usage.count(f"{kind}TokenCount") for kind in ("candidates", "thoughts")]
    known = [count for count in written if count is not None]
    counts: dict[str, Any] = {
        "tokens_in": usage.count("promptTokenCount"),
        "tokens_out": sum(known) if known else None,
        "image_in": _of_images(usage.parts("promptTokensDetails")),
        "image_out": _of_images(usage.parts("candidatesTokensDetails")),
    }
    model = done.text("modelVersion") or None
    candidates = done.parts("candidates")
    if not candidates:
        blocked = done.part("promptFeedback").text("blockReason")
        if not blocked:
            raise Fault("broken", "the server's answer holds no candidate")
        counts["tokens_out"] = 0
        return Reply(f"blocked: {blocked}", "refusal", model, **counts)
    first = candidates[0]
    # What a model thinks, and sketches while it does, is not its answer.
    parts = [one for one in first.part("content").parts("parts") if not one.get("thought")]
    text = "".join(part.text("text") for part in parts)
    word = first.text("finishReason") or "STOP"
    finish = _FINISH.get(word, "refusal" if word in _REFUSALS else word.lower())
    if finish == "refusal":
        text = text or first.text("finishMessage") or f"blocked: {word}"
    images = tuple(filter(None, (_image(part.part("inlineData")) for part in parts)))
    return Reply(text, finish, model, images=images, **counts)


def _image(blob: Body) -> Image | None:
    data, mime = blob.text("data"), blob.text("mimeType")
    if not data or not mime.startswith("image/"):
        return None
    try:
        # Either alphabet, with or without padding.
        return Image(base64.b64decode(data.translate(_ALPHABET) + "==", validate=False), mime)
    except ValueError:
        raise Fault("broken", "the server's picture is not base64") from None


def _of_images(details: list[Body]) -> int | None:
    """None where the server does not tell what its tokens are of."""
    if not details:
        return None
    return {one.text("modality"): one.count("tokenCount") or 0 for one in details}.get("IMAGE", 0)
