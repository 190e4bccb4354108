"""Tokens of a question before it is sent; those of pictures are each provider's own rule."""

from __future__ import annotations

import json
import math

from medebench.models.ask import Ask

#: Above what the vendors count for English text.
BYTES_PER_TOKEN = 3.5
#: For roles and separators, per message.
OVERHEAD = 8


def text_tokens(ask: Ask) -> int:
    """Rather too many than too few."""
    texts = [ask.system, *(part for part in ask.parts if isinstance(part, str))]
    texts += [text for turn in ask.turns for text in (turn.said, turn.reply)]
    if ask.schema is not None:
        texts.append(json.dumps(ask.schema))
    return sum(math.ceil(len(text.encode()) / BYTES_PER_TOKEN) + OVERHEAD for text in texts)


def patches(width: float, height: float, side: int) -> int:
    """Squares of `side` pixels that cover a picture."""
    # A scaled side that is a hair above a whole number of them is rounding, not another one.
    return math.ceil(width / side - 1e-9) * math.ceil(height / side - 1e-9)
