"""How many tokens the picture models count for a picture they are shown, and for one they draw.

The vendors' pages give examples rather than rules; these are the rules as third parties measured
them (forum posts and price collections of 2025 and 2026). The servers' own counts, which come with
every answer, replace them.

- GPT Image 1 and 1.5 are shown a picture as 512-pixel tiles of it, its short side at most 512:
  65 + 129 a tile, and with `input_fidelity=high` as many again as they draw at high quality. They
  draw by a table of size and quality.
- GPT Image 2 and later are shown it as 32-pixel patches, at most 1536, of a picture that was
  enlarged up to twice, to 1024. They draw by quality and area.
- Gemini 2 draws 1290, Gemini 3 and later by resolution.

An `auto` counts as the most it can become.
"""

from __future__ import annotations

import math
import re

#: GPT Image 1: (square, portrait, landscape).
_TABLE = {"low": (272, 408, 400), "medium": (1056, 1584, 1568), "high": (4160, 6240, 6208)}
#: GPT Image 2: how finely the longer side is divided.
_FINENESS = {"low": 16, "medium": 48, "high": 96}
_GEMINI_FLASH = {"512": 747, "1K": 1120, "2K": 1680, "4K": 2520}
_GEMINI_PRO = {"1K": 1120, "2K": 1120, "4K": 2000}


def drawn_tokens(vendor: str, model: str, wish: dict[str, str]) -> int:
    """Tokens of a picture drawn with the settings in `wish`."""
    if vendor == "gemini":
        if model.startswith("gemini-2"):
            return 1290
        table = _GEMINI_PRO if "pro" in model else _GEMINI_FLASH
        return table.get(wish.get("image_size", "1K"), max(table.values()))
    width, height = _size(wish.get("size", ""))
    quality = wish.get("quality", "")
    if _is_first(model):
        shapes = _TABLE.get(quality, _TABLE["high"])
        return shapes[0] if width == height else shapes[1] if width < height else shapes[2]
    fine = _FINENESS.get(quality, _FINENESS["high"])
    across = round(fine * min(width, height) / max(width, height))
    return math.ceil(fine * across * (2_000_000 + width * height) / 4_000_000)


def seen_tokens(model: str, width: int, height: int, fidelity: str) -> int:
    """Tokens of a picture that one of OpenAI's picture models is shown."""
    if not _is_first(model):
        scale = max(1.0, min(2.0, 1024 / max(width, height)))
        return min(1536, math.ceil(scale * width / 32) * math.ceil(scale * height / 32))
    scale = min(1.0, 512 / min(width, height))
    tiles = math.ceil(scale * width / 512 - 1e-9) * math.ceil(scale * height / 512 - 1e-9)
    detailed = _TABLE["high"][0 if width == height else 1] if fidelity == "high" else 0
    return 65 + 129 * tiles + detailed


def is_picture_model(model: str) -> bool:
    return "gpt-image" in model


def _is_first(model: str) -> bool:
    return "gpt-image-1" in model


def _size(text: str) -> tuple[int, int]:
    """The size asked for; the one that counts most where the server chooses."""
    match = re.fullmatch(r"(\d{2,5})x(\d{2,5})", text)
    return (int(match[1]), int(match[2])) if match else (1024, 1536)
