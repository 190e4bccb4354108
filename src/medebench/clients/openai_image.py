"""OpenAI's picture models, and every server that has their endpoint for editing."""

from __future__ import annotations

import base64
import binascii
from typing import Any, ClassVar

from medebench.clients.adapter import Reply
from medebench.clients.ask import Ask, Image
from medebench.clients.body import count_of, field, text_of
from medebench.clients.fault import Fault
from medebench.clients.openai import OpenAIClient

#: How the server calls a picture or an order that it does not want to touch.
_REFUSALS = {"moderation_blocked", "content_policy_violation"}


class OpenAIImageClient(OpenAIClient):
    """`images.edit`: all pictures of the question go along, the texts are the order."""

    unknown: ClassVar[frozenset[str]] = frozenset({"temperature", "seed", "schema", "token_limit"})

    async def _send(self, sdk: Any, ask: Ask, send: frozenset[str]) -> Reply:
        texts = [ask.system, *(part for part in ask.parts if isinstance(part, str))]
        images = [part for part in ask.parts if isinstance(part, Image)]
        files = [
            (f"picture-{number}.{image.mime.rpartition('/')[2]}", image.data, image.mime)
            for number, image in enumerate(images, start=1)
        ]
        wish = {name: value for name, value in (ask.picture or {}).items() if name in send}
        try:
            done = await sdk.images.edit(
                model=self.model,
                prompt="\n\n".join(filter(None, texts)),
                image=files if len(files) > 1 else files[0],
                **wish,
            )
        except self._module.BadRequestError as error:
            if error.code not in _REFUSALS:
                raise
            return Reply(error.message, "refusal", None, 0, 0)
        return _reply(done)


def _reply(done: Any) -> Reply:
    data = field(done, "data")
    if not isinstance(data, list) or not data:
        raise Fault("broken", "the server's answer holds no picture")
    mime = f"image/{text_of(field(done, 'output_format')) or 'png'}"
    found = [text_of(field(one, "b64_json")) for one in data]
    try:
        images = tuple(Image(base64.b64decode(one, validate=True), mime) for one in found if one)
    except (binascii.Error, ValueError):
        raise Fault("broken", "the server's picture is not base64") from None
    text = "" if images else "the address of a picture instead of the picture"
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
