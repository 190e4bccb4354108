"""The address of a model that an editor asks, as a setting."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, PlainSerializer

from medebench.clients.endpoint import find_endpoint
from medebench.errors import InputError


def _check(given: str | None) -> str | None:
    try:
        return given if given and find_endpoint("openai", given) else None
    except InputError:
        raise ValueError("expected something like http://localhost:8000/v1") from None


def _without_secrets(given: str | None) -> str | None:
    """This is what `run.json` gets: neither login nor query."""
    return find_endpoint("openai", given).url if given else None


Address = Annotated[str | None, AfterValidator(_check), PlainSerializer(_without_secrets)]
