"""The misbehaving server for models that draw: pictures, half pictures, words, nothing."""

from __future__ import annotations

import base64
import io
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from PIL import Image

from tests.clients.server import Call, FakeServer

WORDS = "I am sorry, but I can't help with changing this picture."
#: Behaviours whose answer holds a picture that can be decoded, and costs.
USABLE = {"ok", "slow", "jpeg", "webp", "double", "wrong_size", "sketch", "breaks_off"}


def edited(sent: bytes, times: int = 1, wrong: bool = False) -> np.ndarray[Any, Any]:
    """What the server makes of a picture: the negative of it, so that a test can tell."""
    with Image.open(io.BytesIO(sent)) as image:
        pixels = 255 - np.asarray(image.convert("RGB"))
    pixels = np.repeat(np.repeat(pixels, times, axis=0), times, axis=1)
    return pixels[: len(pixels) // 2] if wrong else pixels


def encoded(pixels: np.ndarray[Any, Any], form: str = "PNG") -> bytes:
    stream = io.BytesIO()
    options = {"lossless": True} if form == "WEBP" else {"quality": 95} if form == "JPEG" else {}
    Image.fromarray(pixels).save(stream, form, **options)
    return stream.getvalue()


@dataclass
class DrawingServer(FakeServer):
    #: Draw in the size that was asked for, as the vendor does, and not in that of the input.
    obeys_size: bool = False
    #: How often each order was answered with a picture of use.
    drawn: Counter[str] = field(default_factory=Counter)

    def draw(self, behaviour: str, call: Call) -> tuple[int, Any] | None:
        if behaviour.startswith("unknown:"):
            name = behaviour.partition(":")[2]
            if _knows(call, name):
                message = f"Unknown parameter: '{name}'."
                return 400, {"error": {"code": 400, "message": message, "status": "INVALID"}}
            behaviour = "ok"
        if behaviour in USABLE:
            self.drawn[call.texts[-1]] += 1
            return 200, self._picture(behaviour, call)
        if behaviour == "half_picture":
            whole = encoded(edited(call.images[-1]))
            return 200, reply(call, [whole[: len(whole) // 2]])
        if behaviour == "no_picture":
            return 200, reply(call, [b"this is no picture at all"])
        if behaviour == "words":
            return 200, reply(call, [], WORDS)
        if behaviour == "no_image":
            return 200, reply(call, [], "", "NO_IMAGE")
        if behaviour == "refusal":
            return refused(call)
        if behaviour == "blocked" and call.vendor == "gemini":
            return 200, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
        return None

    def _picture(self, behaviour: str, call: Call) -> dict[str, Any]:
        pixels = edited(
            call.images[-1], 2 if behaviour == "double" else 1, behaviour == "wrong_size"
        )
        if self.obeys_size and "size" in call.body:
            width, height = map(int, call.body["size"].split("x"))
            kind = Image.Resampling.BICUBIC
            pixels = np.asarray(Image.fromarray(pixels).resize((width, height), kind))
        form = {"jpeg": "JPEG", "webp": "WEBP"}.get(behaviour, "PNG")
        finish = "MAX_TOKENS" if behaviour == "breaks_off" else "STOP"
        answer = reply(
            call, [encoded(pixels, form)], "Here it is.", finish, f"image/{form.lower()}"
        )
        if behaviour == "sketch" and call.vendor == "gemini":
            sketch = encoded(np.zeros((4, 4, 3), np.uint8))
            parts = answer["candidates"][0]["content"]["parts"]
            parts.insert(0, {"thought": True, "inlineData": _blob(sketch, "image/png")})
        return answer


def reply(
    call: Call, pictures: list[bytes], text: str = "", finish: str = "STOP", mime: str = "image/png"
) -> dict[str, Any]:
    if call.vendor == "openai-image":
        data = [{"b64_json": base64.b64encode(one).decode()} for one in pictures]
        counts = {"input_tokens_details": {"image_tokens": 194, "text_tokens": 106}}
        counts |= {"input_tokens": 300, "output_tokens": 1056, "total_tokens": 1356}
        return {
            "created": 1,
            "output_format": mime.partition("/")[2],
            "data": data or [{"url": "http://127.0.0.1:9/elsewhere.png"}],
            "usage": counts,
        }
    parts: list[dict[str, Any]] = [{"inlineData": _blob(one, mime)} for one in pictures]
    parts += [{"text": text}] if text else []
    of_images = 1290 * len(pictures)
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish}],
        "modelVersion": "gemini-test-001",
        "usageMetadata": {
            "promptTokenCount": 300,
            "promptTokensDetails": [
                {"modality": "TEXT", "tokenCount": 42},
                {"modality": "IMAGE", "tokenCount": 258},
            ],
            "candidatesTokenCount": of_images + 8,
            "candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": of_images}],
            "thoughtsTokenCount": 2,
        },
    }


def refused(call: Call) -> tuple[int, Any]:
    if call.vendor == "gemini":
        return 200, reply(call, [], "", "IMAGE_SAFETY")
    message = "Your request was rejected by the safety system."
    error = {"message": message, "type": "image_generation_user_error", "param": None}
    return 400, {"error": error | {"code": "moderation_blocked"}}


def _knows(call: Call, name: str) -> bool:
    config = call.body.get("generationConfig", {}).get("imageConfig", {})
    first, *rest = name.split("_")
    return name in call.body or first + "".join(map(str.title, rest)) in config


def _blob(data: bytes, mime: str) -> dict[str, str]:
    return {"mimeType": mime, "data": base64.b64encode(data).decode()}
