"""`name:key=value,key=value`, the one way to give settings on a command line."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from medebench.errors import InputError

Model = TypeVar("Model", bound=BaseModel)


class Settings(BaseModel):
    """Typed settings: unknown names are refused, values are read from text."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    #: Settings of how the work is done, which do not change what comes out: a run goes on with
    #: others.
    runtime_only: ClassVar[frozenset[str]] = frozenset()
    #: What that was called before; what a user's settings name here counts as well.
    how: ClassVar[frozenset[str]] = frozenset()
    #: Settings that came later: while they stand at their default no run's folder speaks of them,
    #: so that older folders are continued.
    later: ClassVar[frozenset[str]] = frozenset()


#: What is a name and no path; a single letter may be a drive.
_PLAIN = re.compile(r"[A-Za-z][\w-]+")

#: Under this key `split_call` gives what stands after the name without a key of its own.
ARGUMENT = ""


def split_name(text: str) -> tuple[str, str]:
    """`name:rest`; a file's `path.py:Name` stays whole."""
    plain = _PLAIN.fullmatch(text.partition(":")[0])
    start = -1 if plain else text.rfind(".py:")
    colon = text.find(":", start + 4 if start >= 0 else 0)
    return (text, "") if colon < 0 else (text[:colon], text[colon + 1 :])


def split_own(text: str, own: Collection[str]) -> tuple[dict[str, str], str]:
    """`rounds=2,blur:sigma=4` -> ({"rounds": "2"}, "blur:sigma=4"), where `rounds` is in `own`.

    Own settings come first; from the first thing that is none of them on, the text stays whole.
    """
    given: dict[str, str] = {}
    while text:
        pair, _, rest = text.partition(",")
        key, equals, value = pair.partition("=")
        if not equals or key.strip() not in own:
            break
        given[key.strip()] = value.strip()
        text = rest
    return given, text


def split_call(text: str, *, argument: bool = False) -> tuple[str, dict[str, str]]:
    """`inpaint:radius=5` -> ("inpaint", {"radius": "5"}); a file's `path.py:Name` stays whole.

    With `argument` the first part may lack its key: `diffusers:owner/model,steps=20`.
    """
    name, pairs = split_name(text)
    given: dict[str, str] = {}
    for pair in filter(None, pairs.split(",")):
        key, equals, value = pair.partition("=")
        if argument and not equals and not given:
            given[ARGUMENT] = pair.strip()
            continue
        if not equals or not key.strip():
            raise InputError(f"'{text}': expected name:key=value,key=value, found '{pair}'")
        if key.strip() in given:
            raise InputError(f"'{text}': {key.strip()} is given twice")
        given[key.strip()] = value.strip()
    return name, given


def read_settings(model: type[Model], given: dict[str, Any], where: str) -> Model:
    """Validate, with one line that names the setting and what it may be."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "settings"
        if first["type"] == "extra_forbidden":
            known = ", ".join(model.model_fields) or "none"
            raise InputError(f"{where}: no setting '{place}'; it has: {known}") from None
        if first["type"] == "missing":
            raise InputError(f"{where}: {place}: is missing") from None
        raise InputError(f"{where}: {place}: {first['msg']}{_found(first)}") from None


def in_words(settings: Mapping[str, Any]) -> str:
    """`radius=5, editor=(name=blur, settings=(sigma=4))`: for people, in any text."""
    return ", ".join(f"{name}={_in_words(value)}" for name, value in settings.items())


def _in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({in_words(value)})"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _found(error: Any) -> str:
    """The value, where it is short; those of our own checks may be addresses with a password."""
    value = error.get("input")
    if error["type"] in ("value_error", "call") or not isinstance(value, str | int | float):
        return ""
    return f"; found '{value}'" if len(str(value)) <= 40 else ""
