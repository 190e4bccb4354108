"""The misbehaving server for models that draw: pictures, half pictures, words, nothing."""

from __future__ import annotations

import base64
import io
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from PIL import Image

from tests.models.server import Call, FakeServer

WORDS = "I am sorry, but I can't help with changing this picture."
#: Behaviours whose answer holds a picture that can be decoded, and costs.
USABLE = {"ok", "slow", "jpeg", "webp", "double", "wrong_size", "sketch", "breaks_off"}

#: As the vendor lists what its second and a half generation draws in.
FLASH_2_5 = "1:1 1024x1024, 2:3 832x1248, 3:2 1248x832, 3:4 864x1184, 4:3 1184x864, "
FLASH_2_5 += "4:5 896x1152, 5:4 1152x896, 9:16 768x1344, 16:9 1344x768, 21:9 1536x672"
#: And the third.
PRO_3 = "1:1 1024x1024, 2:3 848x1264, 3:2 1264x848, 3:4 896x1200, 4:3 1200x896, "
PRO_3 += "4:5 928x1152, 5:4 1152x928, 9:16 768x1376, 16:9 1376x768, 21:9 1584x672"
#: One that keeps to the ratios.
EXACT = "1:1 960x960, 2:3 640x960, 3:2 960x640, 3:4 720x960, 4:3 960x720, "
EXACT += "4:5 768x960, 5:4 960x768, 9:16 540x960, 16:9 960x540, 21:9 1050x450"


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
    #: Draw only in these ("4:3 1184x864, ..."): the one asked for, else the nearest to the input.
    shapes: str = ""
    #: How much more than expected is charged.
    usage_times: int = 1
    #: How often each order was answered with a picture of use.
    drawn: Counter[str] = field(default_factory=Counter)

    def draw(self, behaviour: str, call: Call) -> tuple[int, Any] | None:
        if behaviour.startswith("unknown:"):
            name = behaviour.partition(":")[2]
            if _knows(call, name):
                message = f"Unknown parameter: '{name}'."
                return 400, {"error": {"code": 400, "message": message, "status": "INVALID"}}
            behaviour = "ok"
        if behaviour.startswith("no_ratio:"):
            if _knows(call, "aspect_ratio"):
                message = behaviour.partition(":")[2]
                return 400, {"error": {"code": 400, "message": message, "status": "INVALID"}}
            behaviour = "ok"
        if behaviour in USABLE:
            self.drawn[call.texts[-1]] += 1
            return 200, self._charged(self._picture(behaviour, call))
        if behaviour == "half_picture":
            whole = encoded(edited(call.images[-1]))
            return 200, reply(call, [whole[: len(whole) // 2]])
        if behaviour == "no_picture":
            return 200, reply(call, [b"this is no picture at all"])
        if behaviour == "words":
            return 200, self._charged(reply(call, [], WORDS))
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
        if self.shapes:
            pixels = self._in_shape(pixels, call)
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

    def _in_shape(self, pixels: np.ndarray[Any, Any], call: Call) -> np.ndarray[Any, Any]:
        pairs = [one.split() for one in self.shapes.split(", ")]
        sizes = {ratio: tuple(map(int, size.split("x"))) for ratio, size in pairs}
        height, width = pixels.shape[:2]
        config = call.body.get("generationConfig", {}).get("imageConfig", {})
        asked = config.get("aspectRatio") or min(
            sizes, key=lambda one: abs(np.log(width / height * sizes[one][1] / sizes[one][0]))
        )
        return np.asarray(Image.fromarray(pixels).resize(sizes[asked], Image.Resampling.BICUBIC))

    def _charged(self, answer: dict[str, Any]) -> dict[str, Any]:
        for detail in answer.get("usageMetadata", {}).get("candidatesTokensDetails", []):
            detail["tokenCount"] *= self.usage_times
        if "usageMetadata" in answer:
            answer["usageMetadata"]["candidatesTokenCount"] *= self.usage_times
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
