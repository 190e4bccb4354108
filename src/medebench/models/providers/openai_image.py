"""OpenAI's picture models, and every server that has their endpoint for editing.

The vendor's pages give examples of what a picture counts rather than rules; these are the rules as
third parties measured them (forum posts and price collections of 2025 and 2026). The servers' own
counts, which come with every answer, replace them.

- GPT Image 1 and 1.5 are shown a picture as 512-pixel tiles of it, its short side at most 512:
  65 + 129 a tile, and with `input_fidelity=high` as many again as they draw at high quality. They
  draw by a table of size and quality.
- GPT Image 2 and later are shown it as 32-pixel patches, at most 1536, of a picture that was
  enlarged up to twice, to 1024. They draw by quality and area.

An `auto` counts as the most it can become.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Any, ClassVar

from medebench.models.ask import Ask, Image
from medebench.models.fault import Fault
from medebench.models.provider import Reply
from medebench.models.providers.openai import OpenAI
from medebench.models.response_body import count_of, field, text_of
from medebench.models.tally import patches

#: How the server calls a picture or an order that it does not want to touch.
_REFUSALS = {"moderation_blocked", "content_policy_violation"}

#: All but these answer with an address unless they are told otherwise, and these refuse to be told.
_SENDS_BYTES = "gpt-image"
_AS_BYTES = {"response_format": "b64_json"}

#: GPT Image 1: (square, portrait, landscape).
_TABLE = {"low": (272, 408, 400), "medium": (1056, 1584, 1568), "high": (4160, 6240, 6208)}
#: GPT Image 2: how finely the longer side is divided.
_FINENESS = {"low": 16, "medium": 48, "high": 96}


class OpenAIImage(OpenAI):
    """`images.edit`: all pictures of the question go along, the texts are the order.

    Without a picture it is `images.generate`.
    """

    gives: ClassVar[frozenset[str]] = frozenset({"image"})
    unknown: ClassVar[frozenset[str]] = frozenset({"temperature", "seed", "schema", "token_limit"})

    def image_tokens(self, width: int, height: int, ask: Ask) -> int:
        if "gpt-image" not in self.model:
            return super().image_tokens(width, height, ask)
        if not self._is_first:
            scale = max(1.0, min(2.0, 1024 / max(width, height)))
            return min(1536, math.ceil(scale * width / 32) * math.ceil(scale * height / 32))
        scale = min(1.0, 512 / min(width, height))
        tiles = patches(scale * width, scale * height, 512)
        detailed = (ask.picture or {}).get("input_fidelity") == "high"
        drawn = _TABLE["high"][0 if width == height else 1] if detailed else 0
        return 65 + 129 * tiles + drawn

    def drawn_tokens(self, wish: dict[str, str]) -> int:
        width, height = _size(wish.get("size", ""))
        quality = wish.get("quality", "")
        if self._is_first:
            shapes = _TABLE.get(quality, _TABLE["high"])
            return shapes[0] if width == height else shapes[1] if width < height else shapes[2]
        fine = _FINENESS.get(quality, _FINENESS["high"])
        across = round(fine * min(width, height) / max(width, height))
        return math.ceil(fine * across * (2_000_000 + width * height) / 4_000_000)

    @property
    def _is_first(self) -> bool:
        return "gpt-image-1" in self.model

    async def send(self, connection: Any, ask: Ask, allowed: frozenset[str]) -> Reply:
        texts = [ask.system, *(part for part in ask.parts if isinstance(part, str))]
        images = [part for part in ask.parts if isinstance(part, Image)]
        files = [
            (f"picture-{number}.{image.mime.rpartition('/')[2]}", image.data, image.mime)
            for number, image in enumerate(images, start=1)
        ]
        wish = {name: value for name, value in (ask.picture or {}).items() if name in allowed}
        try:
            order: dict[str, Any] = {"prompt": "\n\n".join(filter(None, texts)), **wish}
            if files:
                order["image"] = files if len(files) > 1 else files[0]
                done = await connection.images.edit(model=self.model, **order)
            else:
                order |= {} if _SENDS_BYTES in self.model else _AS_BYTES
                done = await connection.images.generate(model=self.model, **order)
        except self._module.BadRequestError as error:
            if error.code not in _REFUSALS:
                raise
            return Reply(error.message, "refusal", None, 0, 0)
        return _reply(done)


def _size(text: str) -> tuple[int, int]:
    """The size asked for; the one that counts most where the server chooses."""
    match = re.fullmatch(r"(\d{2,5})x(\d{2,5})", text)
    return (int(match[1]), int(match[2])) if match else (1024, 1536)


def _reply(done: Any) -> Reply:
    data = field(done, "data")
    if not isinstance(data, list) or not data:
        raise Fault("broken", "the server's answer has no image")
    mime = f"image/{text_of(field(done, 'output_format')) or 'png'}"
    found = [text_of(field(one, "b64_json")) for one in data]
    try:
        images = tuple(Image(base64.b64decode(one, validate=True), mime) for one in found if one)
    except (binascii.Error, ValueError):
        raise Fault("broken", "the server's image is not valid base64") from None
    text = "" if images else "the server sent the address of an image instead of the image"
    usage = field(done, "usage")
    seen, drawn = (
        count_of(field(field(usage, f"{way}_tokens_details"), "image_tokens"))
        for way in ("input", "output")
    )
    tokens_out = count_of(field(usage, "output_tokens"))
    return Reply(
        text=text,
        finish="stop",
        model=text_of(field(done, "model")) or None,
        tokens_in=count_of(field(usage, "input_tokens")),
        tokens_out=tokens_out,
        images=images,
        image_in=seen,
        # This endpoint returns nothing else.
        image_out=tokens_out if drawn is None else drawn,
    )
