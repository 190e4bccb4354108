"""How many tokens a question will count, before it is sent.

Text: one token for 3.5 bytes of UTF-8, which is above what the vendors count for English.
Images, by the vendors' rules as far as known, all for the size that is sent:

- OpenAI, tiles (GPT-4o, 4.1, 5): fit into 2048 x 2048, then the short side to 768, then 512-pixel
  tiles: base + tiles x tile (85 and 170 for GPT-4o). `detail=low`: the base alone.
- OpenAI, patches (mini and nano models since 4.1, GPT-5.4 and later): 32-pixel patches, at most
  1536 for the former, times a factor of the model.
- Anthropic: 28-pixel patches.
- Gemini 2: 258 up to 384 x 384, else 258 for every tile of 768. Gemini 3 and later: 1120.
- Models that draw: see `drawing`.

Other servers count as they like; for them the rule of GPT-4o is used, and local ones cost nothing.
"""

from __future__ import annotations

import json
import math

from medebench.clients.ask import Ask, Image
from medebench.clients.drawing import is_picture_model, seen_tokens

BYTES_PER_TOKEN = 3.5
#: For roles and separators, per message.
OVERHEAD = 8

#: Longest matching beginning of the name wins: (base, tile).
_TILES = {
    "gpt-4o-mini": (2833, 5667),
    "gpt-4o": (85, 170),
    "gpt-4.1": (85, 170),
    "gpt-5": (70, 140),
    "o1": (75, 150),
    "o3": (75, 150),
}
#: (factor, most patches).
_PATCHES = {
    "gpt-4.1-mini": (1.62, 1536),
    "gpt-4.1-nano": (2.46, 1536),
    "o4-mini": (1.72, 1536),
    "gpt-5-mini": (1.62, 1536),
    "gpt-5-nano": (2.46, 1536),
    "gpt-5.4": (1.2, 12_000),
    "gpt-5.5": (1.2, 12_000),
    "gpt-5.6": (1.2, 12_000),
    "gpt-6": (1.2, 12_000),
}


def count_tokens(vendor: str, model: str, ask: Ask, detail: str = "high") -> int:
    """Tokens in; rather too many than too few."""
    texts = [ask.system, *(part for part in ask.parts if isinstance(part, str))]
    texts += [text for turn in ask.turns for text in (turn.said, turn.reply)]
    if ask.schema is not None:
        texts.append(json.dumps(ask.schema))
    words = sum(text_tokens(text) + OVERHEAD for text in texts)
    return words + count_image_tokens(vendor, model, ask, detail)


def count_image_tokens(vendor: str, model: str, ask: Ask, detail: str = "high") -> int:
    """Those of `count_tokens` that are for pictures."""
    sizes = [part.size for part in ask.parts if isinstance(part, Image)]
    if vendor == "openai" and is_picture_model(model):
        fidelity = (ask.picture or {}).get("input_fidelity", "low")
        return sum(seen_tokens(model, *size, fidelity) for size in sizes)
    return sum(image_tokens(vendor, model, *size, detail) for size in sizes)


def text_tokens(text: str) -> int:
    return math.ceil(len(text.encode()) / BYTES_PER_TOKEN)


def image_tokens(vendor: str, model: str, width: int, height: int, detail: str = "high") -> int:
    if vendor == "anthropic":
        return min(4000, _tiles(width, height, 28))
    if vendor == "gemini":
        return _gemini(model, width, height)
    patches, tiles = _longest(_PATCHES, model), _longest(_TILES, model)
    if patches and len(patches) > len(tiles or ""):
        factor, most = _PATCHES[patches]
        return math.ceil(min(most, _tiles(width, height, 32)) * factor)
    base, tile = _TILES[tiles] if tiles else _TILES["gpt-4o"]
    if detail == "low":
        return base
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (scale * min(width, height)))
    return base + tile * _tiles(scale * width, scale * height, 512)


def _gemini(model: str, width: int, height: int) -> int:
    if not model.startswith(("gemini-1", "gemini-2")):
        return 1120
    return 258 if max(width, height) <= 384 else 258 * _tiles(width, height, 768)


def _tiles(width: float, height: float, side: int) -> int:
    # A scaled side that is a hair above a whole number of tiles is rounding, not another tile.
    return math.ceil(width / side - 1e-9) * math.ceil(height / side - 1e-9)


def _longest(names: dict[str, tuple[int, int]] | dict[str, tuple[float, int]], model: str) -> str:
    return max((name for name in names if model.startswith(name)), key=len, default="")
