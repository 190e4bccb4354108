"""Secrets that never print, and removing them from texts."""

from __future__ import annotations

import base64
import hmac
import json
import re
from collections.abc import Iterable
from typing import NoReturn
from urllib.parse import quote, quote_plus

from medebench.plaintext import clean

HIDDEN = "***"

#: What vendors' keys look like, for keys that are not ours and for masked ones in error texts.
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk-[\w*.-]{8,}|AIza[\w*-]{8,})")
#: Shorter than this it is no secret, and its removal would riddle ordinary words.
_SHORTEST = 6


class Secret:
    """A string that shows itself only when asked with `reveal()`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret must not be written to files or sent to other processes")


class Scrubber:
    """Removes secrets from texts, in every form they travel in."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        forms = {form for secret in secrets for form in _forms(secret.reveal())}
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def __call__(self, text: str) -> str:
        # First, since an escape sequence in the midst of a secret would hide it from the search.
        text = clean(text)
        if self._pattern is not None:
            text = self._pattern.sub(HIDDEN, text)
        return _LOOKS_LIKE_A_KEY.sub(HIDDEN, text)


def _forms(value: str) -> set[str]:
    if len(value) < _SHORTEST:
        return set()
    forms = {value, quote(value, safe=""), quote(value), quote_plus(value)}
    forms |= {json.dumps(value)[1:-1], repr(value)[1:-1]}
    raw = value.encode()
    forms |= {raw.hex(), raw.hex().upper()}
    # Inside a longer text (user:key) the base64 form depends on where the key begins; the
    # characters at both ends mix with the neighbours and are left out.
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + raw).decode()
        start = (shift * 8 + 5) // 6
        core = encoded[start : (shift + len(raw)) * 8 // 6]
        forms |= {core, core.translate(str.maketrans("+/", "-_"))}
    forms.add(base64.b64encode(raw).decode())
    forms.add(base64.urlsafe_b64encode(raw).decode())
    return {form for form in forms if len(form) >= _SHORTEST}
