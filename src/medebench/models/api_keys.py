"""API keys, from the environment or from a `.env` file in the working folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from medebench.errors import NotReadyError
from medebench.models.secret import Secret

_optional: ContextVar[bool] = ContextVar("keys_optional", default=False)

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=[ \t]*(.*)")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


def find_key(variables: Sequence[str]) -> Secret | None:
    """The first key that is set, or None; a value that cannot be a key is refused in one line."""
    for name in variables:
        value = os.environ.get(name, "").strip()
        if value := value or read_env_file(Path(".env")).get(name, "").strip():
            # Anything else would fail inside the HTTP library, with the value in its message.
            if not value.isascii() or not value.isprintable() or " " in value:
                raise NotReadyError(f"{name}: contains characters that no key has; set it again")
            return Secret(value)
    return None


@contextmanager
def keys_optional() -> Iterator[None]:
    """For an estimate: nobody is called in here, so that a key may be missing."""
    before = _optional.set(True)
    try:
        yield
    finally:
        _optional.reset(before)


def need_key(vendor: str, variables: Sequence[str]) -> Secret | None:
    """The vendor's key; None only where it is optional."""
    key = find_key(variables)
    if key is None and not _optional.get():
        names = " or ".join(variables)
        raise NotReadyError(f"{vendor}: no key; set {names} in the environment or in .env")
    return key


def read_env_file(path: Path) -> dict[str, str]:
    try:
        return parse_env(path.read_text("utf-8-sig", errors="replace"))
    except OSError:
        return {}


def parse_env(text: str) -> dict[str, str]:
    """`NAME=value` lines; quotes, `export` and comments as shells have them, nothing expanded.

    A line that is none of this is passed over: the file belongs to other programs as well.
    """
    found: dict[str, str] = {}
    for line in re.split(r"\r\n|\r|\n", text):
        if (match := _LINE.fullmatch(line)) and (value := _value(match[2])) is not None:
            found[match[1]] = value
    return found


def _value(text: str) -> str | None:
    if text.startswith("'"):
        end = text.find("'", 1)
        return text[1:end] if end > 0 else None
    if text.startswith('"'):
        quoted = re.match(r'"((?:[^"\\]|\\.)*)"', text)
        if quoted is None:
            return None
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), quoted[1])
    # A comment begins at the start or after a blank: `pass#word` is a value.
    return re.split(r"(?:^|\s)#", text, maxsplit=1)[0].strip()
