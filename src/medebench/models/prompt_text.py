"""Untrusted text inside a prompt: visible, on one line, clearly delimited."""

from __future__ import annotations

import hashlib
import re
import unicodedata

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def put(text: str, **values: str) -> str:
    """Values in their places, in one pass: braces inside of a value are no placeholder."""
    return PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def visible_line(text: str) -> str:
    """Without line breaks and invisible characters: dataset text cannot pose as our own layout."""
    kept = (c for c in text if c.isspace() or unicodedata.category(c)[0] != "C")
    return " ".join("".join(kept).split())


def delimited(text: str) -> str:
    """`text` between tags that it does not contain; the same text always gets the same tags."""
    number = 0
    while True:
        mark = hashlib.sha256(f"{number} {text}".encode()).hexdigest()[:8]
        if mark not in text.lower():
            return f"<data-{mark}>\n{text}\n</data-{mark}>"
        number += 1
