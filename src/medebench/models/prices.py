"""Token prices in US dollars per million; an unknown model has no price."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from medebench.errors import InputError
from medebench.models.endpoint import Endpoint

#: "gpt-4o-2024-08-06", "claude-haiku-4-5-20251001", "...-latest" are priced as their family.
_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")
_HINT = 'expected {"models": {"openai:NAME": {"in": 2.5, "out": 10}}}'


@dataclass(frozen=True)
class Price:
    per_million_in: float
    per_million_out: float
    #: For tokens of pictures, where these have a price of their own.
    image_in: float | None = None
    image_out: float | None = None

    def cost(self, tokens_in: int, tokens_out: int, image_in: int = 0, image_out: int = 0) -> float:
        """`image_in` and `image_out` say how many of the tokens are those of pictures."""
        total = _mixed(tokens_in, image_in, self.per_million_in, self.image_in)
        total += _mixed(tokens_out, image_out, self.per_million_out, self.image_out)
        return total / 1e6


def find_price(name: str, endpoint: Endpoint, listed: Mapping[str, Price]) -> Price | None:
    """The user's price, or the one `listed` for the provider's own address, or 0 if local.

    A third party that resells a model sets its own price, so the list says nothing about it.
    """
    model = name.partition(":")[2]
    if given := os.environ.get("MEDEBENCH_PRICES"):
        table = _read(Path(given))
        for spelling in (name, model, _DATED.sub("", name)):
            if spelling in table:
                return table[spelling]
    own = listed.get(model) or listed.get(_DATED.sub("", model)) if endpoint.is_official else None
    return own or (Price(0.0, 0.0) if endpoint.is_local else None)


def list_prices(vendor: str) -> dict[str, Price]:
    """Those that come with medebench, in a file like the user's; the providers say from where."""
    table = _read(Path(__file__).with_name("list_prices.json"))
    named = ((name.partition(":"), price) for name, price in table.items())
    return {model: price for (owner, _, model), price in named if owner == vendor}


def _mixed(tokens: int, images: int, price: float, image_price: float | None) -> float:
    images = min(tokens, images)
    return (tokens - images) * price + images * (price if image_price is None else image_price)


def _read(path: Path) -> dict[str, Price]:
    """A table of prices by `provider:model`."""
    try:
        table = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"MEDEBENCH_PRICES: {path}: {error.strerror}") from None
    except ValueError:
        raise InputError(f"MEDEBENCH_PRICES: {path}: not JSON; {_HINT}") from None
    models = table.get("models") if isinstance(table, dict) else None
    if not isinstance(models, dict):
        raise InputError(f"MEDEBENCH_PRICES: {path}: {_HINT}")
    found: dict[str, Price] = {}
    for name, entry in models.items():
        given = entry if isinstance(entry, dict) else {}
        values = [given.get("in"), given.get("out")]
        values += [given[key] for key in ("image_in", "image_out") if key in given]
        if not all(isinstance(v, (int, float)) and math.isfinite(v) and v >= 0 for v in values):
            raise InputError(f"MEDEBENCH_PRICES: {path}: {name}: {_HINT}")
        found[name] = Price(
            float(given["in"]), float(given["out"]), given.get("image_in"), given.get("image_out")
        )
    return found
