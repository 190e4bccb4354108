"""Google's Gemini models that draw: the picture goes out as it is."""

from __future__ import annotations

from typing import ClassVar

from medebench.editors.api.base import ApiEditor, Wish
from medebench.editors.api.settings import GeminiSettings
from medebench.editors.base import Request
from medebench.settings import Settings as AnySettings


class GeminiEditor(ApiEditor):
    kind: ClassVar[str] = "gemini"
    vendor: ClassVar[str] = "gemini"
    summary: ClassVar[str] = "a Gemini model that answers with pictures, over Google's API"
    Settings: ClassVar[type[AnySettings]] = GeminiSettings
    needs: ClassVar[str] = "the extra [judges], a key (GEMINI_API_KEY), money"
    words: ClassVar[tuple[int, int]] = (300, 4096)
    example: ClassVar[str] = "gemini:gemini-nano-banana-2.1,max_cost=5"

    def wish(self, request: Request) -> Wish:
        resolution = self.settings.resolution
        settings = {} if resolution is None else {"image_size": resolution}
        return Wish(settings, self.settings.temperature)
