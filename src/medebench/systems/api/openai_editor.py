"""OpenAI's picture models, which draw in a few shapes: pictures of another one are padded."""

from __future__ import annotations

from medebench.systems.api.api_editor import ApiEditor, Wish
from medebench.systems.api.api_settings import OpenAIImageSettings
from medebench.systems.api.canvas_padding import nearest_size, padding_for
from medebench.systems.picture_frame import keeps_frame
from medebench.systems.request import Request

#: What all of these models draw in; newer ones take others as well.
SIZES = ((1024, 1024), (1536, 1024), (1024, 1536))


class OpenAIImageEditor(ApiEditor):
    _kind = "openai-image"
    summary = "a GPT Image model, over OpenAI's API for editing or painting pictures"
    Settings = OpenAIImageSettings
    needs = "the extra [judges], a key (OPENAI_API_KEY), money"
    _words = (1, 256)
    example = "openai-image:gpt-image-2,quality=medium,max_cost=5"

    def _wish(self, request: Request) -> Wish:
        height, width = request.case.previous.shape[:2]
        size = self._size(width, height)
        given = {"size": f"{size[0]}x{size[1]}", "input_fidelity": self.settings.input_fidelity}
        if self.settings.quality != "auto":
            given["quality"] = self.settings.quality
        settings = {name: value for name, value in given.items() if value is not None}
        if not self.input_shown:
            settings.pop("input_fidelity", None)
        if not self.input_shown or not keeps_frame(request):
            return Wish(settings)
        return Wish(settings, padding=padding_for(width, height, size))

    def _size(self, width: int, height: int) -> tuple[int, int]:
        if self.settings.size == "auto":
            return nearest_size(width, height, SIZES)
        wide, high = self.settings.size.split("x")
        return int(wide), int(high)
