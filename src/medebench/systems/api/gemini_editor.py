"""Google's Gemini models: those that draw do so in a few shapes, and other pictures are padded."""

from __future__ import annotations

from medebench.models.model_lookup import find_provider
from medebench.outputs import Part
from medebench.systems.api.api_editor import Wish
from medebench.systems.api.api_settings import GeminiSettings
from medebench.systems.api.canvas_padding import nearest_size, padding_for
from medebench.systems.api.unified_editor import UnifiedEditor
from medebench.systems.picture_frame import keeps_frame
from medebench.systems.request import Request


def _both_ways(*upright: tuple[str, int, int]) -> dict[str, tuple[int, int]]:
    """A square, and every shape standing and lying."""
    found = {"1:1": (1024, 1024)}
    for ratio, width, height in upright:
        across, down = ratio.split(":")
        found |= {ratio: (width, height), f"{down}:{across}": (height, width)}
    return found


#: What comes back is only roughly of that ratio (4:3 is 1184 x 864, off by nearly 3 %), so the
#: picture is padded to the shape that is really drawn: by the vendor's tables, in all resolutions.
_GEMINI_2_5 = _both_ways(
    *(("2:3", 832, 1248), ("3:4", 864, 1184), ("4:5", 896, 1152), ("9:16", 768, 1344))
) | {"21:9": (1536, 672)}
_GEMINI_3 = _both_ways(
    *(("2:3", 848, 1264), ("3:4", 896, 1200), ("4:5", 928, 1152), ("9:16", 768, 1376))
) | {"21:9": (1584, 672)}
#: What can be asked for.
RATIOS = tuple(_GEMINI_3)


class GeminiEditor(UnifiedEditor):
    _kind = "gemini"
    summary = "a Gemini model that answers with words, pictures or both, over Google's API"
    Settings = GeminiSettings
    needs = "the extra [judges], a key (GEMINI_API_KEY), money"
    _words = (300, 4096)
    example = "gemini:gemini-nano-banana-2.1,max_cost=5"

    def __init__(self, settings: GeminiSettings) -> None:
        super().__init__(settings)
        self.gives = _given_by(settings)

    def _wish(self, request: Request) -> Wish:
        resolution, temperature = self.settings.resolution, self.settings.temperature
        settings = {} if resolution is None else {"image_size": resolution}
        if self.settings.aspect_ratio == "none":
            return Wish(settings, temperature)
        height, width = request.case.previous.shape[:2]
        shapes = drawn_shapes(self.settings.model)
        size = nearest_size(width, height, list(shapes.values()))
        settings["aspect_ratio"] = next(ratio for ratio in shapes if shapes[ratio] == size)
        several = "text" in request.gives and request.case.case.images
        if not self.input_shown or several or not keeps_frame(request):
            return Wish(settings, temperature)
        return Wish(settings, temperature, padding_for(width, height, size))


def _given_by(settings: GeminiSettings) -> tuple[Part, ...]:
    """A model that is listed without a price for pictures draws none."""
    price = find_provider("gemini").prices.get(settings.model)
    words_only = price is not None and price.image_out is None
    if settings.gives == "auto":
        return ("text",) if words_only else ("image", "text")
    return ("image", "text") if settings.gives == "both" else (settings.gives,)


def drawn_shapes(model: str) -> dict[str, tuple[int, int]]:
    """(width, height) a model draws in for each ratio; the ratio itself where nobody knows."""
    if model.startswith("gemini-2.5"):
        return _GEMINI_2_5
    if model.startswith("gemini-") and not model.startswith(("gemini-1", "gemini-2")):
        return _GEMINI_3
    pairs = {ratio: ratio.split(":") for ratio in RATIOS}
    return {ratio: (int(across), int(down)) for ratio, (across, down) in pairs.items()}
