"""What tokens cost, in US dollars per million; unknown models have no price, not a wrong one."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.clients.endpoint import Endpoint
from medebench.errors import InputError

_TABLE = Path(__file__).with_name("prices.json")
#: "gpt-4o-2024-08-06", "claude-haiku-4-5-20251001", "...-latest" are priced as their family.
_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")
#: Prices that an entry may lack.
_IMAGES = ("image_in", "image_out")


@dataclass(frozen=True)
class Price:
    per_million_in: float
    per_million_out: float
    #: Where it is from: the table's date, or the user's file.
    source: str
    #: For tokens of pictures, where these have a price of their own.
    per_million_image_in: float | None = None
    per_million_image_out: float | None = None

    def cost(self, tokens_in: int, tokens_out: int, image_in: int = 0, image_out: int = 0) -> float:
        """`image_in` and `image_out` say how many of the tokens are those of pictures."""
        total = _mixed(tokens_in, image_in, self.per_million_in, self.per_million_image_in)
        total += _mixed(tokens_out, image_out, self.per_million_out, self.per_million_image_out)
        return total / 1e6


def find_price(name: str, endpoint: Endpoint) -> Price | None:
    """The user's price, else 0 for a local server, else the table's for the vendor's own address.

    A third party that resells a model sets its own price, so the table says nothing about it.
    """
    if given := os.environ.get("MEDEBENCH_PRICES"):
        found = _look_up(_read(Path(given)), name, given)
        if found is not None:
            return found
    if endpoint.is_local:
        return Price(0.0, 0.0, "local")
    if not endpoint.is_official:
        return None
    table = _read(_TABLE)
    return _look_up(table, name, f"built-in table compiled {table['date']} from third parties")


def _look_up(table: dict[str, Any], name: str, source: str) -> Price | None:
    models = table["models"]
    for spelling in (name, name.partition(":")[2], _DATED.sub("", name)):
        if spelling in models:
            entry = models[spelling]
            own = [entry.get(name) for name in _IMAGES]
            return Price(float(entry["in"]), float(entry["out"]), source, *own)
    return None


def _mixed(tokens: int, images: int, price: float, image_price: float | None) -> float:
    images = min(tokens, images)
    return (tokens - images) * price + images * (price if image_price is None else image_price)


def _read(path: Path) -> dict[str, Any]:
    hint = 'expected {"models": {"openai:NAME": {"in": 2.5, "out": 10}}}'
    try:
        table = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"MEDEBENCH_PRICES: {path}: {error.strerror}") from None
    except ValueError:
        raise InputError(f"MEDEBENCH_PRICES: {path}: not JSON; {hint}") from None
    models = table.get("models") if isinstance(table, dict) else None
    if not isinstance(models, dict):
        raise InputError(f"MEDEBENCH_PRICES: {path}: {hint}")
    for name, entry in models.items():
        values = [entry.get("in"), entry.get("out")] if isinstance(entry, dict) else [None]
        values += [entry[name] for name in _IMAGES if isinstance(entry, dict) and name in entry]
        if not all(isinstance(v, (int, float)) and math.isfinite(v) and v >= 0 for v in values):
            raise InputError(f"MEDEBENCH_PRICES: {path}: {name}: {hint}")
    return {"date": "", **table}
