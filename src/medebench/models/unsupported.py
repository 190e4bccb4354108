"""Which parameter a server would not take, read from what it says about a request it refused."""

from __future__ import annotations

import re

from medebench.models.ask import Ask

#: How a refusal of each parameter shows in the server's text.
_SIGNS = {
    "schema": ("response_format", "json_schema", "schema", "output_config", "structured output"),
    "temperature": ("temperature",),
    "seed": ("seed",),
    "token_limit": ("max_tokens", "max_completion_tokens"),
    "aspect_ratio": ("aspect_ratio", "aspectratio", "aspect ratio"),
}
#: What Google has these in: a server may know nothing of the whole.
_WHOLE = {"aspect_ratio": "image_config", "image_size": "image_config"}
_NOT_KNOWN = (
    "support",
    "unrecogni",
    "unknown",
    "extra",
    "not permitted",
    "not allowed",
    "unexpected",
    "not enabled",
)


def optional_parameters(ask: Ask) -> set[str]:
    """What of `ask` a server may not know."""
    given = {"schema": ask.schema, "temperature": ask.temperature, "seed": ask.seed}
    wanted = {name for name, value in given.items() if value is not None}
    return wanted | set(ask.picture or ()) | {"token_limit"}


def remembered_as(ask: Ask, name: str) -> str:
    """Under which a refusal is remembered: a server may know other values of a picture's."""
    return f"{name}={ask.picture[name]}" if ask.picture and name in ask.picture else name


def blamed(text: str, sent: frozenset[str]) -> str | None:
    """The parameter the server names as the one it does not know."""
    text = text.lower()
    if any(word in text for word in _NOT_KNOWN):
        named = [name for name in sorted(sent - {"schema"}) if _is_named(text, name)]
        named += [name for name in sorted(sent & set(_WHOLE)) if _names(text, _WHOLE[name])]
        if named:
            return named[0]
    return "schema" if "schema" in sent and _is_named(text, "schema") else None


def doubted(text: str, sent: frozenset[str]) -> str | None:
    """What may be at fault: one that was not the user's wish and is spoken of, or the schema."""
    if "aspect_ratio" in sent and _is_named(text.lower(), "aspect_ratio"):
        return "aspect_ratio"
    return "schema" if "schema" in sent else None


def _is_named(text: str, name: str) -> bool:
    signs = _SIGNS.get(name)
    return any(sign in text for sign in signs) if signs else _names(text, name)


def _names(text: str, name: str) -> bool:
    """As a word of its own (`size` is not in `image_size`), in Google's spelling as well."""
    spellings = "|".join({name, name.replace("_", "")})
    return re.search(rf"(?<![a-z0-9_])(?:{spellings})(?![a-z0-9_])", text) is not None
