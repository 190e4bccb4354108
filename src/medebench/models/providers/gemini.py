"""Google's Gemini, through google-genai.

Prices as compiled for OpenAI's (see there); gemini-3.8-flash is the price from 2027-01-01, twice
that of 2026. A picture that is shown counts 258 up to 384 x 384, else 258 for every tile of 768
(Gemini 2), or 1120 (Gemini 3 and later). Gemini 2 draws 1290, later ones by resolution.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, ClassVar

from medebench.models.ask import Ask, Image
from medebench.models.fault import Fault
from medebench.models.prices import Price, list_prices
from medebench.models.provider import Provider, Reply
from medebench.models.response_body import Body, parse_body
from medebench.models.tally import patches

#: Everything else that ends an answer early is a refusal of one sort or another.
_FINISH = {"STOP": "stop", "MAX_TOKENS": "length", "FINISH_REASON_UNSPECIFIED": "stop"}
_REFUSALS = {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"}
_REFUSALS |= {"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}
_ALPHABET = str.maketrans("-_", "+/")
#: Tokens of a picture by its resolution.
_FLASH = {"512": 747, "1K": 1120, "2K": 1680, "4K": 2520}
_PRO = {"1K": 1120, "2K": 1120, "4K": 2000}


class Gemini(Provider):
    vendor: ClassVar[str] = "gemini"
    address: ClassVar[str] = "https://generativelanguage.googleapis.com"
    address_variable: ClassVar[str] = "GOOGLE_GEMINI_BASE_URL"
    key_variables: ClassVar[tuple[str, ...]] = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    gives: ClassVar[frozenset[str]] = frozenset({"text", "image"})
    package: ClassVar[str] = "google.genai"
    extra: ClassVar[str] = "judges"
    prices: ClassVar[Mapping[str, Price]] = list_prices("gemini")

    def image_tokens(self, width: int, height: int, ask: Ask) -> int:
        if not self.model.startswith(("gemini-1", "gemini-2")):
            return 1120
        return 258 if max(width, height) <= 384 else 258 * patches(width, height, 768)

    def drawn_tokens(self, wish: dict[str, str]) -> int:
        if self.model.startswith("gemini-2"):
            return 1290
        table = _PRO if "pro" in self.model else _FLASH
        return table.get(wish.get("image_size", "1K"), max(table.values()))

    def open(self) -> Any:
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

    async def shut(self, connection: Any) -> None:
        opened, client = connection
        await opened.aio.aclose()
        opened.close()
        await client.aclose()

    async def send(self, connection: Any, ask: Ask, allowed: frozenset[str]) -> Reply:
        types = self._module.types
        given: dict[str, Any] = {"max_output_tokens": ask.max_tokens}
        if ask.picture is not None:
            # The tokens of the picture come out of the same allowance.
            given["max_output_tokens"] += self.drawn_tokens(ask.picture)
            given["response_modalities"] = ["TEXT", "IMAGE"]
            if wish := {name: ask.picture[name] for name in ask.picture if name in allowed}:
                given["image_config"] = types.ImageConfig(**wish)
        if "temperature" in allowed:
            given["temperature"] = ask.temperature
        if "seed" in allowed:
            given["seed"] = ask.seed
        if "schema" in allowed:
            given["response_mime_type"] = "application/json"
            given["response_json_schema"] = ask.schema
        config = types.GenerateContentConfig(
            system_instruction=self.system_text(ask, allowed) or None,
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
        done = await connection[0].aio.models.generate_content(
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
            raise Fault("broken", "the server's answer has no candidate")
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
        raise Fault("broken", "the server's image is not valid base64") from None


def _of_images(details: list[Body]) -> int | None:
    """None where the server does not tell what its tokens are of."""
    if not details:
        return None
    return {one.text("modality"): one.count("tokenCount") or 0 for one in details}.get("IMAGE", 0)
