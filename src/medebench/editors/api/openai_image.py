"""OpenAI's picture models, which draw in a few shapes: pictures of another one are padded."""

from __future__ import annotations

from typing import ClassVar

from medebench.editors.api.base import ApiEditor, Wish
from medebench.editors.api.padding import nearest_size, padding_for
from medebench.editors.api.settings import OpenAIImageSettings
from medebench.editors.base import Request
from medebench.settings import Settings as AnySettings

#: What all of these models draw in; newer ones take others as well.
SIZES = ((1024, 1024), (1536, 1024), (1024, 1536))


class OpenAIImageEditor(ApiEditor):
    kind: ClassVar[str] = "openai-image"
    vendor: ClassVar[str] = "openai"
    summary: ClassVar[str] = "a GPT Image model, over OpenAI's API for editing pictures"
    Settings: ClassVar[type[AnySettings]] = OpenAIImageSettings
    needs: ClassVar[str] = "the extra [judges], a key (OPENAI_API_KEY), money"
    words: ClassVar[tuple[int, int]] = (1, 256)
    example: ClassVar[str] = "openai-image:gpt-image-2,quality=medium,max_cost=5"

    def wish(self, request: Request) -> Wish:
        height, width = request.case.previous.shape[:2]
        size = self._size(width, height)
        given = {"size": f"{size[0]}x{size[1]}", "input_fidelity": self.settings.input_fidelity}
        if self.settings.quality != "auto":
            given["quality"] = self.settings.quality
        settings = {name: value for name, value in given.items() if value is not None}
        return Wish(settings, padding=padding_for(width, height, size))

    def _size(self, width: int, height: int) -> tuple[int, int]:
        if self.settings.size == "auto":
            return nearest_size(width, height, SIZES)
        wide, high = self.settings.size.split("x")
        return int(wide), int(high)
