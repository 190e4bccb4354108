"""Kinds of settings that several systems have: an address, a wording around the instruction."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, PlainSerializer

from medebench.errors import InputError
from medebench.models.endpoint import read_endpoint


def _check(given: str | None) -> str | None:
    try:
        return given if given and read_endpoint(given) else None
    except InputError:
        raise ValueError("expected something like http://localhost:8000/v1") from None


def _without_secrets(given: str | None) -> str | None:
    """This is what `run.json` gets: neither login nor query."""
    return read_endpoint(given).url if given else None


#: Where the case's instruction goes in a text that says more.
PLACE = "{instruction}"


def _check_wording(given: str) -> str:
    if given.count(PLACE) != 1:
        raise ValueError(f"must contain {PLACE} exactly once")
    return given


Wording = Annotated[str, AfterValidator(_check_wording)]
Address = Annotated[str | None, AfterValidator(_check), PlainSerializer(_without_secrets)]
